"""Measurements as T4 files: what is read back is what was written, and what others can read."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measure.recorded.t4_reader import read_t4
from tunesmith.measure.recorded.t4_writer import write_t4
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation, Space

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
SPACE = Space(
    [
        Factorization("tile", 12, 3),
        Permutation("order", ("i", "j", "k")),
        Ordinal("unroll", (0, 16, 64)),
        Categorical("vector", (False, True)),
        Categorical("kind", ("a", "b", (1, 2))),
    ],
    ["tile[0] <= 4"],
)


def valid(config: Config, *seconds: float, build: float = 0.5, run: float = 0.25) -> Measurement:
    return Measurement(config, Outcome.NO_ERROR, seconds, build, run)


def rows_of(path: Path) -> list[Any]:
    rows = json.loads(gzip.decompress(path.read_bytes()))["results"]
    assert isinstance(rows, list)
    return rows


def test_a_result_as_others_read_it(tmp_path: Path) -> None:
    config = Config({"tile": (2, 2, 3), "order": ("k", "i", "j"), "unroll": 16, "vector": True})
    path = tmp_path / "out.json.gz"
    write_t4(path, [(valid(config, 0.003, 0.001, 0.002), NOON)], {"task": "t"})
    whole = json.loads(gzip.decompress(path.read_bytes()))
    assert whole["metadata"] == {"timeunit": "milliseconds", "task": "t"}
    assert whole["schema_version"] == "1.0.0"
    assert whole["results"] == [
        {
            "timestamp": "2025-03-01 12:00:00+00:00",
            "configuration": {
                "tile": "[2,2,3]",
                "order": '["k","i","j"]',
                "unroll": 16,
                "vector": True,
            },
            "times": {
                "compilation": 500.0,
                "framework": 244.0,
                "search_algorithm": 0,
                "validation": 0,
                "runtimes": [3.0, 1.0, 2.0],
            },
            "invalidity": "correct",
            "correctness": 1,
            "measurements": [{"name": "time", "value": 2.0, "unit": "ms"}],
            "objectives": ["time"],
        }
    ]


@pytest.mark.parametrize("outcome", list(Outcome)[1:])
def test_every_class_of_failure_comes_back(tmp_path: Path, outcome: Outcome) -> None:
    config = Config({"unroll": 0})
    failed = Measurement(config, outcome, build_time=0.5, run_time=0.125, message="why")
    path = tmp_path / "out.json.gz"
    write_t4(path, [(failed, NOON)], {})
    results = read_t4(path)
    assert Outcome(int(results.outcomes[0])) is outcome
    assert (results.build_times[0], results.run_times[0]) == (0.5, 0.125)
    (row,) = rows_of(path)
    assert row["invalidity"] in ("constraints", "compile", "runtime", "correctness", "timeout")
    assert row["correctness"] == 0
    assert row["measurements"][0]["value"].endswith("Config"), "as Kernel Tuner says it"


times = st.floats(1e-7, 10.0)


@examples(30)
@given(seed=st.integers(0, 1000), runs=st.lists(times, min_size=1, max_size=3), build=times)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, runs: list[float], build: float
) -> None:
    import numpy as np

    configs = SPACE.sample_many(5, np.random.default_rng(seed))
    made = [valid(each, *runs, build=build, run=sum(runs) + 0.1) for each in configs]
    path = tmp_path_factory.mktemp("t4") / "out.json"
    write_t4(path, [(each, NOON + timedelta(seconds=1)) for each in made], {})
    recording = load_recording(path, SPACE)
    assert recording.configs == tuple(configs)
    assert recording.seconds.tolist() == pytest.approx([each.seconds for each in made], rel=1e-6)
    assert recording.build_times.tolist() == pytest.approx([build] * 5, rel=1e-6)
    assert recording.costs.tolist() == pytest.approx([build + sum(runs) + 0.1] * 5, rel=1e-5)


def test_the_same_results_give_the_same_file(tmp_path: Path) -> None:
    results = [(valid(Config({"unroll": n}), 1e-3 * n), NOON) for n in range(1, 50)]
    one, two = tmp_path / "one.json.gz", tmp_path / "two.json.gz"
    write_t4(one, results, {})
    write_t4(two, results, {})
    assert one.read_bytes() == two.read_bytes()
    write_t4(one, results[:1], {})
    assert len(rows_of(one)) == 1, "the whole file is written anew"
    assert sorted(tmp_path.iterdir()) == [one, two]


def test_a_large_recording_is_a_small_file(tmp_path: Path) -> None:
    """Twenty thousand configs with noise in every figure."""
    import numpy as np

    rng = np.random.default_rng(0)
    space = Space([Factorization("tile", 1 << 20, 4), Ordinal("unroll", tuple(range(16)))])
    path = tmp_path / "large.json.gz"
    results = [
        (
            valid(each, *rng.uniform(1e-4, 1e-2, 3).tolist(), build=rng.uniform(), run=1.0),
            NOON + timedelta(seconds=rng.uniform(0, 1e5)),
        )
        for each in space.sample_many(20_000, rng)
    ]
    write_t4(path, results, {})
    assert path.stat().st_size < 2_000_000


@pytest.mark.parametrize("name", ["out", "out.gz", "out.T4", ".json", ".json.gz"])
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"a T4 file is called NAME\.json\.gz or NAME\.json$"):
        write_t4(tmp_path / name, [], {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"cannot write .*out\.json: no such file"):
        write_t4(tmp_path / "none" / "out.json", [], {})
