"""Recordings: a T4 file and a space that belong together, or do not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.measure.recorded.t4_files import CONFIGS, SHARED, T1, document, recorded, result, write
from tunesmith.errors import SpaceError, UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measurement import Outcome
from tunesmith.space import (
    Categorical,
    Config,
    Constraint,
    Factorization,
    Ordinal,
    Permutation,
    Space,
    read_t1,
)


def complaint(path: Path, space: Any = None) -> str:
    """The one line about a record that is refused; it begins with the file."""
    with pytest.raises(UsageError) as caught:
        load_recording(path, space)
    file, _, message = str(caught.value).partition(": ")
    assert file == str(path)
    assert "\n" not in message
    return message


def test_configs_and_arrays(tmp_path: Path) -> None:
    recording = load_recording(recorded(tmp_path))
    assert recording.configs == tuple(Config({"block": b, "unroll": u}) for b, u in CONFIGS)
    assert recording.seconds.tolist() == pytest.approx([0.002, 0.003, 0.004, 0.005, 0.008])
    assert recording.costs.tolist() == pytest.approx([0.121, 0.124, 0.127, 0.130, 0.139])
    assert (recording.outcomes == Outcome.NO_ERROR.value).all()
    assert recording.size == 5
    assert [recording.row(config) for config in recording.configs] == [0, 1, 2, 3, 4]
    assert recording.row(Config({"block": 64, "unroll": 1})) is None


def test_the_arrays_are_shared_and_so_nobody_writes_to_them(tmp_path: Path) -> None:
    recording = load_recording(recorded(tmp_path))
    for array in (recording.seconds, recording.costs, recording.outcomes, recording.run_times):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    first = load_recording(path)
    assert load_recording(str(path)) is first
    write(path, document([result()]))
    os.utime(path, (1, 1))
    assert len(load_recording(path).configs) == 1
    space = Space([Ordinal("block", (16, 32)), Ordinal("unroll", (0, 1))])
    restricted = load_recording(path, space)
    assert restricted.space is space
    assert load_recording(path, space) is restricted


def test_the_space_beside_the_file_or_any_other(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    elsewhere = write(tmp_path / "elsewhere.json", T1)
    (tmp_path / "space.T1.json").unlink()
    assert load_recording(path, elsewhere).space == read_t1(elsewhere)
    assert complaint(path) == ("there is no space.T1.json beside it: name the file of its space")
    with pytest.raises(SpaceError, match=r"none\.json: cannot be read: No such file"):
        load_recording(path, tmp_path / "none.json")


# --- Values


def test_numbers_of_other_languages(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json",
        document([result(16.0), result(True), result(32, False), result(32, 1)]),  # type: ignore[arg-type]
    )
    space = Space([Ordinal("block", (1, 16, 32)), Categorical("unroll", (False, 1))])
    configs = load_recording(path, space).configs
    assert [config.key for config in configs] == [
        '{"block":16,"unroll":false}',
        '{"block":1,"unroll":false}',
        '{"block":32,"unroll":false}',
        '{"block":32,"unroll":1}',
    ]


def test_tuples_as_lists_or_as_text(tmp_path: Path) -> None:
    space = Space([Factorization("tile", 6, 2), Permutation("order", ("i", "j"))])
    rows = [
        result(configuration={"tile": [2, 3], "order": ["i", "j"]}),
        result(configuration={"tile": "[3,2]", "order": '["j", "i"]'}),
    ]
    configs = load_recording(write(tmp_path / "a.json", document(rows)), space).configs
    assert configs == (
        Config({"tile": (2, 3), "order": ("i", "j")}),
        Config({"tile": (3, 2), "order": ("j", "i")}),
    )


@pytest.mark.parametrize("value", [None, {}, [[]], [1, 2, 3], "[1,2", "x", 7])
def test_what_is_no_value(tmp_path: Path, value: Any) -> None:
    space = Space([Factorization("tile", 6, 2)])
    path = write(tmp_path / "a.json", document([result(configuration={"tile": value})]))
    assert complaint(path, space).startswith("configs that are not in the space: 1 of 1, first {")


# --- What does not fit


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({"block": 17, "unroll": 0}, "parameter 'block' has no value 17"),
        ({"block": 64, "unroll": 1}, "config violates 'block < 64 or unroll == 0'"),
        ({"block": 16}, "config lacks parameter 'unroll'"),
        ({"block": 16, "unroll": 0, "x": 1}, "config has 'x', which is not a parameter"),
        ({"block": 16, "x": 0}, "config has 'x', which is not a parameter"),
    ],
)
def test_configs_that_are_not_in_the_space(
    tmp_path: Path, configuration: dict[str, Any], reason: str
) -> None:
    write(tmp_path / "space.T1.json", T1)
    rows = [result(), result(configuration=configuration), result(99)]
    message = complaint(write(tmp_path / "a.json", document(rows)))
    assert message.startswith(f"configs that are not in the space: 2 of 3, first {configuration}: ")
    assert reason in message


def test_a_constraint_that_is_a_function_is_tested_too(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    parameters = read_t1(tmp_path / "space.T1.json").parameters
    small = Constraint.of(["block"], lambda block: block < 64, "small")
    assert complaint(path, Space(parameters, [small])).startswith(
        "configs that are not in the space: 1 of 5, first {'block': 64, 'unroll': 0}"
    )


def test_configs_that_the_record_itself_calls_ruled_out_may_be_outside(tmp_path: Path) -> None:
    write(tmp_path / "space.T1.json", T1)
    ruled_out = {"invalidity": "constraints", "correctness": 0}
    rows = [result(), result(64, 1, **ruled_out), result(32, 0, **ruled_out)]
    recording = load_recording(write(tmp_path / "a.json", document(rows)))
    assert [config["block"] for config in recording.configs] == [16, 32]
    assert recording.outcomes.tolist() == [0, Outcome.INSTANTIATION_ERROR.value]


def test_configs_that_are_there_twice(tmp_path: Path) -> None:
    write(tmp_path / "space.T1.json", T1)
    rows = [result(16), result(32), result(32, time=9.0), result(32), result(16)]
    message = complaint(write(tmp_path / "a.json", document(rows)))
    assert message == 'configs that it has twice: 3 of 5, first {"block":32,"unroll":0}'


def test_a_record_of_failures_only(tmp_path: Path) -> None:
    path = recorded(tmp_path, lambda block, unroll: "RuntimeFailedConfig")
    assert complaint(path) == "it has no valid result: every config failed"


def test_what_is_wrong_with_the_file_itself(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert complaint(path).startswith("damaged or cut off: ")
    path.unlink()
    assert complaint(path) == "cannot be read: no such file or directory"


# --- Published files


def test_published_spaces_are_complete(tmp_path: Path) -> None:
    paths = sorted(SHARED.glob("*/*.json.gz"))
    if not paths:
        pytest.skip("no published recordings in ../shared")
    for path in paths:
        recording = load_recording(path)
        assert len(recording.configs) == recording.size == len(set(recording.configs))
        assert all(recording.space.contains(config) for config in recording.configs[::100])
        assert set(recording.configs[:50]) <= set(recording.space.enumerate())
        assert np.isfinite(recording.seconds).any()
        assert (recording.costs > 0).all()
