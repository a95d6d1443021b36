"""The sketch of softmax and layer norm: any row and any config computes the reference."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import FLOATS
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.measure.trial.verify import find_mismatch
from tunesmith.operators import Operator, layer_norm, matmul, softmax
from tunesmith.sketches.cpu.rows.blocking import Sweep, blocks_of
from tunesmith.sketches.cpu.rows.sketch import CpuRows
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.exponential import exponential
from tunesmith.sketches.tir.registers import Kept
from tunesmith.target import Target
from tunesmith.testing.processors import cpu_targets
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuRows()

OPERATORS: tuple[Operator, ...] = (
    softmax(m=6, n=48),
    softmax(m=1, n=7, dtype="bfloat16"),
    softmax(m=3, n=1100, dtype="float16"),
    softmax(m=5, n=1),
    layer_norm(m=6, n=96),
    layer_norm(m=13, n=13, dtype="float64"),
    layer_norm(m=3, n=2055),
)


class TestCpuRows(SketchConformance):
    sketch = SKETCH
    operators = OPERATORS


@st.composite
def rows(draw: st.DrawFn) -> Operator:
    options: dict[str, Any] = {
        "m": draw(st.integers(1, 9)),
        "n": draw(st.sampled_from((1, 2, 3, 8, 15, 31, 64, 100, 257, 1031, 1536, 2049))),
        "dtype": draw(st.sampled_from(FLOATS)),
    }
    return softmax(**options) if draw(st.booleans()) else layer_norm(**options)


@examples(60)
@given(operator=rows(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(target: Target, operator: Operator, seed: int) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


# -- exp ------------------------------------------------------------------------------------------


def exp_of(values: Any, target: Target) -> Any:
    """exp as the sketch has it, before it is divided by anything."""
    from tunesmith.compiler.compile import compiled
    from tunesmith.operators import Argument

    dtype, lanes = str(values.dtype), target.lanes(str(values.dtype))
    assert values.size % lanes == 0
    made = exponential(dtype)
    arguments = [Argument(name, values.shape, dtype) for name in ("x", "y")]
    with emit.module() as module, emit.function("main", arguments) as (x, y):
        kept = Kept(dtype, lanes)
        with emit.serial(values.size // lanes, "step") as step:
            (power,) = made.of([emit.load(x, [step * lanes], lanes)], lanes, kept)
            emit.store(y, power, [step * lanes], lanes)
    import tvm

    result = tvm.runtime.tensor(np.zeros_like(values))
    compiled(module[0], target.to_tvm())["main"](tvm.runtime.tensor(values), result)
    return np.ldexp(result.numpy().astype(np.longdouble), -made.shift)


@each_target
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_is_within_two_units_in_the_last_place(target: Target, dtype: str) -> None:
    rng = np.random.default_rng(0)
    small = 100.0 if dtype == "float32" else 740.0
    values = -np.concatenate(
        [rng.random(1 << 16), 20 * rng.random(1 << 16), small * rng.random(1 << 16)]
    )
    values = np.concatenate([values, [0.0, -0.0, -1e-30, -1e-44] * 4]).astype(dtype)
    exact = np.exp(values.astype(np.longdouble))
    error = np.abs(exp_of(values, target) - exact) / exact
    assert float(error.max()) < 2 * np.finfo(dtype).eps
    # All but the largest lie far below: a shorter polynomial would not.
    assert float(np.median(error)) < np.finfo(dtype).eps / 2


@each_target
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_of_what_is_no_ordinary_number(target: Target, dtype: str) -> None:
    words: Any = np.uint32 if dtype == "float32" else np.uint64
    strange: Any = np.array([np.inf], dtype).view(words) + words(1)  # a NaN of another make
    values = np.full(target.lanes(dtype) * 2, -1.0, dtype)
    values[:4] = [-np.inf, np.nan, np.finfo(dtype).min, strange.view(dtype)[0]]
    made = exp_of(values, target)
    smallest = float(np.finfo(dtype).smallest_subnormal)
    assert float(made[0]) * 0.5 < smallest
    assert float(made[2]) * 0.5 < smallest
    assert np.isnan(made[[1, 3]].astype(np.float64)).all()


@each_target
@pytest.mark.parametrize("method", ["registers", "passes", "blocks", "again"])
@pytest.mark.parametrize(
    "row",
    ["large", "small", "one large", "infinite below", "all infinite", "NaN", "denormal", "spread"],
)
def test_softmax_of_extreme_rows(target: Target, method: str, row: str) -> None:
    length = 1027 if method == "blocks" else 35
    operator = softmax(m=2, n=length)
    data = np.random.default_rng(0).normal(size=(2, length)).astype(np.float32)
    first = data[0]
    if row == "large":
        first += np.float32(3e38)
    elif row == "small":
        first -= np.float32(3e38)
    elif row == "one large":
        first[length // 2] = 3e38
    elif row == "infinite below":
        first[: length - 5] = -np.inf
    elif row == "all infinite":
        first[:] = -np.inf
    elif row == "NaN":
        first[3] = np.nan
    elif row == "denormal":
        first *= np.float32(1e-42)
    else:
        first[:] = np.linspace(-120, 0, length)
    config = SKETCH.default(operator, target).replace(method=method)
    if method == "blocks":
        config = config.replace(block=512)
    kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
    with np.errstate(invalid="ignore"):
        expected = operator.reference(data)
    # Beside the relative tolerance, half of the smallest number: what rounding to one costs.
    wrong = find_mismatch(np.asarray(kernel(data)), expected, operator.tolerance[0], 1e-45)
    assert wrong is None


# -- rows as vectors ------------------------------------------------------------------------------


@given(length=st.integers(1, 5000), lanes=st.sampled_from((1, 2, 4, 8, 16)))
def test_blocks_cover_a_row_and_hold_a_vector(length: int, lanes: int) -> None:
    for block in (512, 1024):
        if 2 * block > length:
            continue
        count, rest = blocks_of(length, block, lanes)
        assert count * block + rest == length
        assert count >= 1
        assert rest == 0 or rest >= lanes


@given(length=st.integers(1, 300), lanes=st.sampled_from((1, 2, 4, 8, 16)))
def test_vectors_cover_a_row_once_but_for_the_last(length: int, lanes: int) -> None:
    if lanes > length:
        return
    sweep = Sweep(length, lanes, 4)
    covered = [at + lane for at in sweep.starts() for lane in range(lanes)]
    assert set(covered) == set(range(length))
    assert len(covered) - length == (lanes - sweep.fresh) % lanes


def test_estimates_prefer_what_is_faster() -> None:
    operator, target = softmax(m=256, n=1000), Target(mcpu="haswell", cores=2)
    good = SKETCH.default(operator, target)
    narrow = good.replace(lanes=4)
    for worse in (good.replace(method="again"), narrow, good.replace(tasks=1)):
        expected, other = (SKETCH.estimate(operator, target, one) for one in (good, worse))
        assert expected is not None
        assert other is not None
        assert 0 < expected < other


def test_programs_have_no_calls_of_the_c_library() -> None:
    for target, dtype in itertools.product(cpu_targets(), ("float32", "float64")):
        operator = softmax(m=4, n=100, dtype=dtype)
        config = SKETCH.default(operator, target)
        kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
        called = re.findall(r"(?:call|jmp)\w*\s+\*?([\w@]+)", kernel.source("asm"))
        assert "main_compute_" in called
        assert not {"exp", "expf", "exp@PLT", "expf@PLT"} & set(called)


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    with pytest.raises(UsageError, match=r"\Asketch cpu_rows is for softmax and layer_norm"):
        SKETCH.space(matmul(m=4, n=4, k=4), Target())
