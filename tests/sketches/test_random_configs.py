"""Random configs of random small operators: odd sizes, layouts, strides, epilogues, types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import NAMES, operators
from tests.processors import any_target
from tests.properties import examples
from tunesmith.sketches import sketch_for
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch


# Each example is a build: nine operators make about fifty in all.
@pytest.mark.parametrize("name", NAMES)
@examples(6)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_the_program_of_any_config_computes_the_reference(
    name: str, data: st.DataObject, seed: int, target: Target
) -> None:
    operator = data.draw(operators(name))
    sketch = sketch_for(operator, target)
    config = sketch.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(sketch, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"
