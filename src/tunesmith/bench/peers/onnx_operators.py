"""Our operators by ONNX Runtime: a model of each alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    Embedding,
    LayerNorm,
    Matmul,
    Operator,
    Pool2d,
    ProductOperator,
    Reduce,
    Softmax,
)

# Of the model's format; newer ones bring nothing that these operators need.
_OPSET, _IR_VERSION = 17, 8


def onnxruntime_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call on these arrays, which lie in ONNX Runtime's own memory; so does its float32 result.

    The result is an ``OrtValue``, the same in each call. Raises ``UsageError`` like ``onnx_model``.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors alone
    model, given = onnx_model(operator, inputs)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in given.items():
        binding.bind_ortvalue_input(name, own_value(array))
    result = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
        list(operator.result.shape), operator.result.numpy_dtype.type
    )
    binding.bind_ortvalue_output("output", result)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return result

    return call


def own_value(array: Any) -> Any:
    """A copy in memory of ONNX Runtime, which aligns it; one made from an array would share it."""
    import onnxruntime

    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(array.shape), array.dtype.type)
    value.update_inplace(array)
    return value


def onnx_model(operator: Operator, inputs: Sequence[Any]) -> tuple[bytes, dict[str, Any]]:
    """The serialised model, and the inputs that are given to it; the others are part of it.

    Its result is called "output". Raises ``UsageError`` for images in NHWC.
    """
    from onnx import TensorProto, helper, numpy_helper

    if getattr(operator, "layout", "NCHW") != "NCHW":
        raise UsageError(f"ONNX has no operator for {operator.label}")
    given, constant = _arguments(operator, inputs)
    graph = helper.make_graph(
        _nodes(operator) if isinstance(operator, ProductOperator) else [_node(operator)],
        "operator",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in given.items()
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, operator.result.shape)],
        [numpy_helper.from_array(array, name) for name, array in constant.items()],
    )
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION)
    return model.SerializeToString(), given


def _arguments(operator: Operator, inputs: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """By name those that a call is given, and those that a network knows."""
    if not isinstance(operator, ProductOperator):
        names = [argument.name for argument in operator.arguments]
        data, *others = names
        arrays = dict(zip(names, inputs, strict=True))
        return {data: arrays[data]}, {name: arrays[name] for name in others}
    data, weight, *extra = inputs
    if isinstance(operator, DepthwiseConv2d):
        weight = weight.reshape(-1, 1, *weight.shape[2:])
    given: dict[str, Any] = {"data": data}
    constant: dict[str, Any] = {}
    (constant if operator.constant_weights else given)["weight"] = weight
    if operator.bias:
        constant["bias"] = extra[0]
    if operator.residual:
        given["residual"] = extra[-1]
    return given, constant


def _node(operator: Operator) -> Any:
    """The one that makes "output"."""
    from onnx import helper

    names = [argument.name for argument in operator.arguments]
    if isinstance(operator, Softmax):
        return helper.make_node("Softmax", names, ["output"], axis=-1)
    if isinstance(operator, LayerNorm):
        options = {"axis": -1, "epsilon": operator.eps}
        return helper.make_node("LayerNormalization", names, ["output"], **options)
    if isinstance(operator, Pool2d):
        kind = "MaxPool" if operator.kind == "max" else "AveragePool"
        if operator.kernel == (operator.h, operator.w) and operator.padding == (0, 0):
            return helper.make_node(f"Global{kind}", names, ["output"])
        window = _window(operator)
        if operator.kind == "avg":
            window["count_include_pad"] = int(operator.count_include_pad)
        if operator.ceil_mode:
            window["ceil_mode"] = 1
        return helper.make_node(kind, names, ["output"], **window)
    if isinstance(operator, Reduce):
        return _reduction(operator)
    if isinstance(operator, Embedding):
        return helper.make_node("Gather", names[::-1], ["output"], axis=0)
    raise UsageError(f"ONNX has no operator for {operator.label}")


def _reduction(operator: Reduce) -> Any:
    """One of the axis in the middle. Sums are refused: they alone take their axes as an input."""
    from onnx import helper

    if operator.kind == "sum":
        raise UsageError(f"ONNX is not compared for {operator.label}")
    kind = f"Reduce{operator.kind.capitalize()}"
    return helper.make_node(kind, ["data"], ["output"], axes=[1], keepdims=0)


def _window(operator: Conv2d | Conv2dTranspose | DepthwiseConv2d | Pool2d) -> dict[str, Any]:
    return {
        "kernel_shape": list(operator.kernel),
        "strides": list(operator.stride),
        "pads": list(operator.padding if len(operator.padding) > 2 else 2 * operator.padding),
    }


def _nodes(operator: ProductOperator) -> list[Any]:
    """The products, then what follows them; ONNX Runtime fuses what it can."""
    from onnx import helper

    last = "products"
    nodes, has_bias = _products(operator)
    for wanted, kind, other in (
        (operator.bias and not has_bias, "Add", ["bias"]),
        (operator.residual, "Add", ["residual"]),
        (operator.relu, "Relu", []),
    ):
        if wanted:
            nodes.append(helper.make_node(kind, [last, *other], [f"after_{len(nodes)}"]))
            last = nodes[-1].output[0]
    nodes[-1].output[0] = "output"
    return nodes


def _products(operator: ProductOperator) -> tuple[list[Any], bool]:
    """The nodes that make "products", and whether they add the bias."""
    from onnx import helper

    inputs = ["data", "weight"]
    with_bias = [*inputs, "bias"] if operator.bias else inputs
    if isinstance(operator, Conv2dTranspose):
        options = _window(operator) | {"output_padding": list(operator.output_padding)}
        return [helper.make_node("ConvTranspose", with_bias, ["products"], **options)], True
    if isinstance(operator, Conv2d | DepthwiseConv2d):
        options = _window(operator) | {"dilations": list(operator.dilation)}
        options["group"] = operator.groups
        return [helper.make_node("Conv", with_bias, ["products"], **options)], True
    if isinstance(operator, Dense):
        return [helper.make_node("Gemm", with_bias, ["products"], transB=1)], True
    if isinstance(operator, Matmul):
        kind = "Gemm" if operator.bias else "MatMul"
        return [helper.make_node(kind, with_bias, ["products"])], True
    if isinstance(operator, BatchMatmul):
        nodes = []
        if operator.transpose != "NN":
            place = {"TN": 0, "NT": 1}[operator.transpose]
            turned = [inputs[place]], ["transposed"]
            nodes.append(helper.make_node("Transpose", *turned, perm=[0, 2, 1]))
            inputs[place] = "transposed"
        return [*nodes, helper.make_node("MatMul", inputs, ["products"])], False
    raise UsageError(f"ONNX has no operator for {operator.label}")
