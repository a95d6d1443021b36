"""The CPU sketch of elementwise chains: any shape, chain and config computes the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import FLOATS
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.operators import POST_OPS, Elementwise, elementwise, matmul
from tunesmith.sketches.cpu.elementwise.program import Blocking, Rows, Sharing
from tunesmith.sketches.cpu.elementwise.sketch import CpuElementwise
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuElementwise()
NUMBERS = {"clip": ":-0.5:1", "affine": ":0.25:-2", "power": ":-1.5"}


class TestCpuElementwise(SketchConformance):
    sketch = SKETCH
    operators = (
        elementwise(inner=1, post_ops="relu"),
        elementwise(inner=1000, post_ops="add+gelu+multiply"),
        elementwise(n=2, c=5, inner=49, post_ops="scale+shift+silu+add"),
        elementwise(n=7, c=37, inner=1, post_ops="shift+tanh+subtract"),
        elementwise(n=2, c=3, inner=65, post_ops="scale+hard_swish", dtype="bfloat16"),
        elementwise(c=3, inner=300, post_ops="divide+shift+rsqrt", dtype="float16"),
        elementwise(c=3, inner=70, post_ops="exp+maximum", dtype="float64"),
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", POST_OPS.names())
@each_target
def test_each_post_op_computes_its_reference(target: Target, name: str, dtype: str) -> None:
    if dtype not in POST_OPS.get(name).dtypes:
        pytest.skip(f"{name} is not for {dtype}")
    post_ops = name + NUMBERS.get(name, "")
    operator = elementwise(n=2, c=3, inner=37, post_ops=post_ops, dtype=dtype)
    assert mismatch(SKETCH, operator, SKETCH.default(operator, target), target) is None


@st.composite
def chains(draw: st.DrawFn) -> Elementwise:
    # An exponential of a large number makes any error before it as many times as large.
    exp = "clip:-0.5:0.5+exp"
    names = st.sampled_from(("clip:-0.5:0.5", "silu", "scale", "shift", "multiply", "add", exp))
    return elementwise(
        n=draw(st.sampled_from((1, 2, 5))),
        c=draw(st.sampled_from((1, 3, 16, 19))),
        inner=draw(st.sampled_from((1, 2, 7, 16, 49, 200))),
        post_ops="+".join(draw(st.lists(names, min_size=1, max_size=4))),
        dtype=draw(st.sampled_from(FLOATS)),
    )


@examples(40)
@given(operator=chains(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(
    target: Target, operator: Elementwise, seed: int
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@given(
    count=st.integers(1, 40),
    length=st.integers(1, 400),
    unroll=st.sampled_from((1, 2, 4)),
    tasks=st.sampled_from((1, 2, 4, 16)),
)
def test_tasks_cover_all_rows(count: int, length: int, unroll: int, tasks: int) -> None:
    sharing = Sharing.of(Rows(count, length), Blocking(1, unroll, tasks))
    assert sharing.rows <= count
    assert sharing.length <= length
    if sharing.bands == 1:
        assert sharing.length == length
        assert (sharing.tasks - 1) * sharing.rows < count <= sharing.tasks * sharing.rows
    else:
        assert sharing.tasks == count * sharing.bands
        assert (sharing.bands - 1) * sharing.length < length <= sharing.bands * sharing.length


def test_rows_are_what_a_number_per_channel_is_for() -> None:
    plain = elementwise(n=2, c=3, inner=5, post_ops="relu")
    assert Rows.of(plain) == Rows(1, 30)
    assert Rows.of(replace(plain, post_ops="scale")) == Rows(6, 5)
    assert Rows.of(replace(plain, inner=1, post_ops="scale")) == Rows(2, 3, along=True)


@each_target
def test_long_chains_are_not_written_out_several_times(target: Target) -> None:
    """Each post-op uses its value twice: written out as one expression it would double each."""
    operator = elementwise(inner=target.lanes("float32"), post_ops="+".join(["silu"] * 12))
    default = SKETCH.default(operator, target)
    assert mismatch(SKETCH, operator, default, target) is None
    assert SKETCH.program(operator, target, default).script().count("T.sigmoid") == 12


@each_target
def test_few_elements_stay_on_one_core(target: Target) -> None:
    target = Target(mcpu=target.processor, cores=4)
    for elements, tasks in ((1000, 1), (1_000_000, 4)):
        operator = elementwise(inner=elements, post_ops="add+relu")
        assert dict(SKETCH.default(operator, target))["tasks"] == tasks


def test_estimates_prefer_what_is_faster() -> None:
    target = Target(mcpu="haswell", cores=2)

    def seconds(operator: Elementwise, **changes: Any) -> float:
        config = SKETCH.default(operator, target).replace(**changes)
        found = SKETCH.estimate(operator, target, config)
        assert found is not None
        return found

    small, large = (elementwise(inner=n, post_ops="silu") for n in (512, 2**20))
    assert seconds(small, tasks=1) < seconds(small, tasks=2)
    assert seconds(large, tasks=2) < seconds(large, tasks=1)
    assert seconds(large, lanes=8) < seconds(large, lanes=4)
    # The traffic of a further operand, and the arithmetic of a further function.
    assert seconds(large) < seconds(replace(large, post_ops="silu+gelu"))
    add, two = (elementwise(inner=2**24, post_ops=text) for text in ("relu", "add+relu"))
    assert 1.2 < seconds(two) / seconds(add) < 2


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    with pytest.raises(UsageError, match=r"\Asketch cpu_elementwise is for elementwise"):
        SKETCH.space(matmul(m=4, n=4, k=4), Target())
