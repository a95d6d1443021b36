"""Hypothesis strategies that draw small operators, odd sizes among them."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, operator

_SIZES = st.sampled_from((1, 2, 3, 4, 7, 13))
_CHANNELS = st.sampled_from((1, 2, 3, 5))
_TAPS = st.integers(1, 4)
_LAYOUTS = st.sampled_from(("NCHW", "NHWC"))
FLOATS = ("float32", "float64", "float16", "bfloat16")
ALL_TYPES = (*FLOATS, "int8")


def paddings(most: int) -> st.SearchStrategy[Any]:
    """Padding of up to ``most`` rows and columns, the same on opposite sides or not."""
    side = st.integers(0, most)
    return st.tuples(side, side) | st.tuples(side, side, side, side)


def _pair(values: st.SearchStrategy[int]) -> st.SearchStrategy[int | tuple[int, int]]:
    return values | st.tuples(values, values)


_EPILOGUE = {
    "bias": st.booleans(),
    "relu": st.booleans(),
    "residual": st.booleans(),
    "constant_weights": st.booleans(),
    "dtype": st.sampled_from(ALL_TYPES),
}
_IMAGE = {"n": st.integers(1, 2), "h": _SIZES, "w": _SIZES}
_STEPS = {"kernel": _pair(_TAPS), "stride": _pair(st.integers(1, 3))}
_WINDOW = _STEPS | {"padding": paddings(2)}
_DILATED = _WINDOW | {"dilation": _pair(st.integers(1, 2)), "layout": _LAYOUTS}
_ROWS: dict[str, st.SearchStrategy[Any]] = {
    "m": _SIZES,
    "n": _SIZES,
    "dtype": st.sampled_from(FLOATS),
}
_CELL: dict[str, st.SearchStrategy[Any]] = {
    "steps": st.integers(1, 3),
    "b": _CHANNELS,
    "units": _SIZES,
    "reverse": st.booleans(),
    "constant_weights": st.booleans(),
    "dtype": st.sampled_from(FLOATS),
}

# Of one post-op of each kind, so that any two of them are right for any inputs.
_POST_OPS = st.lists(
    st.sampled_from(
        (
            "relu",
            "affine:-0.5:2",
            "silu",
            "scale",
            "shift",
            "multiply",
            "subtract",
            "maximum",
            "exp",
        )
    ),
    min_size=1,
    max_size=3,
).filter(lambda names: names.count("exp") < 3)

# Some of those that may follow products, for they do not make errors grow, and for all floats.
_AFTER_PRODUCTS = st.lists(
    st.sampled_from(
        (
            "relu",
            "clip:-0.5:1",
            "leaky_relu",
            "sigmoid",
            "tanh",
            "silu",
            "hard_sigmoid",
            "hard_swish",
            "affine:-0.5:2",
            "scale",
            "shift",
            "multiply",
            "add",
            "subtract",
            "maximum",
            "minimum",
            "negative",
            "abs",
        )
    ),
    max_size=3,
)

_OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "matmul": {"m": _SIZES, "n": _SIZES, "k": _SIZES, **_EPILOGUE},
    "dense": {"m": _SIZES, "n": _SIZES, "k": _SIZES, **_EPILOGUE},
    "batch_matmul": {
        "b": _SIZES,
        "m": _SIZES,
        "n": _SIZES,
        "k": _SIZES,
        "transpose": st.sampled_from(("NN", "NT", "TN")),
        **_EPILOGUE,
    },
    "depthwise_conv2d": {
        "c": _CHANNELS,
        "multiplier": st.integers(1, 3),
        **_IMAGE,
        **_DILATED,
        **_EPILOGUE,
    },
    "conv2d_transpose": {
        "ci": _CHANNELS,
        "co": _CHANNELS,
        "output_padding": _pair(st.integers(0, 2)),
        "padding": _pair(st.integers(0, 2)),
        **_IMAGE,
        **_STEPS,
        **_EPILOGUE,
    },
    "pool2d": {
        "c": _CHANNELS,
        "ceil_mode": st.booleans(),
        "kind": st.sampled_from(("max", "avg")),
        "count_include_pad": st.booleans(),
        "layout": _LAYOUTS,
        "dtype": st.sampled_from(FLOATS),
        **_IMAGE,
        **_WINDOW,
    },
    "adaptive_pool2d": {
        "c": _CHANNELS,
        "output_size": _pair(st.integers(1, 5)),
        "kind": st.sampled_from(("avg", "max")),
        "dtype": st.sampled_from(FLOATS),
        **_IMAGE,
    },
    "reduce": {
        "outer": _SIZES,
        "n": _SIZES,
        "inner": _SIZES,
        "kind": st.sampled_from(("mean", "sum", "max", "min")),
        "dtype": st.sampled_from(FLOATS),
    },
    "softmax": _ROWS,
    "layer_norm": _ROWS,
    "elementwise": {
        "n": _SIZES,
        "c": _CHANNELS,
        "inner": _SIZES,
        "post_ops": _POST_OPS.map("+".join),
        "dtype": st.sampled_from(FLOATS),
    },
    "embedding": {
        "n": _SIZES,
        "rows": _SIZES,
        "width": _SIZES,
        "index_dtype": st.sampled_from(("int32", "int64")),
        "dtype": st.sampled_from(ALL_TYPES),
    },
    "lstm": _CELL,
    "gru": _CELL,
}


@st.composite
def _conv2d(draw: st.DrawFn) -> dict[str, Any]:
    groups = draw(st.integers(1, 3))
    options = st.fixed_dictionaries({**_IMAGE, **_DILATED, **_EPILOGUE})
    channels = {"ci": groups * draw(st.integers(1, 3)), "co": groups * draw(st.integers(1, 3))}
    return draw(options) | channels | {"groups": groups}


@st.composite
def operators(draw: st.DrawFn, name: str) -> Operator:
    """A small operator called ``name``; options that do not fit together are drawn again."""
    options = _conv2d() if name == "conv2d" else st.fixed_dictionaries(_OPTIONS[name])
    drawn = draw(options)
    if drawn.keys() >= _EPILOGUE.keys() and drawn["dtype"] in FLOATS:
        drawn["post_ops"] = "+".join(draw(_AFTER_PRODUCTS))
    try:
        return operator(name, **drawn)
    except UsageError:
        assume(False)
        raise


NAMES = ("conv2d", *_OPTIONS)
any_operator: st.SearchStrategy[Operator] = st.sampled_from(NAMES).flatmap(operators)
