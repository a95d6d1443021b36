"""T4 files: what they mean, and what is wrong with those that mean nothing."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.measure.recorded.t4_files import SHARED, document, result, write
from tunesmith.errors import UsageError
from tunesmith.measure.recorded import t4_reader
from tunesmith.measure.recorded.t4_reader import read_t4
from tunesmith.measurement import Outcome


def read_one(folder: Path, row: dict[str, Any], **changes: Any) -> tuple[Outcome, float, float]:
    """Outcome, objective and cost in seconds of a file's only result."""
    results = read_t4(write(folder / "one.json.gz", document([row], **changes)))
    cost = results.build_times[0] + results.run_times[0]
    return Outcome(int(results.outcomes[0])), float(results.seconds[0]), float(cost)


def test_a_whole_file(tmp_path: Path) -> None:
    rows = [result(time=2.0), result(32, time=4.0), result(64, time="RuntimeFailedConfig")]
    results = read_t4(write(tmp_path / "A100.json.gz", document(rows)))
    assert [each["block"] for each in results.configurations] == [16, 32, 64]
    assert results.seconds.tolist() == [0.002, 0.004, math.inf]
    assert results.build_times.tolist() == pytest.approx([0.1, 0.1, 0.1])
    assert results.run_times.tolist() == pytest.approx([0.021, 0.027, 0.015])
    assert [Outcome(int(code)) for code in results.outcomes] == [
        Outcome.NO_ERROR,
        Outcome.NO_ERROR,
        Outcome.RUNTIME_DEVICE,
    ]
    assert results.metadata == {"timeunit": "miliseconds"}


def test_a_file_that_is_not_compressed_reads_the_same(tmp_path: Path) -> None:
    whole = document([result()])
    packed, plain = (read_t4(write(tmp_path / name, whole)) for name in ("a.json.gz", "a.json"))
    assert packed.seconds.tolist() == plain.seconds.tolist()
    assert packed.digest != plain.digest


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("constraints", Outcome.INSTANTIATION_ERROR),
        ("compile", Outcome.COMPILE_DEVICE),
        ("runtime", Outcome.RUNTIME_DEVICE),
        ("correctness", Outcome.WRONG_ANSWER),
        ("timeout", Outcome.RUN_TIMEOUT),
    ],
)
def test_every_way_to_fail(tmp_path: Path, word: str, outcome: Outcome) -> None:
    failed = result(time=3.0, invalidity=word, correctness=0)
    assert read_one(tmp_path, failed)[:2] == (outcome, math.inf), "whatever was measured"
    assert read_one(tmp_path, result(invalidity=word, measurements=...))[0] is outcome


def test_what_is_called_correct_and_is_not(tmp_path: Path) -> None:
    assert read_one(tmp_path, result(correctness=0))[0] is Outcome.WRONG_ANSWER
    odd = result(time="CompilationFailedConfig", invalidity="correct", correctness=1)
    assert read_one(tmp_path, odd)[:2] == (Outcome.COMPILE_DEVICE, math.inf)


def test_a_class_that_only_we_have_a_word_for(tmp_path: Path) -> None:
    failed = result(time="CompilationFailedConfig", outcome="BUILD_TIMEOUT")
    assert read_one(tmp_path, failed)[0] is Outcome.BUILD_TIMEOUT
    assert read_one(tmp_path, {**failed, "outcome": "NONSENSE"})[0] is Outcome.COMPILE_DEVICE


# --- Units and objectives


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("seconds", 2.0), ("Milliseconds", 2e-3), ("us", 2e-6), ("nanoseconds", 2e-9)],
)
def test_units_of_a_file(tmp_path: Path, unit: str, seconds: float) -> None:
    _, found, cost = read_one(tmp_path, result(), metadata={"timeunit": unit})
    assert found == pytest.approx(seconds)
    assert cost == pytest.approx(121 * seconds / 2)


def test_without_a_unit_times_are_milliseconds_as_kernel_tuner_has_them(tmp_path: Path) -> None:
    assert read_one(tmp_path, result(), metadata={})[1] == 0.002
    assert read_one(tmp_path, result(), metadata=...)[1] == 0.002


def test_a_measurement_with_a_unit_of_its_own(tmp_path: Path) -> None:
    measured = [{"name": "time", "value": 2.0, "unit": "s"}]
    assert read_one(tmp_path, result(measurements=measured))[1] == 2.0


def test_the_objective_is_the_one_that_is_named(tmp_path: Path) -> None:
    measured = [
        {"name": "time", "value": 2.0, "unit": "ms"},
        {"name": "latency", "value": 9.0, "unit": "ms"},
        {"name": "GFLOP/s", "value": 1e3, "unit": "GFLOP/s"},
    ]
    named = result(measurements=measured, objectives=["latency"])
    assert read_one(tmp_path, named)[1] == pytest.approx(0.009)
    others: list[Any] = [["GFLOP/s"], [], [[]], None, ...]  # no time that is to be minimised
    for objectives in others:
        other = result(measurements=measured, objectives=objectives)
        assert read_one(tmp_path, other)[1] == 0.002


# --- Costs


def test_the_search_of_the_recorded_run_costs_nothing(tmp_path: Path) -> None:
    times = {"compilation": 1.0, "search_algorithm": 1e6}
    assert read_one(tmp_path, result(times=times))[2] == pytest.approx(0.001)


