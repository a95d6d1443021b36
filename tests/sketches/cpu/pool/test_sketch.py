"""The sketch of pooling: any window, layout and tile computes the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.operators.strategies import paddings
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Pool2d, matmul, pool2d
from tunesmith.sketches.cpu.pool.sketch import CpuPool
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuPool()
OPERATORS = (
    pool2d(c=3, h=23, w=37, kernel=3, stride=2, padding=1),
    pool2d(n=2, c=3, h=14, w=40, kernel=2, stride=2, kind="avg"),
    pool2d(c=5, h=9, w=9, kernel=3, padding=1, kind="avg", count_include_pad=False),
    pool2d(c=19, h=7, w=7, kernel=7, kind="avg"),
    pool2d(c=3, h=2, w=3, kernel=(2, 3)),
    pool2d(c=19, h=9, w=11, kernel=3, stride=2, padding=1, layout="NHWC", kind="avg"),
    pool2d(c=3, h=14, w=38, kernel=3, stride=2, kind="avg", ceil_mode=True),
    pool2d(c=3, h=14, w=38, kernel=3, stride=2, padding=(0, 0, 1, 1)),
    pool2d(c=4, h=15, w=33, kernel=(3, 5), stride=(1, 3), padding=(1, 2), dtype="float64"),
)


class TestCpuPool(SketchConformance):
    sketch = SKETCH
    operators = OPERATORS


@st.composite
def pools(draw: st.DrawFn) -> Pool2d:
    pair = st.tuples(st.integers(1, 4), st.integers(1, 4))
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "c": draw(st.sampled_from((1, 3, 16, 19))),
        "h": draw(st.integers(1, 20)),
        "w": draw(st.sampled_from((1, 2, 5, 7, 14, 17, 33, 50))),
        "kernel": draw(pair),
        "stride": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "padding": draw(paddings(2)),
        "kind": draw(st.sampled_from(("max", "avg"))),
        "count_include_pad": draw(st.booleans()),
        "ceil_mode": draw(st.booleans()),
        "layout": draw(st.sampled_from(("NCHW", "NHWC"))),
        "dtype": draw(st.sampled_from(("float32", "float64"))),
    }
    if draw(st.booleans()):
        options |= {"kernel": (options["h"], options["w"]), "padding": (0, 0)}
    try:
        operator = pool2d(**options)
    except UsageError:
        assume(False)
        raise
    assume(SKETCH.supports(operator, Target()))
    return operator


@examples(60)
@given(operator=pools(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(target: Target, operator: Pool2d, seed: int) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@each_target
@pytest.mark.parametrize("edges", ["peeled", "masked"])
def test_padding_is_below_any_number(target: Target, edges: str) -> None:
    operator = pool2d(c=2, h=9, w=21, kernel=3, stride=2, padding=1)
    data = np.full((1, 2, 9, 21), -np.inf, np.float32)
    config = SKETCH.default(operator, target).replace(edges=edges)
    kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
    assert np.array_equal(np.asarray(kernel(data)), operator.reference(data))


def test_estimates_prefer_what_is_faster() -> None:
    operator = pool2d(c=64, h=56, w=56, kernel=3, stride=2, padding=1)
    target = Target(mcpu="haswell", cores=2)
    good = SKETCH.default(operator, target)
    for changes in ({"first": "columns"}, {"lanes": 2}):
        expected, other = (
            SKETCH.estimate(operator, target, c) for c in (good, good.replace(**changes))
        )
        assert expected is not None
        assert other is not None
        assert 0 < expected < other


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    assert not SKETCH.supports(pool2d(c=2, h=4, w=4, kernel=2, dtype="float16"), Target())
    assert not SKETCH.supports(pool2d(c=2, h=80, w=80, kernel=60), Target())
    with pytest.raises(UsageError, match=r"\Asketch cpu_pool is for pool2d"):
        SKETCH.space(matmul(m=4, n=4, k=4), Target())
