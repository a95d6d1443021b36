"""The sketch of LSTM and GRU: any cell and any config computes the reference."""

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
from tunesmith.operators import Operator, gru, lstm, matmul
from tunesmith.sketches.cpu.recurrent.sketch import CpuRecurrent
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuRecurrent()


class TestCpuRecurrent(SketchConformance):
    sketch = SKETCH
    operators = (
        lstm(units=1),
        lstm(b=2, units=37, constant_weights=True),
        lstm(steps=3, b=3, units=13, reverse=True, dtype="bfloat16", constant_weights=True),
        gru(b=5, units=18, dtype="float64"),
        gru(steps=4, units=40, constant_weights=True),
    )


@st.composite
def cells(draw: st.DrawFn) -> Operator:
    options: dict[str, Any] = {
        "steps": draw(st.integers(1, 4)),
        "b": draw(st.integers(1, 7)),
        "units": draw(st.sampled_from((1, 2, 3, 7, 16, 19, 33, 50, 131))),
        "reverse": draw(st.booleans()),
        "constant_weights": draw(st.booleans()),
        "dtype": draw(st.sampled_from(FLOATS)),
    }
    return lstm(**options) if draw(st.booleans()) else gru(**options)


@examples(40)
@given(operator=cells(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(target: Target, operator: Operator, seed: int) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@each_target
def test_an_estimate_grows_with_steps_and_shrinks_with_cores(target: Target) -> None:
    operator = lstm(steps=10, units=650, constant_weights=True)
    target = Target(mcpu=target.processor, cores=4)
    default = SKETCH.default(operator, target)
    one, ten = (
        SKETCH.estimate(replace(operator, steps=steps), target, default) or 0.0 for steps in (1, 10)
    )
    assert ten == pytest.approx(10 * one)
    alone = SKETCH.estimate(operator, target, default.replace(column_parts=1)) or 0.0
    assert alone > 2 * ten


def test_other_operators_are_refused() -> None:
    with pytest.raises(UsageError, match="sketch cpu_recurrent is for lstm and gru"):
        SKETCH.space(matmul(m=2, n=2, k=2), Target())
