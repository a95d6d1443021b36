"""exp, tanh, erf, sigmoid, sinh and cosh of float32 as arithmetic that LLVM keeps in vectors.

TVM leaves them to the C library, which computes each lane of a vector in a call of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

EXP_OF_FLOAT32 = (
    1.0000000499537731,
    0.5000000437119081,
    0.16666364175164525,
    0.04166476933524697,
    0.008379106934442968,
    0.0014061604418821318,
)
"""``exp(r) = 1 + r * (c0 + r * (c1 + ...))`` for ``|r| <= ln 2 / 2``: of all such polynomials the
one with the least largest relative error (Remez's algorithm), 2.6e-9."""

# x * P(x * x) / Q(x * x), fitted for the least largest relative error on [-9, 9] and [-4, 4]: 2e-8
# and 3e-8. Further out float32 has only 1 and -1.
_TANH = (
    9.0,
    (
        0.9999999796115339,
        0.13380980506033335,
        0.0034955338206964937,
        2.0608174697746435e-05,
        1.3353401853940068e-08,
    ),
    (
        1.0,
        0.4671429616009705,
        0.025876777239238202,
        0.0003285545229548485,
        7.776041999831162e-07,
    ),
)
_ERF = (
    4.0,
    (
        1.1283791395159493,
        0.19353616579965602,
        0.05310028785633166,
        0.0038828791951697936,
        0.0002845422508775226,
        1.9866859203158774e-06,
    ),
    (
        1.0,
        0.5048495201011635,
        0.11534606784732598,
        0.015206337776878484,
        0.0011854332047441663,
        3.7417916736529805e-05,
    ),
)

# sinh(x) / x by the square of x: the next term of the series is below 3e-8 for |x| <= 1.
_SINH = (1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880)

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693359375
"""ln 2 in so few bits that its multiples are exact; ``LN2_LOW`` is the rest."""
LN2_LOW = -2.1219444005469058e-4

# Where TVM looks for a way to lower a function for a CPU, and above what our rules are.
_RULES = ("llvm.FLowerIntrinsic", "default.FLowerIntrinsic", "default.FLegalize")
_LEVEL = 50

# exp of less is below float32's normal numbers, of more above its largest.
_LEAST, _MOST = -87.33, 88.72


@cache
def register_vector_functions() -> None:
    """Has TVM lower the functions so for CPUs, in this process from now on.

    Relative errors are below 5e-7. ``exp`` gives 0 for numbers under -87.33, where the result
    would not be a normal number, and infinity above 88.72. NaN remains NaN. Other types than
    float32 are lowered as before.
    """
    from tvm.tirx import register_intrin_lowering

    for name, write in _FUNCTIONS.items():
        register_intrin_lowering(name, "llvm", f=_lowering(name, write), level=_LEVEL)


def _lowering(name: str, write: Callable[[_Float32, Any], Any]) -> Callable[[Any], Any]:
    from tvm.ir import Op

    known = (Op.get(name).get_attr(rule) for rule in _RULES)
    before = next((rule for rule in known if rule is not None), None)

    def lower(call: Any) -> Any:
        dtype = str(call.ty.dtype)
        if dtype.partition("x")[0] != "float32":
            return call if before is None else before(call)
        return write(_Float32(dtype), call.args[0])

    return lower


class _Float32:
    """Expressions of float32 or of vectors of it."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._lanes = dtype.partition("x")[2]

    def number(self, value: float, element: str = "float32") -> Any:
        from tvm import tirx

        constant = tirx.const(value, element)
        return tirx.Broadcast(constant, int(self._lanes)) if self._lanes else constant

    def bits(self, element: str) -> str:
        return f"{element}x{self._lanes}" if self._lanes else element

    def named(self, name: str, value: Any, body: Callable[[Any], Any]) -> Any:
        """``body`` of a value that it uses several times. The value must have no named part: TVM's
        code generator would bind the name of that twice, and refuses if it simplifies the one."""
        from tvm import tirx

        variable = tirx.Var(name, str(value.ty.dtype))
        return tirx.Let(variable, value, body(variable))

    def polynomial(self, coefficients: Sequence[float], x: Any) -> Any:
        """``c0 + x * (c1 + ...)``."""
        value = self.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = value * x + self.number(coefficient)
        return value

    def within(self, value: Any, low: float, high: float) -> Any:
        """A value between bounds; NaN remains."""
        from tvm import tirx

        least, most = self.number(low), self.number(high)
        return tirx.Select(value < least, least, tirx.Select(value > most, most, value))


def _exp(of: _Float32, x: Any) -> Any:
    from tvm import tirx

    zero, infinity = of.number(0.0), of.number(float("inf"))

    def unless_extreme(x: Any) -> Any:
        return tirx.Select(
            x < of.number(_LEAST),
            zero,
            tirx.Select(x > of.number(_MOST), infinity, _bounded_exp(of, x)),
        )

    return of.named("x", x, unless_extreme)


def _bounded_exp(of: _Float32, x: Any) -> Any:
    """exp of the nearest number that it has a normal number for: ``2**n * exp(r)``, ``n`` the
    integer next to ``x / ln 2``. NaN remains."""
    from tvm import tirx

    def power(x: Any) -> Any:
        # Added to 1.5 * 2**23, a number is rounded to an integer in the lowest bits.
        whole = of.number(1.5 * 2**23)
        return of.named("n", x * of.number(LOG2_E) + whole, lambda moved: scaled(x, moved, whole))

    def scaled(x: Any, moved: Any, whole: Any) -> Any:
        def of_whole(n: Any) -> Any:
            rest = n * of.number(-LN2_LOW) + (n * of.number(-LN2_HIGH) + x)
            return of.named("r", rest, lambda r: of.polynomial((1.0, *EXP_OF_FLOAT32), r))

        fraction = of.named("whole", moved - whole, of_whole)
        # Added to its exponent. Of ``moved`` only n is left there: all other bits are shifted out.
        integer = of.bits("int32")
        exponent = tirx.reinterpret(integer, moved) << of.number(23, "int32")
        return tirx.reinterpret(of.dtype, tirx.reinterpret(integer, fraction) + exponent)

    return of.named("bounded", of.within(x, _LEAST, _MOST), power)


def _sigmoid(of: _Float32, x: Any) -> Any:
    """Beyond the bounds of exp it is 1, or less than any that matters."""
    negative = of.number(0.0) - x
    return of.number(1.0) / (of.number(1.0) + _bounded_exp(of, negative))


def _half_of_exp(of: _Float32, x: Any) -> Any:
    """Finite wherever half of exp is, which may be above float32's largest number itself."""
    root = of.number(0.5) * x
    return of.number(0.5) * _exp(of, root) * _exp(of, root)


def _cosh(of: _Float32, x: Any) -> Any:
    return of.named("x", x, lambda x: _half_of_exp(of, x) + _half_of_exp(of, of.number(0.0) - x))


def _sinh(of: _Float32, x: Any) -> Any:
    """By its series where the difference of two exponentials would cancel."""
    from tvm import tirx

    def parts(x: Any) -> Any:
        near = x * of.polynomial(_SINH, x * x)
        far = _half_of_exp(of, x) - _half_of_exp(of, of.number(0.0) - x)
        inside = tirx.all(x < of.number(1.0), x > of.number(-1.0))
        return tirx.Select(inside, near, far)

    return of.named("x", x, parts)


def _quotient(of: _Float32, x: Any, fitted: tuple[float, Sequence[float], Sequence[float]]) -> Any:
    """An odd function that reaches 1, by a quotient of polynomials."""
    bound, numerator, denominator = fitted

    def of_bounded(x: Any) -> Any:
        return of.named("square", x * x, lambda square: quotient(x, square))

    def quotient(x: Any, square: Any) -> Any:
        above = x * of.polynomial(numerator, square)
        value = above / of.polynomial(denominator, square)
        return of.named("value", value, lambda value: of.within(value, -1.0, 1.0))

    # Not one as the value of the other: TVM would then bind the inner variable twice.
    return of.named("x", x, lambda x: of.named("bounded", of.within(x, -bound, bound), of_bounded))


_FUNCTIONS: dict[str, Callable[[_Float32, Any], Any]] = {
    "tirx.exp": _exp,
    "tirx.sigmoid": _sigmoid,
    "tirx.tanh": lambda of, x: _quotient(of, x, _TANH),
    "tirx.erf": lambda of, x: _quotient(of, x, _ERF),
    "tirx.cosh": _cosh,
    "tirx.sinh": _sinh,
}
