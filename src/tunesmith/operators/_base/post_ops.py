"""The post-ops that there are: built-in ones and those of installed packages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators._base.arithmetic import Arithmetic
from tunesmith.operators._base.element_types import FLOAT_TYPES
from tunesmith.operators._base.options import OptionType
from tunesmith.operators._base.post_op import AppliedPostOp, Operand, PostOp, numbers_of
from tunesmith.registry import Registry

_BETWEEN = "+"
# The domains of post-ops whose slopes have no bound.
_NEAR_ZERO = (-2.0, 2.0)
_NEAR_ONE = (0.5, 2.0)
# A power is a product of so many factors at most.
_MOST_FACTORS = 4


def _relu(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.maximum(x, arithmetic.number(0))


def _clip(arithmetic: Arithmetic, x: Any, low: float, high: float) -> Any:
    number = arithmetic.number
    return arithmetic.minimum(arithmetic.maximum(x, number(low)), number(high))


def _leaky_relu(arithmetic: Arithmetic, x: Any, slope: float) -> Any:
    zero = arithmetic.number(0)
    below = arithmetic.minimum(x, zero) * arithmetic.number(slope)
    return arithmetic.maximum(x, zero) + below


def _sigmoid(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.sigmoid(x)


def _tanh(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.tanh(x)


def _silu(arithmetic: Arithmetic, x: Any) -> Any:
    return x * arithmetic.sigmoid(x)


def _hard_sigmoid(arithmetic: Arithmetic, x: Any) -> Any:
    number = arithmetic.number
    return _clip(arithmetic, x * number(1 / 6) + number(0.5), 0, 1)


def _hard_swish(arithmetic: Arithmetic, x: Any) -> Any:
    return x * _hard_sigmoid(arithmetic, x)


def _gelu(arithmetic: Arithmetic, x: Any) -> Any:
    number = arithmetic.number
    return x * number(0.5) * (arithmetic.erf(x * number(math.sqrt(0.5))) + number(1))


def _gelu_tanh(arithmetic: Arithmetic, x: Any) -> Any:
    number = arithmetic.number
    inner = (x * x * number(0.044715) + number(1)) * x * number(math.sqrt(2 / math.pi))
    return x * number(0.5) * (arithmetic.tanh(inner) + number(1))


def _affine(arithmetic: Arithmetic, x: Any, factor: float, offset: float) -> Any:
    return x * arithmetic.number(factor) + arithmetic.number(offset)


def _multiply(_: Arithmetic, x: Any, factor: Any) -> Any:
    return x * factor


def _add(_: Arithmetic, x: Any, addend: Any) -> Any:
    return x + addend


def _subtract(_: Arithmetic, x: Any, subtrahend: Any) -> Any:
    return x - subtrahend


def _divide(_: Arithmetic, x: Any, divisor: Any) -> Any:
    return x / divisor


def _maximum(arithmetic: Arithmetic, x: Any, other: Any) -> Any:
    return arithmetic.maximum(x, other)


def _minimum(arithmetic: Arithmetic, x: Any, other: Any) -> Any:
    return arithmetic.minimum(x, other)


def _negative(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.number(0) - x


def _abs(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.absolute(x)


def _square(_: Arithmetic, x: Any) -> Any:
    return x * x


def _exp(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.exp(x)


def _sqrt(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.sqrt(x)


def _rsqrt(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.number(1) / arithmetic.sqrt(x)


def _reciprocal(arithmetic: Arithmetic, x: Any) -> Any:
    return arithmetic.number(1) / x


def _power(arithmetic: Arithmetic, x: Any, exponent: float) -> Any:
    """By multiplication for small whole exponents: the others are a call for each number."""
    if not exponent.is_integer() or not 1 <= abs(exponent) <= _MOST_FACTORS:
        return arithmetic.power(x, arithmetic.number(exponent))
    product = x
    for _ in range(1, int(abs(exponent))):
        product = product * x
    return product if exponent > 0 else arithmetic.number(1) / product


def _steepest_power(exponent: float) -> float:
    slopes = (abs(exponent) * math.pow(end, exponent - 1) for end in _NEAR_ONE)
    return max(slopes)


relu = PostOp("relu", "negative values replaced by 0", _relu, 1)
clip = PostOp("clip", "values between two bounds", _clip, 2, (("low", None), ("high", None)))
leaky_relu = PostOp(
    "leaky_relu",
    "negative values times a slope",
    _leaky_relu,
    4,
    (("slope", 0.01),),
    growth=lambda slope: max(1.0, abs(slope)),
)
sigmoid = PostOp("sigmoid", "1 / (1 + exp(-x))", _sigmoid, 4, growth=lambda: 0.25)
tanh = PostOp("tanh", "the hyperbolic tangent", _tanh, 4)
silu = PostOp("silu", "x * sigmoid(x)", _silu, 5, growth=lambda: 1.1)
hard_sigmoid = PostOp(
    "hard_sigmoid", "x / 6 + 1/2 between 0 and 1", _hard_sigmoid, 4, growth=lambda: 1 / 6
)
hard_swish = PostOp("hard_swish", "x * hard_sigmoid(x)", _hard_swish, 5, growth=lambda: 1.5)
gelu = PostOp(
    "gelu",
    "x times the normal distribution's integral",
    _gelu,
    5,
    growth=lambda: 1.13,
    # TVM has no erf of its own, and ours is for float32, in which narrower types compute.
    dtypes=tuple(dtype for dtype in FLOAT_TYPES if dtype != "float64"),
)
gelu_tanh = PostOp("gelu_tanh", "gelu, approximated by tanh", _gelu_tanh, 9, growth=lambda: 1.13)
affine = PostOp(
    "affine",
    "times a number, plus another one",
    _affine,
    2,
    (("factor", None), ("offset", 0.0)),
    growth=lambda factor, _: max(1.0, abs(factor)),
)
multiply = PostOp(
    "multiply", "times a tensor", _multiply, 1, operand=Operand.ELEMENT, operand_name="factor"
)
add = PostOp("add", "plus a tensor", _add, 1, operand=Operand.ELEMENT, operand_name="addend")
subtract = PostOp(
    "subtract", "minus a tensor", _subtract, 1, operand=Operand.ELEMENT, operand_name="subtrahend"
)
divide = PostOp(
    "divide",
    "divided by a tensor",
    _divide,
    1,
    operand=Operand.ELEMENT,
    operand_name="divisor",
    growth=lambda: 2.0,
    domain=_NEAR_ONE,
)
maximum = PostOp(
    "maximum",
    "or a tensor's, the larger",
    _maximum,
    1,
    operand=Operand.ELEMENT,
    operand_name="least",
)
minimum = PostOp(
    "minimum",
    "or a tensor's, the smaller",
    _minimum,
    1,
    operand=Operand.ELEMENT,
    operand_name="most",
)
scale = PostOp(
    "scale",
    "times a number per channel",
    _multiply,
    1,
    operand=Operand.CHANNEL,
    operand_name="scale",
)
shift = PostOp(
    "shift", "plus a number per channel", _add, 1, operand=Operand.CHANNEL, operand_name="shift"
)
negative = PostOp("negative", "0 minus the value", _negative, 1)
absolute = PostOp("abs", "without the sign", _abs, 1)
square = PostOp("square", "times itself", _square, 1, growth=lambda: 4.0, domain=_NEAR_ZERO)
exp = PostOp("exp", "e to the power of it", _exp, 1, growth=lambda: 7.39, domain=_NEAR_ZERO)
sqrt = PostOp("sqrt", "the square root", _sqrt, 1, domain=_NEAR_ONE)
rsqrt = PostOp("rsqrt", "1 / sqrt(x)", _rsqrt, 2, growth=lambda: 1.42, domain=_NEAR_ONE)
reciprocal = PostOp("reciprocal", "1 / x", _reciprocal, 1, growth=lambda: 4.0, domain=_NEAR_ONE)
power = PostOp(
    "power",
    "to the power of a number",
    _power,
    1,
    (("exponent", None),),
    growth=_steepest_power,
    domain=_NEAR_ONE,
)

_OURS = {
    name: f"{__name__}:{name}"
    for name in (
        "relu",
        "clip",
        "leaky_relu",
        "sigmoid",
        "tanh",
        "silu",
        "hard_sigmoid",
        "hard_swish",
        "gelu",
        "gelu_tanh",
        "affine",
        "multiply",
        "add",
        "scale",
        "shift",
        "subtract",
        "divide",
        "maximum",
        "minimum",
        "negative",
        "square",
        "exp",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "power",
    )
} | {"abs": f"{__name__}:absolute"}


def _definition(found: object) -> PostOp | None:
    return found if isinstance(found, PostOp) else None


POST_OPS = Registry("post-op", "post_ops", _OURS, _definition, "a PostOp", listed=False)


@cache
def post_ops(text: str) -> tuple[AppliedPostOp, ...]:
    """The post-ops of a text such as ``clip:0:6+multiply``.

    Raises ``UsageError`` for an unknown one and for numbers that it does not take.
    """
    found = []
    for word in text.split(_BETWEEN) if text else ():
        name, *numbers = word.strip().split(":")
        definition = POST_OPS.get(name)
        found.append(AppliedPostOp(definition, numbers_of(definition, numbers)))
    return tuple(found)


@dataclass(frozen=True)
class PostOpsOption(OptionType):
    """Post-ops as text, one after the other."""

    @property
    def expects(self) -> str:
        return "post-ops such as clip:0:6 or silu+multiply"

    def check(self, label: str, value: object) -> str:
        """The text with all numbers in it; raises ``UsageError`` that says what is wrong."""
        if not isinstance(value, str):
            return str(super().check(label, value))
        try:
            return _BETWEEN.join(map(str, post_ops(value)))
        except UsageError as error:
            raise UsageError(f"{label}: {error}") from error

    def accept(self, value: object) -> str | None:
        return value if isinstance(value, str) else None

    def read(self, text: str) -> object:
        return text
