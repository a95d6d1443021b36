"""Convolutions for the tests of Winograd's algorithm, on processors and GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tunesmith.errors import UsageError
from tunesmith.operators import Conv2d, conv2d, depthwise_conv2d

OTHERS = (
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, stride=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, dilation=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, groups=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=(3, 1)),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, dtype="bfloat16"),
    depthwise_conv2d(c=4, h=8, w=8, kernel=3),
)
"""Operators that it is not for."""


@st.composite
def convolutions(
    draw: st.DrawFn,
    largest: int = 19,
    channels: Sequence[int] = (1, 2, 3, 7, 16, 17, 33, 40),
    layouts: Sequence[str] = ("NCHW", "NHWC"),
) -> Conv2d:
    """Small convolutions that it is for, odd sizes and single channels among them."""
    sizes, counts = st.integers(1, largest), st.sampled_from(channels)
    options: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {
            "n": st.integers(1, 2),
            "ci": counts,
            "co": counts,
            "h": sizes,
            "w": sizes,
            "padding": st.tuples(st.integers(0, 2), st.integers(0, 2)),
            "layout": st.sampled_from(layouts),
            **{name: st.booleans() for name in ("bias", "relu", "residual", "constant_weights")},
        }
    )
    try:
        return conv2d(kernel=3, **draw(options))
    except UsageError:
        assume(False)
        raise
