"""Finding a sketch: by name, by what it supports, and among installed plug-ins."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.plug_ins import offer
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.operators import Operator, matmul, softmax
from tunesmith.sketches import (
    Sketch,
    describe_sketches,
    registry,
    sketch_for,
    sketches,
    sketches_for,
)
from tunesmith.sketches.cpu.rows.sketch import CpuRows
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target

TARGET = Target()
PRODUCT, ROWS = matmul(m=4, n=4, k=4), softmax(m=4, n=4)


class Spare(Sketch):
    """A stranger's sketch, for any operator."""

    name: ClassVar[str] = "spare"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return True

    def space(self, operator: Operator, target: Target) -> Space:
        return Space([Ordinal("n", (1,))])

    def default(self, operator: Operator, target: Target) -> Config:
        return Config({"n": 1})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        raise NotImplementedError


class Other(Spare):
    """Another one."""

    name: ClassVar[str] = "other"


no_sketch = object


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes plug-ins of names and what they stand for."""

    return lambda **places: offer(monkeypatch, "tunesmith.sketches", places)


def test_ours_come_first_in_the_order_in_which_they_are_tried() -> None:
    assert list(sketches())[:2] == ["cpu_tiled", "cpu_rows"]


def test_each_of_ours_passes_the_suite_of_sketches() -> None:
    """A sketch is a file, a line in the registry and a class like these."""
    suite = re.compile(r"^class \w+\(SketchConformance\):\n(?:.*\n)*?    sketch\b.*? = (\w+)", re.M)
    tested = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        shared = re.search(r"^SKETCH\b.*? = (\w+)\(\)", text, re.M)
        for made in suite.findall(text):
            tested.add(shared[1] if made == "SKETCH" and shared else made)
    kinds = {name: type(sketch).__name__ for name, sketch in sketches().items()}
    assert {name for name, kind in kinds.items() if kind not in tested} == set()


_SPACES = """
import json
from tunesmith.operators import conv2d, lstm, matmul, pool2d, softmax
from tunesmith.sketches import sketches_for
from tunesmith.target import Target
operators = (matmul(m=12, n=20, k=8), conv2d(ci=4, h=8, w=8, co=8, kernel=3, padding=1),
    softmax(m=4, n=40), pool2d(c=4, h=8, w=8, kernel=2), lstm(units=8))
print(json.dumps([[s.name, s.space(o, t).to_json(), s.default(o, t).to_json()]
    for t in (Target(mcpu="haswell", cores=2), Target("cuda", arch="sm_90"))
    for o in operators for s in sketches_for(o, t)]))
