"""Operands of elementwise operations: tensors of the same shape, and numbers per channel."""

from __future__ import annotations

import pytest

from tunesmith.networks.layers.post_ops import Channels, channels_along


@pytest.mark.parametrize(
    ("operand", "shape", "channels"),
    [
        # A bias of images, and a number for each image and channel.
        ((1, 8, 1, 1), (2, 8, 5, 7), Channels(2, 8, 35)),
        ((2, 8, 1, 1), (2, 8, 5, 7), Channels(1, 16, 35)),
        ((8, 1, 1), (2, 8, 5, 7), Channels(2, 8, 35)),
        ((8, 1, 1), (1, 8, 1, 1), Channels(1, 8, 1)),
        # Along the last axis, for each row, and for all there is.
        ((6,), (2, 3, 6), Channels(6, 6, 1)),
        ((2, 3, 1), (2, 3, 6), Channels(1, 6, 6)),
        ((3, 6), (2, 3, 6), Channels(2, 18, 1)),
        ((2, 3, 6), (2, 3, 6), Channels(1, 36, 1)),
        # One number for all.
        ((), (2, 3, 6), Channels(1, 1, 36)),
        ((1, 1, 1), (2, 3, 6), Channels(1, 1, 36)),
        # A number for each image and pixel, another extent, more axes.
        ((2, 1, 5, 7), (2, 8, 5, 7), None),
        ((4,), (2, 3, 6), None),
        ((1, 2, 3, 6), (2, 3, 6), None),
    ],
)
def test_channels_are_neighbouring_axes(
    operand: tuple[int, ...], shape: tuple[int, ...], channels: Channels | None
) -> None:
    assert channels_along(operand, shape) == channels
