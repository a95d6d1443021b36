"""Convolutions as products of matrices: the weights, and the windows of images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from tunesmith.operators import Conv2d, Operator, ProductOperator, sides
from tunesmith.sketches.cuda.mma.matrix import (
    DEPTH,
    SIZE,
    Line,
    Matrix,
    Product,
    Taps,
    Window,
    plain_matrix,
    widest_vector,
)
from tunesmith.sketches.tir import emit

# The taps of a window are bits of a word. Its terms take eight bytes each in a table: the longest
# one leaves enough shared memory for tiles.
_MOST_TAPS = 31
_LONGEST_TABLE = 6144


class Convolution:
    """The part of a sketch that knows convolutions of one group."""

    def multiplies(self, operator: Operator) -> bool:
        """Whether the operator is such a convolution."""
        return isinstance(operator, Conv2d) and operator.groups == 1

    def product(self, operator: ProductOperator) -> Product:
        """The product that it is."""
        return convolution_product(cast(Conv2d, operator))


def convolution_product(operator: Conv2d) -> Product:
    """The product that a convolution of one group is, of NCHW or NHWC."""
    return _by_channel(operator) if operator.layout == "NCHW" else _by_pixel(operator)


def _by_channel(operator: Conv2d) -> Product:
    """Of NCHW: a row for each output channel, a column for each pixel of all images."""
    depth, image = operator.reduction_length, _image(operator)

    def place(_: Any, row: Any, column: Any) -> Any:
        number, pixel = _number_and_pixel(operator, column)
        return (number * operator.co + row) * image + pixel

    return Product(
        batch=1,
        left=plain_matrix(1, operator.co, depth, DEPTH),
        right=_plain_image(operator) if _is_plain(operator) else _windows(operator, SIZE, 1),
        place=place,
        vector=widest_vector(image),
        bias_along_rows=True,
    )


def _by_pixel(operator: Conv2d) -> Product:
    """Of NHWC: a row for each pixel of all images, a column for each output channel."""
    return Product(
        batch=1,
        left=_windows(operator, DEPTH, widest_vector(operator.ci)),
        right=plain_matrix(1, operator.co, operator.reduction_length, SIZE),
        place=lambda _, row, column: row * operator.co + column,
        vector=widest_vector(operator.co),
    )


def _is_plain(operator: Conv2d) -> bool:
    """Whether windows are the pixels of the image, one element each."""
    return (operator.kernel, operator.stride, operator.padding) == ((1, 1), (1, 1), (0, 0))


def _plain_image(operator: Conv2d) -> Matrix:
    """The pixels of NCHW images, whose channels are the terms of a sum."""
    image = _image(operator)

    def line(_: Any, index: Any) -> Line:
        number, pixel = _number_and_pixel(operator, index)
        start = emit.bind("line", number * (operator.ci * image) + pixel)
        return lambda channel: (start + channel * image, None)

    size = operator.n * image
    return Matrix(0, size, operator.ci, SIZE, widest_vector(image), line)


def _windows(operator: Conv2d, along: str, vector: int) -> Matrix:
    """A row or column for each window, in the order of the weights' elements."""
    origin, term = partial(_origin, operator), partial(_term, operator)

    def line(_: Any, index: Any) -> Line:
        start, inside = origin(index)

        def element(depth: Any) -> tuple[Any, Any]:
            offset, row, column = term(depth)
            return start + offset, inside(row, column)

        return element

    def window(index: Any) -> Window:
        start, inside = origin(index)
        return Window(start, lambda tap: inside(*divmod(tap, operator.kernel[1])))

    def entry(depth: Any) -> tuple[Any, Any]:
        offset, row, column = term(depth)
        return offset, row * operator.kernel[1] + column

    count, depth = operator.kernel[0] * operator.kernel[1], operator.reduction_length
    worth_it = vector == 1 and count <= _MOST_TAPS and depth <= _LONGEST_TABLE
    taps = Taps(count, entry, window) if worth_it else None
    return Matrix(0, operator.n * _image(operator), depth, along, vector, line, taps)


def _origin(operator: Conv2d, index: Any) -> tuple[Any, Callable[[Any, Any], Any | None]]:
    """The offset of a window's first element, and a function of a row and column of the window:
    the condition that the element is not padding, None where there is no padding."""
    wide = operator.output_image[1]
    number, pixel = _number_and_pixel(operator, index)
    y = emit.bind("y", pixel // wide * operator.stride[0] - operator.padding[0])
    x = emit.bind("x", pixel % wide * operator.stride[1] - operator.padding[1])
    _, of_row, of_column = _steps(operator)
    image = number * (operator.ci * operator.h * operator.w)
    start = emit.bind("line", image + y * of_row + x * of_column)

    def inside(row: Any, column: Any) -> Any | None:
        down, right = row * operator.dilation[0], column * operator.dilation[1]
        return _inside(operator, y + down, x + right)

    return start, inside


def _steps(operator: Conv2d) -> tuple[int, int, int]:
    """The strides of the image in memory: along channels, rows and columns."""
    if operator.layout == "NCHW":
        return operator.h * operator.w, operator.w, 1
    return 1, operator.w * operator.ci, operator.ci


def _term(operator: Conv2d, depth: Any) -> tuple[Any, Any, Any]:
    """The offset of a term of the sum from the window's first element, and its row and column in
    the window."""
    high, wide = operator.kernel
    if operator.layout == "NCHW":
        channel, tap = depth // (high * wide), depth % (high * wide)
    else:
        channel, tap = depth % operator.ci, depth // operator.ci
    row, column = tap // wide, tap % wide
    of_channel, of_row, of_column = _steps(operator)
    down, right = row * operator.dilation[0], column * operator.dilation[1]
    return channel * of_channel + down * of_row + right * of_column, row, column


def _inside(operator: Conv2d, y: Any, x: Any) -> Any | None:
    """The condition that a pixel is not padding; None where there is none."""
    from tvm import tirx

    conditions = []
    sizes = operator.h, operator.w
    for padding, place, size in zip(sides(operator.padding), (y, x), sizes, strict=True):
        if any(padding):
            conditions += [place >= 0, place < size]
    return tirx.all(*conditions) if conditions else None


def _image(operator: Conv2d) -> int:
    """Pixels of an output image."""
    return operator.output_image[0] * operator.output_image[1]


def _number_and_pixel(operator: Conv2d, index: Any) -> tuple[Any, Any]:
    """The image in the batch and the pixel in it, of a number among all pixels."""
    image = _image(operator)
    return (0, index) if operator.n == 1 else (index // image, index % image)
