"""What no operator covers: right, in vectors, and on all cores where that is worth it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.networks.small import random_input, result_of, torch
from tunesmith.networks import from_torch
from tunesmith.networks.build.fallback import scheduled_for_cpu


class Gate(torch.nn.Module):  # type: ignore[misc]
    """Images times a number for each pixel, made of one channel, and a softmax of the channels."""

    def forward(self, data: Any) -> Any:
        return data * torch.cos(data[:, :1]), data.softmax(1)


@pytest.mark.parametrize("size", [1, 5, 32])
def test_stages_are_right_whatever_their_sizes(size: int) -> None:
    data = random_input(2, 3, size, size + 1)
    network = from_torch(Gate(), data)
    assert not network.layers
    for found, expected in zip(network.built({})(data), result_of(Gate(), data), strict=True):
        torch.testing.assert_close(found, expected)


def scheduled(shape: tuple[int, ...]) -> str:
    """``tanh(data + 1)`` of a shape, as it is scheduled."""
    import tvm
    from tvm import te

    data = te.placeholder(shape, name="data")
    added = te.compute(shape, lambda *index: data(*index) + 1, name="added")
    result = te.compute(shape, lambda *index: te.tanh(added(*index)), name="result")
    module = tvm.IRModule({"main": te.create_prim_func([data, result])})
    return str(scheduled_for_cpu()(module)["main"])


def test_elementwise_stages_are_one_loop() -> None:
    text = scheduled((64, 1024))
    assert text.count("T.sblock(") == 2, "the root and one stage"
    assert "T.vectorized(16)" in text
    assert "T.parallel(4096)" in text


def test_few_elements_stay_on_one_core() -> None:
    text = scheduled((8, 8))
    assert "T.parallel" not in text
    assert "T.vectorized(16)" in text


def test_odd_sizes_have_no_vectors() -> None:
    assert "T.vectorized" not in scheduled((7, 9))
