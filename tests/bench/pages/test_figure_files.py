"""Files of figures: what of earlier runs is read, and what is left beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import ORIGIN, origin
from tunesmith.bench.pages.figure_files import (
    RowFile,
    folder_to_itself,
    in_order,
    read_figures,
    write_figures,
)
from tunesmith.errors import TunesmithError


def row(workload: str, origin: dict[str, Any] | None = ORIGIN) -> dict[str, Any]:
    return {"workload": workload, "speed": 1.0, "origin": origin}


def file(folder: Path) -> RowFile:
    path = folder / "some.json"
    return RowFile(path, lambda row: row["speed"] > 0, lambda row: [row["origin"]], "--again")


def test_rows_are_read_by_workload(tmp_path: Path) -> None:
    assert file(tmp_path).read() == {}
    write_figures(tmp_path, "some", {"rows": [row("b"), row("a")]})
    assert list(file(tmp_path).read()) == ["b", "a"]
    assert in_order([row("x"), row("b"), row("a")], ["a", "b"]) == [row("a"), row("b"), row("x")]


def test_rows_of_other_machines_are_refused_unless_they_are_measured_anew(tmp_path: Path) -> None:
    elsewhere = origin(machine={**ORIGIN["machine"], "fingerprint": "0" * 16})
    write_figures(tmp_path, "some", {"rows": [row("a"), row("b", elsewhere), row("c", None)]})
    message = r"some.json holds rows of an unknown machine: name another folder .* \(--again\)$"
    with pytest.raises(TunesmithError, match=message):
        file(tmp_path).read(["b"])
    with pytest.raises(TunesmithError, match=r"rows of another machine \(Some CPU\)"):
        file(tmp_path).read(["c"])
    assert list(file(tmp_path).read(["b", "c"])) == ["a"]


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"rows": 3}', '{"rows": [1]}', '{"rows": [{"speed": 0}]}']
)
def test_what_holds_no_rows_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(TunesmithError, match=r"holds no rows of an earlier run: remove it, or"):
        file(tmp_path).read()


def test_what_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"cannot read .*: is a directory"):
        read_figures(tmp_path, bool)
    with pytest.raises(TunesmithError, match=r"cannot write .*some\.json: no such file"):
        write_figures(tmp_path / "gone", "some", {})


def test_drafts_of_killed_processes_are_removed_when_the_file_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names: list[str] = []
    whole = Path.replace

    def noted(draft: Path, target: Path) -> Path:
        names.append(draft.name)
        return whole(draft, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", noted)
        write_figures(tmp_path, "some", {"rows": []})
    (name,) = names
    assert f".{os.getpid()}." in name
    left, alive = (
        tmp_path / name.replace(f".{os.getpid()}.", f".{pid}.") for pid in (ended.pid, os.getppid())
    )
    others = tmp_path / left.name.replace("some", "other")
    young = left.with_name(left.name.replace(".some.json.", ".some.json.0"))
    for draft in (left, alive, others, young):
        draft.touch()
        if draft != young:
            os.utime(draft, (0, 0))
    write_figures(tmp_path, "some", {"rows": []})
    assert set(tmp_path.iterdir()) == {alive, others, young, tmp_path / "some.json"}
    assert json.loads((tmp_path / "some.json").read_text()) == {"rows": []}


def test_two_that_add_to_one_file_take_turns(tmp_path: Path) -> None:
    write_figures(tmp_path, "some", {"rows": []})
    inside, told = threading.Event(), list[int]()

    def add(number: int, within: Callable[[], object]) -> None:
        with folder_to_itself(tmp_path):
            figures = read_figures(tmp_path / "some.json", bool)
            assert figures is not None
            inside.set()
            within()
            write_figures(tmp_path, "some", {"rows": [*figures["rows"], number]})
            told.append(number)

    first = threading.Thread(target=add, args=(1, lambda: time.sleep(0.3)))
    first.start()
    assert inside.wait(60.0)
    add(2, lambda: None)
    first.join()
    assert told == [1, 2]
    assert read_figures(tmp_path / "some.json", bool) == {"rows": [1, 2]}
