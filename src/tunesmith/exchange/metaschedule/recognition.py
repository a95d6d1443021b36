"""Which operator a function is."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.exchange.metaschedule.definitions import definitions, same_function
from tunesmith.operators import Operator, ProductOperator
from tunesmith.operators import operator as operator_by_name
from tunesmith.sketches.tir.loop_nest import Access, LoopNest, loop_nest_of
from tunesmith.sketches.tir.weights import WEIGHT

# Single post-ops that functions are compared with; those with numbers have TVM's usual ones.
_POST_OPS = ("", "clip:0:6", "sigmoid", "tanh", "silu", "gelu")

Options = dict[str, Any]
Shape = tuple[int, ...]


def recognized(module: Any) -> Operator | None:
    """The operator that the unscheduled ``main`` of a module computes; None if it is none of ours.

    It is one if the function is the same as one of its ``definitions``, up to names and attributes.
    Only products are found: matrix products and convolutions with bias, residual and ReLU or a
    post-op.
    """
    function = module["main"]
    if len(function.params) < 3:
        return None
    shapes = [tuple(map(int, parameter.shape)) for parameter in function.params]
    nest = loop_nest_of(module)
    if nest is None or len(nest.inputs) != 2:
        return None
    common: Options = {"dtype": str(function.params[0].dtype)}
    if WEIGHT in [int(place) for place in function.attrs.get("layout_free_buffers", [])]:
        common["constant_weights"] = True
    return next(
        (
            candidate
            for name, options in _products(shapes, nest)
            for candidate in _with_epilogues(name, {**options, **common}, shapes)
            if any(same_function(function, it["main"]) for it in definitions(candidate))
        ),
        None,
    )


def _with_epilogues(name: str, options: Options, shapes: Sequence[Shape]) -> Iterator[Operator]:
    """Operators with these arguments and result, with all that may follow the products."""
    for post_op, relu in itertools.product(_POST_OPS, (False, True)):
        for bias, residual in itertools.product((False, True), repeat=2):
            if bias + residual != len(shapes) - 3:
                continue
            epilogue = {"bias": bias, "relu": relu, "residual": residual, "post_ops": post_op}
            with contextlib.suppress(UsageError):
                made = operator_by_name(name, **options, **epilogue)
                assert isinstance(made, ProductOperator)
                if [it.shape for it in (*made.operands, made.result)] == [*shapes[:2], shapes[-1]]:
                    yield made


def _products(shapes: Sequence[Shape], nest: LoopNest) -> Iterator[tuple[str, Options]]:
    """Operators whose products may be of arguments with these shapes."""
    data, weight = shapes[:2]
    match len(data), len(weight):
        case 2, 2:
            (m, k), n = data, shapes[-1][-1]
            yield "matmul", {"m": m, "n": n, "k": k}
            yield "dense", {"m": m, "n": n, "k": k}
        case 3, 3:
            b, m, n = shapes[-1]
            for transpose in ("NN", "NT", "TN"):
                k = data[1] if transpose == "TN" else data[2]
                yield "batch_matmul", {"b": b, "m": m, "n": n, "k": k, "transpose": transpose}
        case 4, 4:
            yield from _convolutions(data, weight, nest)


def _convolutions(data: Shape, weight: Shape, nest: LoopNest) -> Iterator[tuple[str, Options]]:
    for layout in ("NCHW", "NHWC"):
        image = (2, 3) if layout == "NCHW" else (1, 2)
        nchw = layout == "NCHW"
        ci, (h, w) = data[1 if nchw else 3], (data[axis] for axis in image)
        channels, kernel = (weight[:2], weight[2:]) if nchw else (weight[2:], weight[:2])
        co, inner = channels if nchw else channels[::-1]
        steps = [_steps(nest.inputs[0], nest, axis) for axis in image]
        options: Options = {
            "layout": layout,
            **{"n": data[0], "h": h, "w": w, "kernel": kernel},
            "stride": tuple(stride for stride, _ in steps),
            "dilation": tuple(dilation for _, dilation in steps),
        }
        added = [nest.inputs[0].shape[axis] - data[axis] for axis in image]
        for padding in _paddings(*added):
            padded = {**options, "padding": padding}
            if channels[0] == ci:
                yield "depthwise_conv2d", {**padded, "c": ci, "multiplier": channels[1]}
            if inner and ci % inner == 0:
                yield "conv2d", {**padded, "ci": ci, "co": co, "groups": ci // inner}


def _steps(access: Access, nest: LoopNest, dimension: int) -> tuple[int, int]:
    """By how much the next window and the next tap move an index of the data."""
    moves = dict(access.steps[dimension])
    window, tap = (
        next((moves[axis.name] for axis in axes if axis.name in moves), 1)
        for axes in (nest.spatial, nest.reduction)
    )
    return window, tap


def _paddings(high: int, wide: int) -> Iterator[Sequence[int]]:
    """Paddings that add so many rows and columns: even, or with the odd one on either side."""
    rows, columns = (
        dict.fromkeys([(size // 2, size - size // 2), (size - size // 2, size // 2)])
        for size in (high, wide)
    )
    for (top, bottom), (left, right) in itertools.product(rows, columns):
        even = (top, left) == (bottom, right)
        yield (top, left) if even else (top, left, bottom, right)
