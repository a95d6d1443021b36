"""The sketch of adaptive pooling: any image, output and tile computes the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processors import any_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.operators import AdaptivePool2d, adaptive_pool2d, matmul
from tunesmith.sketches.cpu.adaptive_pool import CpuAdaptivePool
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuAdaptivePool()


class TestCpuAdaptivePool(SketchConformance):
    sketch = SKETCH
    operators = (
        adaptive_pool2d(c=3, h=13, w=19, output_size=(6, 7)),
        adaptive_pool2d(n=2, c=5, h=7, w=40, output_size=3, kind="max"),
        adaptive_pool2d(c=2, h=5, w=3, output_size=(2, 70)),
        adaptive_pool2d(c=2, h=11, w=17, output_size=(4, 1), dtype="bfloat16"),
    )


@st.composite
def pools(draw: st.DrawFn) -> AdaptivePool2d:
    return adaptive_pool2d(
        n=draw(st.integers(1, 2)),
        c=draw(st.sampled_from((1, 3, 16))),
        h=draw(st.integers(1, 20)),
        w=draw(st.sampled_from((1, 2, 5, 7, 14, 17, 33, 50))),
        output_size=draw(st.tuples(st.integers(1, 9), st.integers(1, 9))),
        kind=draw(st.sampled_from(("max", "avg"))),
        dtype=draw(st.sampled_from(("float32", "float32", "float64", "float16", "bfloat16"))),
    )


@examples(40)
@given(operator=pools(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(
    target: Target, operator: AdaptivePool2d, seed: int
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


def test_estimates_prefer_what_is_faster() -> None:
    operator = adaptive_pool2d(c=256, h=60, w=61, output_size=7)
    target = Target(mcpu="haswell", cores=2)
    good = SKETCH.default(operator, target)
    for changes in ({"lanes": 4}, {"shared": False}):
        expected, other = (
            SKETCH.estimate(operator, target, c) for c in (good, good.replace(**changes))
        )
        assert expected is not None
        assert other is not None
        assert 0 < expected < other


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    operator = adaptive_pool2d(c=2, h=5, w=5, output_size=2)
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    assert not SKETCH.supports(operator, Target("cuda", arch="sm_90"))
    with pytest.raises(UsageError, match=r"\Asketch cpu_adaptive_pool is for adaptive_pool2d"):
        SKETCH.space(matmul(m=4, n=4, k=4), Target())
