"""Random configs of random small operators: odd sizes, layouts, strides, epilogues, types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import NAMES, operators
from tests.properties import examples
from tunesmith.sketches import sketch_for
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch

TARGET = Target()


# Each example is a build: nine operators make about fifty in all.
@pytest.mark.parametrize("name", NAMES)
@examples(6)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_program_of_any_config_computes_the_reference(
    name: str, data: st.DataObject, seed: int
) -> None:
    operator = data.draw(operators(name))
    sketch = sketch_for(operator, TARGET)
    config = sketch.space(operator, TARGET).sample(np.random.default_rng(seed))
    wrong = mismatch(sketch, operator, config, TARGET)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"