def test_runs_that_a_benchmark_time_includes_count_once(tmp_path: Path) -> None:
    times = {"compilation": 1.0, "benchmark": 20.0, "runtimes": [2.0, 2.0], "validation": 3.0}
    assert read_one(tmp_path, result(times=times))[2] == pytest.approx(0.024)


def test_the_name_of_the_build_in_the_schema(tmp_path: Path) -> None:
    row = result(times={"compilation_time": 4.0, "runtimes": []})
    results = read_t4(write(tmp_path / "one.json", document([row])))
    assert (results.build_times[0], results.run_times[0]) == (0.004, 0.0)


# --- Files that are refused


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ("", "not JSON, or cut off"),
        ('{"results": [', "not JSON, or cut off"),
        ("[" * 100_000, "not JSON, or cut off"),
        ("[]", "the file is [], not an object"),
        (document([result()], schema_version=...), "the file lacks 'schema_version'"),
        (document([result()], schema_version=1), "'schema_version' is 1, of the wrong type"),
        (document([result()], schema_version="2.0.0"), "is '2.0.0': this release reads 1.0.0"),
        (document([result()], metadata=[]), "'metadata' is [], of the wrong type"),
        (document([result()], metadata={"timeunit": "fortnights"}), "timeunit is 'fortnights'"),
        (document([result()], metadata={"timeunit": None}), "timeunit is None"),
        (document([], results=...), "the file lacks 'results'"),
        (document([], results={}), "'results' is {}, of the wrong type"),
        (document([]), "it has no results"),
        (document([result(), "x"]), "results[1] is 'x', not an object"),  # type: ignore[list-item]
        (document([result(configuration=...)]), "results[0] lacks 'configuration'"),
        (document([result(configuration=3)]), "'configuration' is 3, of the wrong type"),
        (document([result(invalidity=...)]), "results[0] lacks 'invalidity'"),
        (document([result(invalidity="odd")]), "invalidity is 'odd': known: correct, constraints"),
        (document([result(times=...)]), "results[0] lacks 'times'"),
        (document([result(times={"compilation": "x"})]), "'compilation' of its times is 'x'"),
        (document([result(times={"compilation": None})]), "'compilation' of its times is None"),
        (document([result(times={"framework": -1})]), "'framework' of its times is -1"),
        (document([result(times={"runtimes": [1, "x"]})]), "'runtimes' of its times is [1, 'x']"),
        (document([result(times={"runtimes": [math.nan]})]), "'runtimes' of its times is [nan]"),
        (document([result(measurements=...)]), "results[0] lacks 'measurements'"),
        (document([result(measurements=[])]), "results[0] has no measurement of a time"),
        (document([result(measurements=[{"name": "time"}])]), "measurements lacks 'value'"),
        (document([result(measurements=[3])]), "measurements is 3, not an object"),
        (document([result(time=0.0)]), "results[0] is correct, but its time is 0.0"),
        (document([result(time=math.inf)]), "is correct, but its time is inf"),
        (document([result(time=[1.0], times={})]), "is correct, but its time is [1.0]"),
        (document([result(time=10**400, times={})]), "is correct, but its time is 1000000000"),
        (document([result(time="fast", times={})]), "is correct, but its time is 'fast'"),
        (document([result(time=True, times={})]), "is correct, but its time is True"),
    ],
)
def test_files_that_are_refused_in_one_line(tmp_path: Path, contents: Any, problem: str) -> None:
    path = write(tmp_path / "odd.json.gz", contents)
    with pytest.raises(UsageError) as caught:
        read_t4(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert "\n" not in message


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_file_that_is_cut_off(tmp_path: Path, kept: float) -> None:
    whole = write(
        tmp_path / "whole.json.gz", document([result(time=float(n)) for n in range(1, 99)])
    )
    data = whole.read_bytes()
    path = tmp_path / "cut.json.gz"
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(UsageError, match=r"cut\.json\.gz: damaged or cut off: "):
        read_t4(path)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "damaged.json.gz"
    data = bytearray(gzip.compress(json.dumps(document([result()] * 50)).encode()))
    data[40:60] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"damaged\.json\.gz: damaged or cut off: "):
        read_t4(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.json: cannot be read: no such file"):
        read_t4(tmp_path / "missing.json")
    with pytest.raises(UsageError, match="cannot be read: is a directory"):
        read_t4(tmp_path)


def test_a_small_file_cannot_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(t4_reader, "MAX_BYTES", 1000)
    path = write(tmp_path / "bomb.json.gz", " " * 100_000)
    with pytest.raises(UsageError, match="larger than 1000 bytes: not a T4 file"):
        read_t4(path)


# --- Published files


@pytest.mark.parametrize(
    ("name", "configs", "valid"),
    [
        ("convolution/A100", 4362, 4201),
        ("convolution/A6000", 4362, 3889),
        ("convolution/MI250X", 4362, 4362),
        ("dedispersion/A100", 11130, 11130),
        ("dedispersion/MI250X", 11130, 11130),
    ],
)
def test_published_files(name: str, configs: int, valid: int) -> None:
    path = SHARED / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip("no published recordings in ../shared")
    results = read_t4(path)
    assert len(results.configurations) == configs
    assert sum(results.outcomes == Outcome.NO_ERROR.value) == valid
    assert sum(results.seconds < math.inf) == valid
    assert (results.build_times + results.run_times > 0).all()
