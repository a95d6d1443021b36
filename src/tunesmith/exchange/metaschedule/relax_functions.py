"""What Relax makes of an operator: the function that is in a network after its passes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tunesmith.operators import (
    AppliedPostOp,
    Argument,
    BatchMatmul,
    Conv2d,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operand,
    Operator,
    ProductOperator,
    sides,
)

# Relax sums halves in halves, and has no products of bytes with sums of 32 bits in these operators.
_DTYPES = ("float32", "float64")


def relax_functions(operator: Operator) -> list[Any]:
    """The functions, ``tvm.tirx.PrimFunc``, that an operator may be in a network of Relax.

    They differ in attributes only: with constant weights the layouts of weights and bias are free,
    as ``AttachAttrLayoutFreeBuffers`` says of constants; others may have been through this pass or
    not. There are none for operators that Relax has not, or computes in other types.
    """
    if not isinstance(operator, ProductOperator) or operator.dtype not in _DTYPES:
        return []
    product = _product(operator)
    known = all(each.definition.name in _POST_OPS for each in operator.epilogue.post_ops)
    if product is None or not known:
        return []
    attached = _legalized(_network(operator, product), attach=True)
    if operator.constant_weights:
        return [attached]
    return [_legalized(_network(operator, product), attach=False), attached]


def _legalized(module: Any, *, attach: bool) -> Any:
    """The one function of a network of one operator, after the passes that TVM's pipelines have."""
    import tvm
    from tvm.ir.transform import Sequential
    from tvm.relax import transform as passes

    with tvm.target.Target({"kind": "llvm"}):
        done = Sequential(
            [
                passes.FuseTransposeMatmul(),
                passes.LegalizeOps(),
                passes.AnnotateTIROpPattern(),
                passes.FoldConstant(),
                passes.FuseOps(),
                passes.FuseTIR(),
                passes.DeadCodeElimination(["main"]),
                *([passes.AttachAttrLayoutFreeBuffers()] if attach else []),
            ]
        )(module)
    (function,) = (it for it in done.functions.values() if isinstance(it, tvm.tirx.PrimFunc))
    return function


def _network(operator: ProductOperator, product: Callable[[Any, Any], Any]) -> Any:
    """A network of the operator alone. Its parameters are the arguments that are not constant."""
    from tvm import relax

    constant = {"weight", "bias"} if operator.constant_weights else set()
    inputs: list[Any] = []
    values: list[Any] = []
    for argument in _arguments(operator):
        if argument.name in constant:
            values.append(relax.const(np.zeros(argument.shape, argument.dtype)))
        else:
            variable = relax.Var(argument.name, relax.TensorType(argument.shape, argument.dtype))
            values.append(variable)
            inputs.append(variable)
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        with builder.dataflow():
            data, weight, *others = values
            value = builder.emit(product(data, weight))
            for step in _epilogue(operator, iter(others)):
                value = builder.emit(step(value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.finalize()


def _arguments(operator: ProductOperator) -> Iterator[Argument]:
    """The arguments in Relax's shapes: what channels have runs along their axis of the result."""
    data, weight, *others = operator.arguments
    yield from (data, weight)
    result = operator.result
    after = len(result.shape) - 1 - operator.channel_axis % len(result.shape)
    kinds = (kind for _, kind in operator.epilogue.operands)
    for argument, kind in zip(others, kinds, strict=True):
        if kind is Operand.CHANNEL and after:
            yield Argument(argument.name, (1, *argument.shape, *[1] * after), argument.dtype)
        else:
            yield argument


def _product(operator: ProductOperator) -> Callable[[Any, Any], Any] | None:
    """How Relax computes the products of an operator, None if it has no such one."""
    from tvm.relax import op

    match operator:
        case Matmul() | BatchMatmul(transpose="NN"):
            return _matmul
        case Dense():
            return lambda data, weight: _matmul(data, op.permute_dims(weight))
        case BatchMatmul(transpose="NT"):
            return lambda data, weight: _matmul(data, op.permute_dims(weight, [0, 2, 1]))
        # Depthwise, weights have our shape only so.
        case Conv2d() | DepthwiseConv2d(multiplier=1, layout="NCHW"):
            return functools.partial(_convolution, operator)
    return None


def _matmul(data: Any, weight: Any) -> Any:
    from tvm.relax import op

    return op.matmul(data, weight)


def _convolution(operator: Conv2d | DepthwiseConv2d, data: Any, weight: Any) -> Any:
    from tvm.relax import op

    (top, bottom), (left, right) = sides(operator.padding)
    return op.nn.conv2d(
        data,
        weight,
        strides=list(operator.stride),
        padding=[top, left, bottom, right],
        dilation=list(operator.dilation),
        groups=operator.groups,
        data_layout=operator.layout,
        kernel_layout="OIHW" if operator.layout == "NCHW" else "HWIO",
    )


def _epilogue(operator: ProductOperator, operands: Iterator[Any]) -> Iterator[Callable[[Any], Any]]:
    """The steps after the products, in order."""
    from tvm.relax import op

    for _ in range(operator.bias + operator.residual):
        yield lambda value: op.add(value, next(operands))
    if operator.relu:
        yield op.nn.relu
    for applied in operator.epilogue.post_ops:
        operand = None if applied.definition.operand is Operand.NONE else next(operands)
        yield functools.partial(_post_op, applied, operand)


def _post_op(applied: AppliedPostOp, operand: Any, value: Any) -> Any:
    from tvm.relax import op

    step = op
    for part in _POST_OPS[applied.definition.name].split("."):
        step = getattr(step, part)
    return step(value, *applied.numbers) if operand is None else step(value, operand)


# Post-ops that are operators of Relax with the same numbers and operand.
_POST_OPS = {
    "relu": "nn.relu",
    "clip": "clip",
    "leaky_relu": "nn.leakyrelu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "silu": "nn.silu",
    "gelu": "nn.gelu",
    "gelu_tanh": "nn.gelu_tanh",
    "multiply": "multiply",
    "add": "add",
    "scale": "multiply",
    "shift": "add",
    "subtract": "subtract",
    "maximum": "maximum",
    "minimum": "minimum",
}
