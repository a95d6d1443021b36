"""Convolutions for the tests of Winograd's algorithm: plain and transposed, processors and GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tests.operators.strategies import paddings
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Conv2d,
    Conv2dTranspose,
    conv2d,
    conv2d_transpose,
    depthwise_conv2d,
)
from tunesmith.sketches.winograd.tiling import suits_transposed, suits_winograd

OTHERS = (
    conv2d(ci=4, h=8, w=8, co=4, kernel=1),
    conv2d(ci=4, h=9, w=9, co=4, kernel=9),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, stride=3),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, stride=2, dilation=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, dilation=4, padding=1),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, groups=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, dtype="bfloat16"),
    depthwise_conv2d(c=4, h=8, w=8, kernel=3),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=1),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=3, stride=3),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=(3, 1), stride=2),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=9, stride=2),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=(3, 2), padding=(0, 2)),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=4, stride=2, dtype="float64"),
)
"""Operators that it is not for."""

ONLY_ON_PROCESSORS = (
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, stride=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=3, dilation=2),
    conv2d(ci=4, h=8, w=8, co=4, kernel=(3, 1)),
    conv2d(ci=4, h=8, w=8, co=4, kernel=5),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=4, stride=2, padding=1),
    conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=(2, 3), stride=(2, 1)),
)
"""Operators that it is for on processors alone."""


def any_windows() -> st.SearchStrategy[dict[str, Any]]:
    """Those that processors filter: up to 7x7 taps, strides up to 2, dilated ones."""
    taps = st.integers(1, 7)
    steps = st.sampled_from(((1, 1), (1, 2), (1, 3), (2, 1)))  # stride and dilation of an axis
    return st.tuples(taps, taps, steps, steps).map(
        lambda drawn: {
            "kernel": drawn[:2],
            "stride": (drawn[2][0], drawn[3][0]),
            "dilation": (drawn[2][1], drawn[3][1]),
        }
    )


_SQUARE: st.SearchStrategy[dict[str, Any]] = st.just({"kernel": 3})


@st.composite
def convolutions(
    draw: st.DrawFn,
    largest: int = 19,
    channels: Sequence[int] = (1, 2, 3, 7, 16, 17, 33, 40),
    layouts: Sequence[str] = ("NCHW", "NHWC"),
    windows: st.SearchStrategy[dict[str, Any]] = _SQUARE,
) -> Conv2d:
    """Small convolutions that it is for, odd sizes and single channels among them.

    ``windows`` are their kernels, strides and dilations; some leave no output, and are passed over.
    """
    sizes, counts = st.integers(1, largest), st.sampled_from(channels)
    options: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {
            "n": st.integers(1, 2),
            "ci": counts,
            "co": counts,
            "h": sizes,
            "w": sizes,
            "padding": paddings(2),
            "layout": st.sampled_from(layouts),
            **{name: st.booleans() for name in ("bias", "relu", "residual", "constant_weights")},
        }
    )
    try:
        operator = conv2d(**draw(windows), **draw(options))
        assume(suits_winograd(operator))
        return operator
    except UsageError:
        assume(False)
        raise


@st.composite
def transposed_convolutions(draw: st.DrawFn, largest: int = 13) -> Conv2dTranspose:
    """Small transposed convolutions that it is for: tiles that begin before the image, end behind
    it or are larger; turns with equally many taps, and with different ones."""
    sizes, counts = st.integers(1, largest), st.sampled_from((1, 3, 8, 17, 24))
    pair = st.tuples(st.integers(1, 7), st.integers(1, 7))
    strides = st.sampled_from(((2, 2), (2, 2), (1, 1), (1, 2)))
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "ci": draw(counts),
        "co": draw(counts),
        "h": draw(sizes),
        "w": draw(sizes),
        "kernel": draw(st.sampled_from(((4, 4), (3, 3), (2, 2))) | pair),
        "stride": draw(strides),
        "padding": draw(st.tuples(st.integers(0, 3), st.integers(0, 3))),
        "output_padding": draw(st.tuples(st.integers(0, 1), st.integers(0, 1))),
    }
    options |= {
        name: draw(st.booleans()) for name in ("bias", "relu", "residual", "constant_weights")
    }
    try:
        operator = conv2d_transpose(**options)
        assume(suits_transposed(operator))
        return operator
    except UsageError:
        assume(False)
        raise
