"""Options from the command line, and the list of what there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.operators.strategies import any_operator
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Operator,
    conv2d,
    describe_operators,
    layer_norm,
    matmul,
    operator_class,
    operator_names,
    parse_operator,
    pool2d,
)


def test_text_becomes_options() -> None:
    given_text = {
        "n": "1",
        "ci": "128",
        "h": "28",
        "w": "28",
        "co": "256",
        "k": "1",
        "stride": "2x1",
        "padding": "0, 1",
        "relu": True,
        "bias": "false",
        "layout": None,
    }
    assert parse_operator("conv2d", given_text) == conv2d(
        ci=128, h=28, w=28, co=256, kernel=1, stride=(2, 1), padding=(0, 1), relu=True
    )
    assert parse_operator("layer_norm", {"m": "2", "n": "3", "eps": "1e-6"}) == layer_norm(
        m=2, n=3, eps=1e-6
    )


def test_k_is_the_kernel_only_where_no_option_is_called_k() -> None:
    assert parse_operator("matmul", {"m": "2", "n": "3", "k": "4"}) == matmul(m=2, n=3, k=4)
    pooled = parse_operator("pool2d", {"c": "2", "h": "8", "w": "8", "k": "3x2"})
    assert pooled == pool2d(c=2, h=8, w=8, kernel=(3, 2))


@given(op=any_operator)
def test_a_key_is_made_of_what_the_command_line_takes(op: Operator) -> None:
    inside = op.key[len(op.name) + 1 : -1]
    options = dict(pair.split("=") for pair in inside.split(","))
    assert parse_operator(op.name, options) == op


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("matmul", {"m": "two", "n": "3", "k": "4"}, ["m must be a positive integer", "'two'"]),
        ("matmul", {"m": "9" * 5000, "n": "3", "k": "4"}, ["m must be a positive integer"]),
        ("matmul", {"m": "2", "n": "3", "k": ""}, ["k must be a positive integer", "''"]),
        ("matmul", {"m": "2", "n": None, "k": "4"}, ["matmul also needs n"]),
        ("matmul", {"m": "2", "n": "3", "k": "4", "relu": "maybe"}, ["relu must be true or false"]),
        ("matmul", {"m": "2", "n": "3", "kernel": "4"}, ["unknown option of matmul 'kernel'"]),
        ("pool2d", {"c": "2", "h": "8", "w": "8", "kernel": "3x3x3"}, ["kernel must be"]),
        ("pool2d", {"c": "2", "h": "8", "w": "8", "kernel": "3xa"}, ["kernel must be"]),
        ("pool2d", {"c": "2", "h": "8", "w": "8", "k": "3", "kernel": "3"}, ["given twice"]),
        ("layer_norm", {"m": "2", "n": "8", "eps": "small"}, ["eps must be a positive number"]),
        ("convd", {}, ["unknown operator 'convd'", "conv2d"]),
    ],
)
def test_text_that_means_nothing(name: str, options: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_operator(name, options)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_descriptions_cover_every_operator_and_option() -> None:
    described = describe_operators()
    assert tuple(row.name for row in described) == operator_names()
    for row in described:
        declared = operator_class(row.name).options()
        assert [option.name for option in row.options] == [option.name for option in declared]
        assert all(option.meaning and option.expects for option in row.options)
        assert [o.default is None for o in row.options] == [o.required for o in declared]


def test_the_description_of_an_option_says_all() -> None:
    (row,) = [row for row in describe_operators() if row.name == "conv2d"]
    by_name = {option.name: option for option in row.options}
    assert by_name["kernel"].aliases == ("k",)
    assert by_name["kernel"].default is None
    assert by_name["stride"].default == "1x1"
    assert by_name["layout"].expects == "one of NCHW, NHWC"
    assert by_name["dtype"].default == "float32"
    assert row.summary == "two-dimensional convolution"


@given(op=any_operator)
def test_signatures_name_the_arguments(op: Operator) -> None:
    names = [argument.name for argument in op.arguments]
    told = [text.split()[0] for text in op.signature]
    assert told
    assert told == names[: len(told)]
