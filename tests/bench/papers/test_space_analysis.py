"""``tunesmith bench space-analysis``: what it says of recorded spaces whose figures are known."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.charts import bars, points, texts
from tests.bench.compare.records import OPTIMUM, record
from tests.bench.papers.search_runs import fits, prose
from tunesmith.bench.compare.problems import RecordedProblem
from tunesmith.bench.papers.space_analysis import (
    CHANCE,
    analyse,
    at_least,
    choose_recordings,
    expected_best,
    speed_shares,
)
from tunesmith.bench.papers.space_analysis_figures import (
    outcomes_figure,
    pictures,
    speeds_figure,
)
from tunesmith.bench.papers.space_analysis_page import section
from tunesmith.bench.recording.record_space import restricted
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measure.recorded.t4_writer import write_t4
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.sketches import sketch_for
from tunesmith.space import Categorical, Factorization, Ordinal, Permutation, Space
from tunesmith.space.t1_writer import t1_text
from tunesmith.target import Target


@pytest.fixture
def row(tmp_path: Path) -> dict[str, Any]:
    """Of 12 x 12 configs, of which those with a = 0 fail and a = 7, b = 4 is the best."""
    return analyse(RecordedProblem("one/gpu", record(tmp_path)))


def test_classes_and_what_they_cost(row: dict[str, Any]) -> None:
    assert row["outcomes"] == {
        "NO_ERROR": {"configs": 132, "seconds": pytest.approx(132 * 3.0)},
        "COMPILE_DEVICE": {"configs": 12, "seconds": pytest.approx(12 * 0.5)},
    }
    assert row["seconds"] == pytest.approx(132 * 3.0 + 12 * 0.5)
    assert (row["configs"], row["size"]) == (144, 144)


def test_how_many_are_how_fast(row: dict[str, Any]) -> None:
    """Counted by hand: 0.2 |a - 7| + 0.1 |b - 4| is no more than 0.052, 0.11, 0.25 and 1."""
    assert row["within"] == [[0.95, 1], [0.9, 3], [0.8, 7], [0.5, 87]]
    assert row["to_share"] == [[0.95, 145 / 2], [0.9, 145 / 4], [0.8, 145 / 8], [0.5, 145 / 88]]
    assert sum(row["histogram"]) == 132, "those that failed have no speed"
    assert row["histogram"][-1] == 1
    assert sum(row["histogram"][10:]) == 87
    assert row["best_seconds"] == pytest.approx(OPTIMUM)


def test_the_best_and_what_sets_them_apart(row: dict[str, Any]) -> None:
    assert row["best"][0] == {"seconds": pytest.approx(OPTIMUM), "config": {"a": 7, "b": 4}}
    assert [each["config"]["a"] for each in row["best"][:3]] == [7, 7, 7]
    times = [each["seconds"] for each in row["best"]]
    assert times == sorted(times) and len(times) == 5
    (first,) = row["telling"]
    assert (first["choice"], first["value"]) == ("a", "7")
    assert first["of_best"] >= 0.5
    assert first["of_all"] == pytest.approx(1 / 12)


def test_parts_of_a_tiling_are_choices_of_their_own(tmp_path: Path) -> None:
    space = Space(
        [
            Factorization("tile", 16, 2),
            Permutation("order", ("i", "j")),
            Categorical("packed", (False, True)),
            Ordinal("always", (3,)),
            Ordinal("n", tuple(range(10))),
        ]
    )
    rows = []
    for config in space.enumerate():
        tile: Any = config["tile"]
        n: Any = config["n"]
        seconds = 1e-3 * (1 + abs(tile[1] - 4) + (config["order"] == ("i", "j")) + n / 100)
        rows.append(
            (Measurement(config, Outcome.NO_ERROR, (seconds,), 1.0, 1.0), datetime.now(UTC))
        )
    (tmp_path / "space.T1.json").write_text(t1_text(space, "tiles"), encoding="utf-8")
    operator = matmul(m=4, n=4, k=4).to_json()
    write_t4(tmp_path / "cpu.json.gz", rows, {"operator": operator, "task": "a product"})
    found = analyse(RecordedProblem("tiles", tmp_path / "cpu.json.gz"))
    best = {"tile": (4, 4), "order": ("j", "i"), "packed": False, "n": 0}
    assert found["best"][0]["config"] == best
    # The ten best are those with n from 0 to 4, each a fifth of them, which is no proof.
    telling = {each["choice"]: each["value"] for each in found["telling"]}
    assert found["best_count"] == 10
    assert telling == {"tile[0]": "4", "tile[1]": "4", "order": "(j, i)"}
    assert (found["flops"], found["task"]) == (2 * 4**3, "a product")
    assert found == {**found, "machine": None}


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_the_best_of_a_few_draws_is_the_mean_over_all_draws(size: int) -> None:
    shares = np.array([0.3, 1.0, 0.0, 0.0, 0.7, 0.4])
    every = [max(drawn) for drawn in itertools.combinations(shares.tolist(), size)]
    assert expected_best(shares, size) == pytest.approx(np.mean(every))


def test_a_config_that_failed_has_no_speed() -> None:
    shares = speed_shares(np.array([2.0, np.inf, 1.0, 4.0]))
    assert shares.tolist() == [0.5, 0.0, 1.0, 0.25]


def test_the_page_and_its_pictures(tmp_path: Path, row: dict[str, Any]) -> None:
    sparse = record(tmp_path, "two", kept=lambda config: config["a"] == 7)
    spaces = json.loads(json.dumps([row, analyse(RecordedProblem("two/gpu", sparse))]))
    page = section({"spaces": spaces})
    lines = page.splitlines()
    assert "| one/gpu | compile device | 12 | 8 % | 6.0 s | 1 % |" in lines
    assert "| one/gpu | 1 (0.69 %) | 3 (2.1 %) | 7 (4.9 %) | 87 (60 %) | 53 % |" in lines
    assert "| two/gpu | valid | 12 | 100 % | 36 s | 100 % |" in lines
    assert "All 144 configs of the space on record. " in page
    assert "12 of 144 configs of the space on record. " in page
    assert "another kind of space" in page and "can therefore not be compared" in prose(page)
    assert "| `b` | 4 | 3 | 5 | 4 | 2 |" in lines, "the best of the first"
    # Of the ten best and three as fast as the tenth.
    assert "| `a` | 7 | 54 % | 8 % |" in lines
    assert "| two/gpu | 77.8 % | 98.5 % | – | – |" in lines, "which has no 30 configs"
    assert fits(page)
    drawn = pictures(spaces)
    assert all(f"]({name})" in page for name in drawn)
    assert {"compile device", "one/gpu, time"} <= texts(drawn["search-space-analysis-outcomes.svg"])
    assert "two/gpu: share of the configs" in texts(drawn["search-space-analysis-speeds.svg"])


def test_the_charts_have_the_figures_of_the_space(row: dict[str, Any]) -> None:
    histogram, search = speeds_figure([row]).axes
    heights = [height for *_, height in bars(histogram)]
    assert heights == pytest.approx([count / 144 for count in row["histogram"]])
    assert points(search.lines[0]) == [tuple(each) for each in row["random"]]
    widths = [width for _, _, width, _ in bars(outcomes_figure([row]).axes[0])]
    assert widths == pytest.approx([132 / 144, 396 / 402, 12 / 144, 6 / 402])


def recorded(tmp_path: Path, metadata: dict[str, Any], *where: str) -> dict[str, Any]:
    """What is said of a product whose configs of cpu_gemm_424 all take the same time."""
    operator, target = matmul(m=4, n=8, k=4), Target(mcpu="generic", cores=2)
    whole = sketch_for(operator, target, "cpu_gemm_424").space(operator, target)
    part = restricted(whole, where)
    (tmp_path / "space.T1.json").write_text(t1_text(part, "part"), encoding="utf-8")
    rows = [
        (Measurement(config, Outcome.NO_ERROR, (1e-3,), 1.0, 1.0), datetime.now(UTC))
        for config in part.enumerate()
    ]
    made = {
        "operator": operator.to_json(),
        "target": {"mcpu": "generic", "num-cores": 2},
        "task": "a product",
        **metadata,
    }
    write_t4(tmp_path / "cpu.json.gz", rows, made)
    return analyse(RecordedProblem("part", tmp_path / "cpu.json.gz"))


WHERE = ("tile_m[0] == 4", "tile_n[3] >= 4")
SKETCH = {"name": "cpu_gemm_424", "version": 1}


def test_a_part_of_a_sketch_s_space_is_called_so(tmp_path: Path) -> None:
    """Whether its metadata say so or not."""
    found = recorded(tmp_path, {"sketch": SKETCH}, *WHERE)
    whole = Space(load_recording(tmp_path / "cpu.json.gz").space.parameters).size
    assert (found["where"], found["whole_size"]) == (list(WHERE), whole)
    assert found["configs"] == found["size"] < whole
    page = section({"spaces": [found]})
    said = prose(page)
    assert (
        f"All {found['configs']} configs of a part of the space of the sketch `cpu_gemm_424` "
        "(version 1) for `a product`."
    ) in said
    assert f"The sketch's space has {whole} configs; this part is those of which all" in said
    assert "- `tile_m[0] == 4`\n- `tile_n[3] >= 4`\n" in page
    given = {"sketch": {"name": "older", "version": 9}, "where": ["told"], "whole_size": 77}
    found = recorded(tmp_path, given, *WHERE)
    assert (found["where"], found["whole_size"]) == (["told"], 77)


def test_a_whole_space_and_one_of_which_nobody_knows(tmp_path: Path) -> None:
    found = recorded(tmp_path, {"sketch": SKETCH})
    assert (found["where"], found["whole_size"]) == ([], found["configs"])
    page = section({"spaces": [found]})
    assert f"All {found['configs']} configs of the space of the sketch" in prose(page)
    assert "this part" not in page
    for sketch in ({"name": "cpu_gemm_424", "version": 99}, {"name": "gone", "version": 1}):
        found = recorded(tmp_path, {"sketch": sketch})
        assert (found["where"], found["whole_size"]) == (None, None)
        assert "It is not on record whether that is all of the sketch's space." in prose(
            section({"spaces": [found]})
        )


def test_what_is_chance_is_not_telling(tmp_path: Path) -> None:
    """All configs are alike."""
    found = recorded(tmp_path, {"sketch": SKETCH})
    assert found["telling"] == []
    assert found["best_count"] == found["configs"], "what is as fast as the best is one of them"
    assert "No value is among the best" in section({"spaces": [found]})


def test_noise_tells_nothing(tmp_path: Path) -> None:
    """The times have nothing to do with the values. One of fifty is twice among the best ten, which
    would be telling of one value that was chosen beforehand, but is not of the best of fifty."""
    space = Space([Ordinal("a", range(20)), Ordinal("b", range(50))])
    times = np.random.default_rng(0).uniform(1.0, 2.0, 1000)
    configs = list(space.enumerate())
    best = Counter(configs[place]["b"] for place in np.argsort(times)[:10])
    assert max(best.values()) == 2
    assert at_least(2, 10, 1 / 50) < CHANCE
    rows = [
        (Measurement(config, Outcome.NO_ERROR, (seconds,), 1.0, 1.0), datetime.now(UTC))
        for config, seconds in zip(configs, times.tolist(), strict=True)
    ]
    (tmp_path / "space.T1.json").write_text(t1_text(space, "noise"), encoding="utf-8")
    write_t4(tmp_path / "cpu.json.gz", rows, {"task": "noise"})
    found = analyse(RecordedProblem("noise", tmp_path / "cpu.json.gz"))
    assert found["best_count"] == 10
    assert found["telling"] == []


@pytest.mark.parametrize(("draws", "share"), [(10, 1 / 12), (1, 0.5), (300, 0.9)])
def test_how_likely_chance_is(draws: int, share: float) -> None:
    def of(number: int) -> float:
        return math.comb(draws, number) * share**number * (1 - share) ** (draws - number)

    for times in (0, 1, draws // 2, draws, draws + 1):
        expected = sum(map(of, range(times, draws + 1)))
        assert at_least(times, draws, share) == pytest.approx(expected, abs=1e-12)
    assert at_least(draws, draws, 1.0) == 1.0


def test_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\Amatmul.512 is no recording: name a T4 file"):
        choose_recordings([str(record(tmp_path)), "matmul.512"])