"""


def test_spaces_do_not_depend_on_the_order_of_hashes() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", _SPACES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_the_first_that_fits_is_taken() -> None:
    assert isinstance(sketch_for(PRODUCT, TARGET), CpuTiled)
    assert isinstance(sketch_for(ROWS, TARGET), CpuRows)


def test_a_sketch_is_found_by_name() -> None:
    assert isinstance(sketch_for(ROWS, TARGET, "cpu_rows"), CpuRows)


def test_an_unknown_name_shows_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"\Aunknown sketch 'cpu_tile': did you mean cpu_tiled"):
        sketch_for(PRODUCT, TARGET, "cpu_tile")


def test_a_sketch_that_does_not_fit_says_which_does() -> None:
    with pytest.raises(
        UsageError, match=r"\Asketch cpu_tiled cannot schedule softmax on cpu: take cpu_rows\Z"
    ):
        sketch_for(ROWS, TARGET, "cpu_tiled")


def test_an_installed_plug_in_is_found_and_tried_last(install: Callable[..., None]) -> None:
    install(spare=f"{__name__}:Spare", cpu_rows=f"{__name__}:Spare")
    assert list(sketches())[:2] == ["cpu_tiled", "cpu_rows"]
    assert list(sketches())[-1] == "spare"
    assert isinstance(sketch_for(PRODUCT, TARGET), CpuTiled)
    assert isinstance(sketch_for(PRODUCT, TARGET, "spare"), Spare)
    assert isinstance(sketch_for(ROWS, TARGET, "cpu_rows"), CpuRows), "our name is ours"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            "no_such_module:Sketch",
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (f"{__name__}:nothing", "cannot be imported: AttributeError: module .* has no attribute"),
        (f"{__name__}:no_sketch", "is no sketch: make it a subclass of Sketch"),
    ],
)
def test_a_broken_plug_in_is_named_and_harms_nobody_else(
    install: Callable[..., None], value: str, reason: str
) -> None:
    install(broken=value)
    assert isinstance(sketch_for(PRODUCT, TARGET), CpuTiled)
    with pytest.raises(TunesmithError, match=rf"\Asketch 'broken' \(.+\) {reason}"):
        sketch_for(PRODUCT, TARGET, "broken")


def test_an_operator_that_nothing_supports_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, install: Callable[..., None]
) -> None:
    install()
    monkeypatch.setattr(registry.SKETCHES, "names", lambda: ("cpu_tiled",))
    monkeypatch.setattr(CpuTiled, "supports", lambda *_: False)
    with pytest.raises(UsageError, match=r"\Ano sketch can schedule matmul on cpu\Z"):
        sketch_for(PRODUCT, TARGET)
    with pytest.raises(UsageError, match="take another operator, no sketch can"):
        sketch_for(PRODUCT, TARGET, "cpu_tiled")


# --- All that fit


def names(*arguments: Any, **options: Any) -> list[str]:
    return [sketch.name for sketch in sketches_for(*arguments, **options)]


def test_all_sketches_that_support_an_operator_the_most_general_first() -> None:
    fitting = names(PRODUCT, TARGET)
    assert fitting[0] == "cpu_tiled"
    supporting = {n: it for n, it in sketches().items() if it.supports(PRODUCT, TARGET)}
    assert fitting == [n for n, sketch in supporting.items() if not sketch.only_by_name]
    assert len(fitting) < len(supporting), "one of ours takes part only where it is named"
    assert names(ROWS, TARGET) == ["cpu_rows"]


def test_some_of_them(install: Callable[..., None]) -> None:
    install(spare=f"{__name__}:Spare", other=f"{__name__}:Other")
    assert names(ROWS, TARGET) == ["cpu_rows", "other", "spare"]
    assert names(ROWS, TARGET, ["spare", "cpu_rows"]) == ["cpu_rows", "spare"]
    assert names(ROWS, TARGET, without=["cpu_rows", "other"]) == ["spare"]
    assert names(ROWS, TARGET, ["spare", "other"], ["other"]) == ["spare"]


@pytest.mark.parametrize(
    ("chosen", "without", "complaint"),
    [
        (["cpu_tile"], [], "unknown sketch 'cpu_tile': did you mean cpu_tiled"),
        ([], ["cpu_row"], "unknown sketch 'cpu_row': did you mean cpu_rows"),
        (["cpu_rows", "cpu_tiled"], [], "sketch cpu_tiled cannot schedule softmax on cpu: take"),
        ([], ["cpu_rows"], "no sketch can schedule softmax on cpu without cpu_rows"),
        (["cpu_rows"], ["cpu_rows"], "no sketch can schedule softmax on cpu without cpu_rows"),
    ],
)
def test_what_cannot_be_chosen(
    install: Callable[..., None], chosen: list[str], without: list[str], complaint: str
) -> None:
    install()
    with pytest.raises(UsageError, match=complaint):
        sketches_for(ROWS, TARGET, chosen, without)


def test_a_plug_in_that_does_not_load_is_left_out_and_told_in_the_list(
    install: Callable[..., None],
) -> None:
    install(broken="no_such_module:Sketch")
    assert names(ROWS, TARGET) == ["cpu_rows"]
    with pytest.raises(MissingDependencyError, match=r"sketch 'broken' .* cannot be imported"):
        sketches_for(ROWS, TARGET, ["broken"])
    described = {row.name: row for row in describe_sketches()}
    assert "cannot be imported" in described["broken"].summary
    assert list(described) == [*(row.name for row in describe_sketches()[:-1]), "broken"]


def test_every_sketch_says_what_it_is_for(install: Callable[..., None]) -> None:
    install(spare=f"{__name__}:Spare")
    rows = describe_sketches()
    assert all(row.version >= 1 and row.summary for row in rows)
    assert (rows[-1].name, rows[-1].summary) == ("spare", "A stranger's sketch, for any operator.")


def test_a_name_may_leave_out_what_the_targets_sketches_begin_with() -> None:
    assert [it.name for it in sketches_for(PRODUCT, TARGET, ["gemm"])] == ["cpu_gemm"]
    gpu = Target("cuda", arch="sm_90")
    assert [it.name for it in sketches_for(PRODUCT, gpu, ["gemm_424"])] == ["cuda_gemm_424"]
    assert "cpu_gemm" not in {it.name for it in sketches_for(PRODUCT, TARGET, without=["gemm"])}
    with pytest.raises(UsageError, match="unknown sketch 'gem'"):
        sketches_for(PRODUCT, TARGET, ["gem"])
