"""Databases that are broken, or of others: one clear line each."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from tests.exchange.metaschedule.changes import Change, Line, changed, seconds, warned
from tunesmith.errors import StoreError
from tunesmith.exchange import read_records
from tunesmith.exchange.metaschedule.names import RECORDS, WORKLOADS


def encoded(text: str) -> str:
    """A text as TVM writes it: its length, and what it has, in base 64."""
    return base64.b64encode(struct.pack("<Q", len(text)) + text.encode()).decode()


# Of an array that is its own element TVM makes objects until it crashes.
ENDLESS = {"root_index": 0, "nodes": [{"type": "ffi.Array", "data": [0]}], "metadata": {}}
# How TVM wrote modules up to v0.20.
OLD = {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "IRModule"}], "b64ndarrays": []}


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (encoded(json.dumps(OLD)), "Invalid JSON Object Graph"),
        (encoded(json.dumps(ENDLESS)), "TVM cannot read the function: "),
        (encoded("{"), "TVM cannot read the function: "),
        ("no base 64", "TVM cannot read the function: "),
        ("", "TVM cannot read the function: "),
    ],
)
def test_functions_that_cannot_be_read(
    function: str, why: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    changed(folder / WORKLOADS, lambda line: [line[0], function])
    records, text = warned(folder, caplog)
    assert records == []
    assert "5 trials are left out: TVM cannot read the function: " in text
    assert why in text
    assert len(caplog.records) == 1


def test_functions_that_are_no_operator(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    from tvm import IRModule, te
    from tvm.s_tir.meta_schedule.database import Workload

    data = te.placeholder((64, 64), name="data")
    other = te.compute((64, 64), lambda i, j: data[i, j] + data[j, i], name="mirrored")
    module = IRModule({"main": te.create_prim_func([data, other])})
    changed(
        folder / WORKLOADS,
        lambda _: json.loads(json.dumps(Workload(module).as_json(), default=str)),
    )
    records, text = warned(folder, caplog)
    assert records == []
    assert "5 trials are left out: function mirrored is none of an operator here" in text


@pytest.mark.parametrize("name", [WORKLOADS, RECORDS])
def test_a_file_is_missing(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(StoreError, match=f"has no {name}: a database of MetaSchedule is two files"):
        list(read_records(folder))


@pytest.mark.parametrize("name", [WORKLOADS, RECORDS])
@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[0, [[[], []], [1.0], {}, []",
        b"[" * 100_000,
        b"[7, []]",
    ],
)
def test_broken_lines(name: str, content: bytes, folder: Path) -> None:
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes(whole + content + b"\n")
    line = len(whole.splitlines()) + 1
    with pytest.raises(StoreError, match=f"line {line} of .*{name} is none of a database"):
        list(read_records(folder))


def other_function(line: Line) -> Line:
    return [1, line[1]]


def no_trace(line: Line) -> Line:
    return [0, [[[["GetLoops"]], [[0, 1]]], *line[1][1:]]]


@pytest.mark.parametrize("change", [other_function, no_trace, seconds(["fast"])])
def test_records_that_are_none(change: Change, folder: Path) -> None:
    changed(folder / RECORDS, change, line=2)
    with pytest.raises(StoreError, match=r"line 3 of .* is none of a database"):
        list(read_records(folder))


def test_a_record_that_was_cut_off(folder: Path) -> None:
    path = folder / RECORDS
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StoreError, match=r"line 5 of .* was cut off"):
        list(read_records(folder))


def test_an_empty_database(folder: Path) -> None:
    for name in (WORKLOADS, RECORDS):
        (folder / name).write_text("")
    assert list(read_records(folder)) == []
