"""``tunesmith bench starts``: its two runs, what they add up to, and the files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.charts import points, texts
from tests.bench.operators.rows import ORIGIN, origin
from tunesmith.bench.operators.workloads import operator_workloads
from tunesmith.bench.starts import starts
from tunesmith.bench.starts.chart import starts_chart
from tunesmith.bench.starts.files import read_starts, write_starts
from tunesmith.bench.starts.starts import (
    WORKLOADS,
    StartsSettings,
    complete,
    measure_starts,
    median_share,
    milestones,
    shares,
)
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import matmul
from tunesmith.progress import Progress
from tunesmith.store import this_machine

SMALL = matmul(m=16, n=16, k=16)


def run(*curve: tuple[int, float], trials: int = 100, seed: int = 0) -> dict[str, Any]:
    steps = [list(step) for step in curve]
    figures = {"trials": trials, "seed": seed, "valid": trials, "seconds": 9.0, "curve": steps}
    return {"origin": ORIGIN, **figures}


def row(workload: str = "matmul.512") -> dict[str, Any]:
    """With the prior 80 of 100 calls a second after ten trials, without it 40."""
    runs = {
        "prior": run((1, 20.0), (10, 80.0), (50, 100.0)),
        "no-prior": run((1, 10.0), (20, 40.0), (90, 90.0)),
    }
    return {"workload": workload, "operator": SMALL.to_json(), "runs": runs}


def partial() -> dict[str, Any]:
    whole = row("opevo.MM1")
    return {**whole, "runs": {"prior": whole["runs"]["prior"]}}


@contextlib.contextmanager
def unwatched(trials: int, flops: float) -> Iterator[Callable[[Progress], None]]:
    yield lambda progress: None


def test_default_workloads_exist() -> None:
    assert set(WORKLOADS) <= set(operator_workloads(fused=False))


def test_shares_are_of_the_best_of_both_runs() -> None:
    assert shares(row(), "prior") == [(1, 0.2), (10, 0.8), (50, 1.0)]
    assert shares(row(), "no-prior") == [(1, 0.1), (20, 0.4), (90, 0.9)]
    assert median_share([row(), row()], "prior", 20) == 0.8
    assert median_share([row()], "no-prior", 19) == 0.1
    assert median_share([], "prior", 20) == 0
    assert milestones([row()]) == [1, 5, 10, 20, 50, 100]
    assert complete([row(), partial()]) == [row()]


def test_both_runs_are_measured() -> None:
    settings = StartsSettings(trials=21)
    first, second = measure_starts("small", SMALL, settings, known=None, watch=unwatched)
    assert set(first["runs"]) == {"prior"}
    assert set(second["runs"]) == {"prior", "no-prior"}
    for figures in second["runs"].values():
        assert figures["origin"]["machine"] == this_machine()
        assert figures["trials"] == 21
        numbers, speeds = zip(*figures["curve"], strict=True)
        assert list(numbers) == sorted(numbers)
        assert list(speeds) == sorted(speeds)


def test_runs_that_are_there_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def answer(*_: object, prior: bool) -> dict[str, Any]:
        asked.append(prior)
        return run((1, 5.0), trials=100)

    def measured(known: dict[str, Any], trials: int = 100, seed: int = 0) -> list[bool]:
        asked.clear()
        settings = StartsSettings(trials, seed)
        list(measure_starts("small", SMALL, settings, known=known, watch=unwatched))
        return list(asked)

    monkeypatch.setattr(starts, "_run", answer)
    assert measured(row()) == []
    assert measured(partial()) == [False]
    assert measured(row(), trials=101) == [True, False]
    assert measured(row(), seed=1) == [True, False]


def test_a_run_that_finds_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "_run", lambda *_, prior: run())
    with pytest.raises(TunesmithError, match="nothing valid was found in 500 trials"):
        list(measure_starts("small", SMALL, StartsSettings(), known=None, watch=unwatched))


def test_too_few_trials_are_refused() -> None:
    with pytest.raises(UsageError, match="more than the first 20, not 20"):
        StartsSettings(trials=20)


# -- files ----------------------------------------------------------------------------------------


def test_files_are_written_and_read(tmp_path: Path) -> None:
    assert read_starts(tmp_path) == {}
    figures, page = write_starts(tmp_path, [row(), partial()])
    assert figures["start_share"] == {"prior": 0.8, "no-prior": 0.4}
    assert read_starts(tmp_path) == {"matmul.512": row(), "opevo.MM1": partial()}
    assert (tmp_path / "starts.md").read_text(encoding="utf-8") == page
    assert "| 20 | 80 % | 40 % |" in page
    assert "| matmul.512 | 80 % | 40 % | 100 | 18 s |" in page
    assert "opevo.MM1" not in page, "half a row says nothing"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "starts.json",
        "starts.md",
        "starts.svg",
    ]


def test_the_page_says_of_how_many_workloads_it_is(tmp_path: Path) -> None:
    rows = [row(name) for name in ("resnet18.C1", "resnet18.C2", "mobilenet.dw9", "matmul.512")]
    page = write_starts(tmp_path, [*rows, partial()])[1].replace("\n", " ")
    total = len(operator_workloads(fused=False))
    assert f"Measured are 4 of the {total} workloads without bias and ReLU of" in page
    assert (
        "2 of 12 convolutions of ResNet-18, 1 of 9 depthwise layers, 0 of 9 pointwise layers, 1 of "
        "3 square matmuls, 0 of 3 matmuls of OpEvo, 0 of 3 batch matmuls, and 0 of 2 dense layers."
    ) in page
    assert "Every workload" not in page


def test_runs_of_other_days_and_machines(tmp_path: Path) -> None:
    whole = row()
    whole["runs"]["prior"]["origin"] = origin(date="2026-03-04")
    page = write_starts(tmp_path, [whole])[1]
    assert "- date: 2026-01-02 to 2026-03-04" in page
    elsewhere = {**ORIGIN["machine"], "fingerprint": "0" * 16}
    whole["runs"]["prior"]["origin"] = origin(machine=elsewhere)
    write_starts(tmp_path, [whole, row("opevo.MM1")])
    with pytest.raises(TunesmithError, match=r"another machine \(Some CPU\): .*--again"):
        read_starts(tmp_path)
    assert list(read_starts(tmp_path, redone=["matmul.512"])) == ["opevo.MM1"]
    del whole["runs"]["prior"]["origin"]
    (tmp_path / "starts.json").write_text(json.dumps({"rows": [whole]}), encoding="utf-8")
    with pytest.raises(TunesmithError, match="holds rows of an unknown machine"):
        read_starts(tmp_path)


@pytest.mark.parametrize(
    "rows",
    ["[]", '{"rows": 3}', '{"rows": [{"workload": "x", "operator": {}, "runs": {"prior": {}}}]}'],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, rows: str) -> None:
    (tmp_path / "starts.json").write_text(rows, encoding="utf-8")
    with pytest.raises(TunesmithError, match="holds no rows"):
        read_starts(tmp_path)


def test_the_picture_has_a_curve_for_each_run_and_the_medians() -> None:
    figure = starts_chart([row(), row("opevo.MM1")])
    (axes,) = figure.axes
    # Lines mark the first 20 trials and 80 %; then there are two runs of each kind, and medians.
    lines = axes.lines[2:]
    assert len(lines) == 2 * (2 + 1)
    assert [(line.get_label(), *points(line)[2]) for line in lines[-2:]] == [
        ("with the model's starts", 10, 0.8),
        ("without", 20, 0.4),
    ]
    assert points(lines[0]) == [(1, 0), (1, 0.2), (10, 0.8), (50, 1.0), (100, 1.0)]
    written = texts(figure)
    assert {"20", "80%", "without", "with the model's starts"} <= written
    assert "trials" in texts(starts_chart([]))
