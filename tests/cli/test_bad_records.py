"""T4 files of no use: ``tunesmith compare`` says in one line why, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.measure.recorded.t4_files import T1, document, recorded, result, write

NAME = "A100.json.gz"


def cut_off(folder: Path) -> None:
    path = recorded(folder)
    path.write_bytes(path.read_bytes()[:-30])


def cut_off_text(folder: Path) -> None:
    write(folder / "space.T1.json", T1)
    text = json.dumps(document([result()] * 9))
    (folder / NAME).write_text(text[:-30])


def empty(folder: Path) -> None:
    recorded(folder).write_bytes(b"")


def rows(*results: Any, **changes: Any) -> Callable[[Path], object]:
    """A file of these results, with its space."""

    def make(folder: Path) -> None:
        write(folder / "space.T1.json", T1)
        write(folder / NAME, document(results, **changes))

    return make


def space(**changes: Any) -> Callable[[Path], object]:
    """A whole file beside a space that is changed; one that is ``...`` is missing."""

    def make(folder: Path) -> None:
        recorded(folder)
        place = folder / "space.T1.json"
        if changes.get("contents") is ...:
            place.unlink()
        elif "contents" in changes:
            place.write_text(changes["contents"])
        else:
            whole: dict[str, Any] = T1["ConfigurationSpace"]  # type: ignore[assignment]
            write(place, {**T1, "ConfigurationSpace": {**whole, **changes}})

    return make


def condition(expression: str) -> dict[str, Any]:
    return {"Expression": expression, "Parameters": ["block"]}


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (cut_off, "damaged or cut off: "),
    "cut off text": (cut_off_text, "not JSON, or cut off: "),
    "empty": (empty, "not JSON, or cut off: "),
    "schema": (
        rows(result(), schema_version="7.1.0"),
        "schema_version is '7.1.0': this release reads 1.0.0",
    ),
    "no schema": (rows(result(), schema_version=...), "the file lacks 'schema_version'"),
    "no results": (rows(), "it has no results"),
    "unknown value": (
        rows(result(), result(17)),
        "configs that are not in the space: 1 of 2, first {'block': 17, 'unroll': 0}: parameter "
        "'block' has no value 17: give one of (16, 32, 64)",
    ),
    "unknown parameter": (
        rows(result(), result(configuration={"block": 16, "unroll": 0, "warps": 4})),
        "'warps', which is not a parameter of the space",
    ),
    "ruled out": (
        rows(result(), result(64, 1)),
        "config violates 'block < 64 or unroll == 0': it has block=64, unroll=1",
    ),
    "twice": (
        rows(result(16), result(32), result(16)),
        'configs that it has twice: 1 of 3, first {"block":16,"unroll":0}',
    ),
    "nothing valid": (
        rows(result(16, time="CompilationFailedConfig"), result(32, time="RuntimeFailedConfig")),
        "it has no valid result: every config failed",
    ),
    "one valid": (
        rows(result(16), result(32, time="RuntimeFailedConfig")),
        "fewer than two of its configs are valid: there is nothing to compare",
    ),
    "no costs": (
        rows(result(16, times={}), result(32, times={})),
        "it does not say what its trials cost: searches have no clock then",
    ),
    "no space": (space(contents=...), "there is no space.T1.json beside it: name the file of"),
    "space cut off": (space(contents=json.dumps(T1)[:-40]), "not JSON"),
    "space without parameters": (space(TuningParameters=[]), "parameter"),
    "space ruled out": (space(Conditions=[condition("block > 999")]), "not in the space: 5 of 5"),
    "space of others": (
        space(Conditions=[condition("warps < 3")]),
        "reads the unknown parameter 'warps'",
    ),
    "hostile space": (space(Conditions=[condition("open('hacked', 'w')")]), "space.T1.json"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_record_of_no_use(
    kind: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, answer = BAD[kind]
    for name, fill in (("good", recorded), ("bad", make)):
        (tmp_path / name).mkdir()
        fill(tmp_path / name)
    ran = command("compare", "--tuners", "random", "--problems", "*/*.gz", "-o", "out")
    assert answer in ran.complaint
    assert ran.complaint.startswith(f"{tmp_path}/bad/"), "which file it is about"
    assert ran.code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"good", "bad"}, "nothing has run"
