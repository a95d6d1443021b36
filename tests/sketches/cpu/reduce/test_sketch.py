"""The sketch of reductions: any axis, kind and tile computes the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Reduce, matmul, reduce
from tunesmith.sketches.cpu.reduce.sketch import CpuReduce
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuReduce()


class TestCpuReduce(SketchConformance):
    sketch = SKETCH
    operators = (
        reduce(n=37, inner=50),
        reduce(outer=21, n=130),
        reduce(n=1000),
        reduce(outer=3, n=5, inner=3, kind="sum"),
        reduce(outer=2, n=9, inner=40, kind="max"),
        reduce(outer=5, n=19, kind="min", dtype="float64"),
        reduce(outer=2, n=33, inner=17, dtype="bfloat16"),
        reduce(outer=18, n=50, dtype="float16", kind="sum"),
    )


@st.composite
def reductions(draw: st.DrawFn) -> Reduce:
    sizes = st.sampled_from((1, 1, 2, 3, 7, 16, 19, 33, 60, 100))
    return reduce(
        outer=draw(sizes),
        n=draw(sizes),
        inner=draw(sizes),
        kind=draw(st.sampled_from(("mean", "sum", "max", "min"))),
        dtype=draw(st.sampled_from(("float32", "float32", "float64", "bfloat16", "float16"))),
    )


@examples(60)
@given(operator=reductions(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(target: Target, operator: Reduce, seed: int) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@each_target
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_may_be_infinite(target: Target, kind: str) -> None:
    operator = reduce(outer=2, n=21, inner=1, kind=kind)
    data = np.full((2, 21, 1), -np.inf if kind == "max" else np.inf, np.float32)
    config = SKETCH.default(operator, target)
    kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
    assert np.array_equal(np.asarray(kernel(data)), operator.reference(data))


def test_few_results_of_many_elements_are_made_in_parts() -> None:
    target = Target(mcpu="haswell", cores=4)
    for operator in (reduce(n=1_000_000), reduce(n=100_000, inner=8)):
        alone = SKETCH.default(operator, target)
        assert alone["parts"] == 4
        for others in ({"parts": 1}, {"parts": 1, "shared": False}):
            expected, other = (
                SKETCH.estimate(operator, target, c) for c in (alone, alone.replace(**others))
            )
            assert expected is not None
            assert other is not None
            assert 0 < expected < other
    many = dataclasses.replace(operator, outer=64)
    assert SKETCH.default(many, target)["parts"] == 1


def test_estimates_prefer_several_sums_at_once() -> None:
    target = Target(mcpu="haswell", cores=2)
    operator = reduce(outer=64, n=128, inner=768)
    good = SKETCH.default(operator, target)
    for changes in ({"lanes": 4}, {"vectors": 1, "unroll": 1}):
        expected, other = (
            SKETCH.estimate(operator, target, c) for c in (good, good.replace(**changes))
        )
        assert expected is not None
        assert other is not None
        assert 0 < expected < other


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    assert not SKETCH.supports(reduce(n=4), Target("cuda", arch="sm_90"))
    with pytest.raises(UsageError, match=r"\Asketch cpu_reduce is for reduce"):
        SKETCH.space(matmul(m=4, n=4, k=4), Target())
