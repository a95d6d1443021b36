"""Options that cannot be: each is a one-line ``UsageError`` that says what to do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, matmul, operator

_CONV: dict[str, Any] = {"ci": 4, "h": 8, "w": 8, "co": 4, "kernel": 3}
_DEPTHWISE: dict[str, Any] = {"c": 4, "h": 8, "w": 8, "kernel": 3}
_MATMUL: dict[str, Any] = {"m": 2, "n": 3, "k": 4}


def _complaint(name: str, options: dict[str, Any]) -> str:
    with pytest.raises(UsageError) as caught:
        operator(name, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("matmul", _MATMUL | {"m": 0}, ["matmul", "m must be a positive integer", "0"]),
        ("matmul", _MATMUL | {"k": -4}, ["k must be a positive integer", "-4"]),
        ("matmul", _MATMUL | {"n": 2.5}, ["n must be a positive integer", "2.5"]),
        ("matmul", _MATMUL | {"n": True}, ["n must be a positive integer", "True"]),
        (
            "matmul",
            _MATMUL | {"n": np.zeros((20, 20))},
            ["n must be a positive integer, not array"],
        ),
        ("matmul", _MATMUL | {"bias": 1}, ["bias must be true or false"]),
        ("conv2d", _CONV | {"kernel": 9}, ["kernel covers 9x9", "padded input's 8x8"]),
        ("conv2d", _CONV | {"kernel": (1, 9)}, ["covers 1x9"]),
        ("conv2d", _CONV | {"kernel": 5, "dilation": 2}, ["covers 9x9", "dilation smaller"]),
        ("conv2d", _CONV | {"kernel": 0}, ["kernel must be", "positive"]),
        ("conv2d", _CONV | {"kernel": (3, 3, 3)}, ["kernel must be one or two"]),
        ("conv2d", _CONV | {"stride": 0}, ["stride must be"]),
        ("conv2d", _CONV | {"padding": -1}, ["padding must be", ">= 0"]),
        ("conv2d", _CONV | {"groups": 3}, ["groups=3 must divide ci=4 and co=4"]),
        ("conv2d", _CONV | {"layout": "NCWH"}, ["layout", "NCWH", "did you mean NCHW"]),
        ("conv2d", _CONV | {"dtype": "float23"}, ["dtype", "did you mean float32", "int8"]),
        ("depthwise_conv2d", _DEPTHWISE | {"kernel": 11, "padding": 1}, ["11x11", "10x10"]),
        ("depthwise_conv2d", _DEPTHWISE | {"multiplier": 0}, ["multiplier must be"]),
        ("conv2d_transpose", _CONV | {"output_padding": 1}, ["output_padding", "stride"]),
        ("conv2d_transpose", _CONV | {"padding": 5}, ["padding (5, 5)", "0x0 are left"]),
        ("pool2d", _DEPTHWISE | {"padding": 3}, ["padding (3, 3)", "large for kernel (3, 3)"]),
        (
            "pool2d",
            _DEPTHWISE | {"padding": (0, 0, 0, 3)},
            ["padding (0, 0, 0, 3)", "nothing else"],
        ),
        ("conv2d", _CONV | {"padding": (1, 2, 3)}, ["one, two or four integers", "(1, 2, 3)"]),
        ("pool2d", _DEPTHWISE | {"kernel": 9}, ["covers 9x9"]),
        ("pool2d", _DEPTHWISE | {"kind": "average"}, ["one of max, avg", "'average'"]),
        ("batch_matmul", _MATMUL | {"b": 2, "transpose": "TT"}, ["one of NN, NT, TN"]),
        ("softmax", {"m": 2, "n": 3, "dtype": "int8"}, ["one of float32", "'int8'"]),
        ("layer_norm", {"m": 2, "n": 3, "eps": 0}, ["eps must be a positive number"]),
        ("layer_norm", {"m": 2, "n": 3, "eps": float("nan")}, ["eps must be a positive number"]),
        ("elementwise", {"inner": 3}, ["elementwise also needs post_ops"]),
        ("elementwise", {"inner": 3, "post_ops": ""}, ["post_ops is empty", "such as relu"]),
        (
            "elementwise",
            {"inner": 3, "post_ops": "gelu", "dtype": "float64"},
            ["elementwise: post-op gelu is for float32"],
        ),
        ("matmul", {"m": 50_000, "n": 50_000, "k": 1}, ["output (50000, 50000)", "2^31"]),
        ("matmul", {"m": 2, "n": 3}, ["matmul also needs k"]),
        ("conv2d", {"ci": 3, "kernel": 3}, ["conv2d also needs h, w, co"]),
        ("conv2d", _CONV | {"paddding": 1}, ["option of conv2d 'paddding'", "mean padding"]),
        ("conv2", _CONV, ["unknown operator 'conv2'", "conv2d"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_impossible_options(name: str, options: dict[str, Any], parts: list[str]) -> None:
    message = _complaint(name, options)
    for part in parts:
        assert part in message


_ANYTHING = st.one_of(
    st.integers(-3, 9),
    st.floats(),
    st.none(),
    st.text("12x, a\n", max_size=4),
    st.booleans(),
    st.lists(st.integers(-2, 4), max_size=3),
)


@given(changes=st.dictionaries(st.sampled_from([*_CONV, "stride", "padding", "groups"]), _ANYTHING))
def test_any_value_gives_an_operator_or_a_usage_error(changes: dict[str, Any]) -> None:
    try:
        made = operator("conv2d", **(_CONV | changes))
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(made, Operator)
        assert min(made.result.shape) >= 1


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {"m": 3}, "matmul also needs n, k"),
        ([], _MATMUL | {"rely": True}, "unknown option of matmul 'rely': did you mean relu"),
        (
            [1, 2, 3],
            {},
            "matmul takes its options by name: "
            "m, n, k, bias, relu, residual, post_ops, constant_weights, dtype",
        ),
    ],
)
def test_python_is_told_as_the_command_line_is(
    values: list[Any], options: dict[str, Any], message: str
) -> None:
    """Where Python itself would raise a TypeError."""
    with pytest.raises(UsageError) as caught:
        matmul(*values, **options)
    assert str(caught.value).startswith(message)


def test_checked_operators_can_be_copied_and_sent() -> None:
    made = matmul(m=1, n=2, k=3)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert dataclasses.replace(made, m=4) == matmul(m=4, n=2, k=3)
