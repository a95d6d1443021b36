"""How much the weights of a network may grow, and for what."""

from __future__ import annotations

import pytest

from tunesmith.networks.build.growth import Option
from tunesmith.networks.build.weights_limit import Use, WeightsLimit
from tunesmith.operators import dense
from tunesmith.target import Target
from tunesmith.task import Task

TASK = Task(dense(n=64, k=64, constant_weights=True))
BYTES = 64 * 64 * 4


@pytest.mark.parametrize(
    ("growth", "seconds", "chosen"),
    [
        (4.0, 0.90, 1),
        (4.0, 0.97, 0),  # too little for three times the memory
        (2.5, 0.50, 0),
        (1.0, 0.50, 0),
    ],
)
def test_more_than_twice_the_memory_must_pay(growth: float, seconds: float, chosen: int) -> None:
    limit = WeightsLimit({TASK: Use()}, BYTES, Target(), growth)
    options = [Option(1.0, BYTES), Option(seconds, 3 * BYTES)]
    assert limit.fastest([options]) == [chosen]


def test_what_is_too_large_is_refused() -> None:
    limit = WeightsLimit({TASK: Use()}, BYTES, Target(), 4.0)
    assert limit.fastest([[Option(1.0, 5 * BYTES)]]) is None
    only_large = [Option(1.0, 3 * BYTES), Option(0.99, 4 * BYTES)]
    assert limit.fastest([only_large]) == [1], "there is nothing of twice the memory"
