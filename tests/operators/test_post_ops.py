"""Post-ops: as text, and their formulas against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.plug_ins import offer
from tunesmith.errors import UsageError
from tunesmith.operators import (
    POST_OPS,
    Operand,
    PostOp,
    dense,
    elementwise,
    operator_from_json,
    post_ops,
)
from tunesmith.operators._base.arithmetic import NumpyArithmetic

HALVED = PostOp("halved", "half of it", lambda arithmetic, x: x * arithmetic.number(0.5), 1)


def test_text_has_all_numbers_in_the_shortest_form() -> None:
    operator = dense(n=4, k=5, post_ops="leaky_relu+ clip:0.0:6.0 +affine:1e20")
    assert operator.post_ops == "leaky_relu:0.01+clip:0:6+affine:1e20:0"
    assert operator_from_json(operator.to_json()) == operator


def test_keys_without_post_ops_are_those_of_before() -> None:
    assert "post_ops" not in dense(n=4, k=5).key
    assert "post_ops=silu," in dense(n=4, k=5, post_ops="silu").key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("silly", "dense: post_ops: unknown post-op 'silly': did you mean silu?"),
        ("clip:1", "dense: post_ops: post-op clip lacks high: give clip:low:high"),
        ("clip:0:x", "dense: post_ops: post-op clip: high must be a number, not x"),
        ("silu:3", "dense: post_ops: post-op silu takes 0 numbers: 1"),
    ],
)
def test_bad_text_gets_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        dense(n=4, k=5, post_ops=text)
    assert str(refused.value) == message


def test_a_value_that_is_no_text() -> None:
    with pytest.raises(UsageError, match="dense: post_ops must be post-ops such as clip:0:6"):
        dense(n=4, k=5, post_ops=3)  # type: ignore[arg-type]


def test_operations_count() -> None:
    plain = dense(m=2, n=4, k=5, bias=True)
    assert dense(m=2, n=4, k=5, bias=True, post_ops="clip:0:6+multiply").flops == plain.flops + 24


def test_a_package_adds_one(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "tunesmith.post_ops", {"halved": f"{__name__}:HALVED"})
    assert POST_OPS.names()[-1] == "halved"
    data, weight = (operator := dense(n=4, k=5, post_ops="halved")).make_inputs(0)
    np.testing.assert_allclose(operator.reference(data, weight), data @ weight.T / 2, atol=1e-6)


def _in_torch(torch: Any, name: str) -> Any:
    functional = torch.nn.functional
    return {
        "relu": functional.relu,
        "clip": lambda x: torch.clamp(x, -0.5, 1),
        "leaky_relu": functional.leaky_relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "silu": functional.silu,
        "hard_sigmoid": functional.hardsigmoid,
        "hard_swish": functional.hardswish,
        "gelu": functional.gelu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "affine": lambda x: x * 0.25 - 2,
        "multiply": torch.mul,
        "add": torch.add,
        "scale": lambda x, factor: x * factor.reshape(-1, 1),
        "shift": lambda x, addend: x + addend.reshape(-1, 1),
        "subtract": torch.sub,
        "divide": torch.div,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "negative": torch.neg,
        "abs": torch.abs,
        "square": torch.square,
        "exp": torch.exp,
        "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt,
        "reciprocal": torch.reciprocal,
        "power": lambda x: torch.pow(x, -1.5),
    }[name]


NUMBERS = {"clip": ":-0.5:1", "affine": ":0.25:-2", "power": ":-1.5"}


@pytest.mark.parametrize("name", POST_OPS.names())
def test_formulas_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is what the formulas are compared with")
    text = name + NUMBERS.get(name, "")
    (applied,) = post_ops(text)
    operator = elementwise(n=2, c=3, inner=50, post_ops=text)
    data, *operand = operator.make_inputs(0)
    expected = _in_torch(torch, name)(*map(torch.tensor, (6 * data, *operand)))
    found = operator.reference(6 * data, *operand)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
    assert (applied.definition.operand is Operand.NONE) == (not operand)


@pytest.mark.parametrize("name", POST_OPS.names())
def test_errors_grow_at_most_as_declared(name: str) -> None:
    (applied,) = post_ops(name + NUMBERS.get(name, ""))
    definition = applied.definition
    low, high = (-8.0, 8.0) if definition.bounded else definition.domain
    x, steepest = np.linspace(low, high, 4001), 0.0
    for end in (low, high) if not definition.bounded else (-1.0, 1.0):
        operand = None if definition.operand is Operand.NONE else np.full_like(x, end)
        slopes = np.diff(applied.apply(NumpyArithmetic(), x, operand)) / np.diff(x)
        steepest = max(steepest, float(np.abs(slopes).max()))
    assert steepest <= applied.growth * (1 + 1e-9)
    assert applied.growth <= max(1.0, 1.01 * steepest), "no more than it does"


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 0.5, -1, -4])
def test_powers_are_products_where_exponents_are_small_and_whole(exponent: float) -> None:
    operator = elementwise(inner=50, post_ops=f"power:{exponent}")
    (data,) = operator.make_inputs(0)
    found = operator.reference(data)
    np.testing.assert_allclose(found, data.astype(np.float64) ** exponent, rtol=1e-6)


def test_what_has_no_bounded_slope_cannot_follow_a_product() -> None:
    refused = [name for name in POST_OPS.names() if not POST_OPS.get(name).bounded]
    assert refused == ["divide", "square", "exp", "sqrt", "rsqrt", "reciprocal", "power"]
    for name in refused:
        with pytest.raises(
            UsageError, match=r"\Adense: post-op .+: take the operator elementwise\Z"
        ):
            dense(n=4, k=5, post_ops=name + NUMBERS.get(name, ""))
