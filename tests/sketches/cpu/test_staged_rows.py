"""The sketch of row-wise operators without code of their own, such as those of other packages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tunesmith.errors import UsageError
from tunesmith.operators import Argument, Operator, layer_norm, matmul, softmax
from tunesmith.operators._base.options import size
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cpu.staged_rows import CpuStagedRows
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance

SKETCH, TARGET = CpuStagedRows(), Target()


@dataclass(frozen=True, kw_only=True, repr=False)
class Centred(Operator):
    """A stranger's operator: ``exp(data) - (mean + largest of the exp of the row)``."""

    name: ClassVar[str] = "centred"
    summary: ClassVar[str] = "distance of each exp from a middle of its row"
    signature: ClassVar[tuple[str, ...]] = ("data (m, n)",)

    m: int = field(metadata=size("rows"))
    n: int = field(metadata=size("length of a row"))

    def _check_shapes(self) -> None:
        """Any two sizes fit."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (Argument("data", (self.m, self.n), self.dtype),)

    @property
    def result(self) -> Argument:
        return Argument("output", (self.m, self.n), self.dtype)

    @property
    def flops(self) -> int:
        return 4 * self.m * self.n

    @property
    def tolerance(self) -> tuple[float, float]:
        return self._relative_tolerance(self.n), self._relative_tolerance(self.n)

    def _define(self, inputs: list[Any]) -> Any:
        from tvm import te

        (data,) = inputs
        r, s = (te.reduce_axis((0, self.n), name=name) for name in "rs")
        powers = te.compute((self.m, self.n), lambda i, j: te.exp(data[i, j]), name="powers")
        peak = te.compute((self.m,), lambda i: te.max(powers[i, r], axis=r), name="peak")
        total = te.compute((self.m,), lambda i: te.sum(powers[i, s], axis=s), name="total")
        return te.compute(
            (self.m, self.n),
            lambda i, j: powers[i, j] - (total[i] / te.const(self.n, self.dtype) + peak[i]),
            name="centred",
        )

    def _evaluate(self, inputs: list[Any]) -> Any:
        import numpy as np

        powers = np.exp(inputs[0])
        return powers - (powers.mean(axis=1, keepdims=True) + powers.max(axis=1, keepdims=True))


class TestCpuStagedRows(SketchConformance):
    sketch = SKETCH
    operators = (Centred(m=6, n=48), Centred(m=5, n=7), Centred(m=4, n=96, dtype="float64"))


def test_it_is_what_a_strangers_operator_gets() -> None:
    assert [one.name for one in sketches_for(Centred(m=4, n=16), TARGET)] == ["cpu_staged_rows"]


def test_stored_stages_and_lanes_are_choices() -> None:
    # Six rows in two parts, four numbers of lanes thrice, one stored stage, two places, unrolling.
    assert SKETCH.space(Centred(m=6, n=8), TARGET).size == 4 * 4**3 * 2 * 2 * 4


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    for operator in (matmul(m=4, n=4, k=4), softmax(m=4, n=4), layer_norm(m=4, n=4)):
        assert not SKETCH.supports(operator, TARGET)
    with pytest.raises(UsageError, match=r"\Asketch cpu_staged_rows needs several reductions.+\Z"):
        SKETCH.space(matmul(m=4, n=4, k=4), TARGET)
