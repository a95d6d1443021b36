"""The matrices of minimal filtering along one axis: of any number of taps, with a stride or the
stride of a transposed convolution.

F(m, r) gives m outputs y = A^T [(G g) * (B^T d)] of r taps g with m + r - 1 products, in place of
m r (Winograd, "Arithmetic Complexity of Computations", 1980). The matrices here are those of the
algorithm of Toom and Cook: polynomials are multiplied by their values at points, here 0, 1, -1, 2
and so on, the last one at infinity.

Taps a stride apart read inputs a stride apart. So outputs with a stride are a sum of ``stride``
filters without one: of 3 taps with stride 2 the first and the last are an F(m, 2), the one in the
middle is an F(m, 1), and there are (m + 1) + m products in place of 3 m. Windows of more taps than
``MOST_TAPS`` are likewise sums of shorter ones: the more points, the larger the numbers that cancel
each other, and with them the rounding errors.

Outputs of a transposed convolution have phases, here turns: each depends only on the taps of one
remainder by the stride. Those of a turn are filtered without a stride, by the reversed taps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]

MOST_TAPS = 4
"""Taps of a window that are filtered together."""

# The first ones give the smallest numbers.
_POINTS = tuple(Fraction(point) for point in ("0", "1", "-1", "2", "-2", "1/2", "-1/2"))


@dataclass(frozen=True)
class Minimal:
    """The transforms along an axis: ``data`` is B^T, ``filter`` is G and ``output`` is A^T.

    Product ``k`` has the transformed tap ``k`` and the transformed input ``k % len(data)``: where
    all turns have the same windows, each has its own taps, and all share the inputs. Outputs
    ``turns`` apart have products in common.
    """

    data: Matrix
    filter: Matrix
    output: Matrix
    turns: int = 1

    @property
    def inputs(self) -> int:
        """How many neighbouring inputs the outputs of a tile depend on."""
        return len(self.data[0])

    @property
    def products(self) -> int:
        """How many products the outputs of a tile take."""
        return len(self.filter)

    @cached_property
    def parts(self) -> list[tuple[int, Matrix]]:
        """For each turn: its first product, and A^T between its products and its outputs."""
        found = []
        for turn in range(self.turns):
            rows = self.output[turn :: self.turns]
            used = [k for k in range(self.products) if any(row[k] for row in rows)]
            part = tuple(row[used[0] : used[-1] + 1] for row in rows)
            found.append((used[0], part))
        return found


def tile_sizes(taps: int, stride: int) -> tuple[int, ...]:
    """Outputs of a tile that are worth trying along an axis."""
    if taps == 1:
        return (1,)
    return (2, 4) if (taps, stride) == (3, 1) else (2, 3, 4)


@cache
def minimal(outputs: int, taps: int, stride: int = 1) -> Minimal:
    """F(outputs, taps) of outputs that are ``stride`` inputs apart."""
    inputs = (outputs - 1) * stride + taps
    data: list[Row] = []
    filters: list[Row] = []
    output: list[Row] = [()] * outputs
    for first, count in _parts(taps, stride):
        part = _plain(outputs, count)
        data += [_upsampled(row, first, stride, inputs) for row in part.data]
        filters += [_upsampled(row, first, stride, taps) for row in part.filter]
        output = [(*known, *row) for known, row in zip(output, part.output, strict=True)]
    return Minimal(tuple(data), tuple(filters), tuple(output))


@dataclass(frozen=True)
class Turn:
    """Outputs of a transposed convolution that are its stride apart: their ``taps`` are tap
    ``first`` and those a stride apart; the first output meets the input ``ahead``, and as many
    before it as there are further taps."""

    first: int
    taps: int
    ahead: int


@cache
def turns(taps: int, stride: int, origin: int) -> tuple[Turn, ...]:
    """The turns of a transposed convolution, from the output on that ``origin`` elements of the
    uncut one are before."""
    found = []
    for place in range(origin, origin + stride):
        first = place % stride
        found.append(Turn(first, -(-(taps - first) // stride), place // stride))
    return tuple(found)


@cache
def transposed_minimal(outputs: int, taps: int, stride: int, origin: int) -> Minimal:
    """The filtering of neighbouring outputs of a transposed convolution, equally many of each of
    its ``turns``, which have a tap at least."""
    every = turns(taps, stride, origin)
    start = min(turn.ahead - turn.taps for turn in every)
    inputs = max(turn.ahead for turn in every) - start + outputs // stride - 1
    data: list[Row] = []
    filters: list[Row] = []
    output: list[Row] = []
    plain = [minimal(outputs // stride, turn.taps) for turn in every]
    total = sum(part.products for part in plain)
    for turn, part in zip(every, plain, strict=True):
        data += [_upsampled(row, turn.ahead - turn.taps - start, 1, inputs) for row in part.data]
        filters += [_upsampled(row[::-1], turn.first, stride, taps) for row in part.filter]
    for place in range(outputs):
        before = sum(part.products for part in plain[: place % stride])
        row = plain[place % stride].output[place // stride]
        output.append(_upsampled(row, before, 1, total))
    if len({(turn.taps, turn.ahead) for turn in every}) == 1:
        data = data[: plain[0].products]
    return Minimal(tuple(data), tuple(filters), tuple(output), stride)


def _parts(taps: int, stride: int) -> Iterator[tuple[int, int]]:
    """The first and the number of those taps, a stride apart, that are filtered together."""
    for phase in range(min(taps, stride)):
        count = -(-(taps - phase) // stride)
        parts = -(-count // MOST_TAPS)
        for part in range(parts):
            begin, end = (-(-count * place // parts) for place in (part, part + 1))
            yield phase + begin * stride, end - begin


def _upsampled(row: Row, first: int, stride: int, length: int) -> Row:
    """A row with the given one's elements a stride apart, the rest 0."""
    upsampled = [Fraction(0)] * length
    for place, value in enumerate(row):
        upsampled[first + place * stride] = value
    return tuple(upsampled)


def _plain(outputs: int, taps: int) -> Minimal:
    """F(outputs, taps)."""
    if taps == 1:
        same = tuple(tuple(Fraction(i == k) for k in range(outputs)) for i in range(outputs))
        return Minimal(same, ((Fraction(1),),) * outputs, same)
    finite = _POINTS[: outputs + taps - 2]
    data, filters = [], []
    for point in finite:
        others = [other for other in finite if other != point]
        # Divided by what makes the polynomial 1 at its own point.
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        data.append((*_polynomial(others), Fraction(0)))
        filters.append(tuple(point**power / scale for power in range(taps)))
    data.append(_polynomial(finite))
    filters.append(tuple(Fraction(power == taps - 1) for power in range(taps)))
    output = tuple(
        (*(point**power for point in finite), Fraction(power == outputs - 1))
        for power in range(outputs)
    )
    return Minimal(tuple(data), tuple(filters), output)


def _polynomial(zeros: Sequence[Fraction]) -> Row:
    """The coefficients, from the constant one on, of the product of x - zero."""
    found = [Fraction(1)]
    for zero in zeros:
        shifted = [Fraction(0), *found]
        found = [a - zero * b for a, b in zip(shifted, [*found, Fraction(0)], strict=True)]
    return tuple(found)
