"""Our operators by ONNX Runtime: a model of each alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operator,
    ProductOperator,
)

# Of the model's format; newer ones bring nothing that these operators need.
_OPSET, _IR_VERSION = 17, 8


def onnxruntime_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call on these float32 arrays, which lie in ONNX Runtime's own memory; so does its result.

    The result is an ``OrtValue``, the same in each call. Raises ``UsageError`` for other operators
    than matrix products and convolutions of NCHW images.
    """
    import onnxruntime

    if not isinstance(operator, ProductOperator):
        raise UsageError(f"ONNX Runtime is not compared for {operator.name}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors alone
    model, given = _model(operator, inputs)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in given.items():
        binding.bind_ortvalue_input(name, own_value(array))
    result = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
        list(operator.output_shape), inputs[0].dtype.type
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


def _model(operator: ProductOperator, inputs: Sequence[Any]) -> tuple[bytes, dict[str, Any]]:
    """The serialised model, and the inputs that are given to it; the others are part of it."""
    from onnx import TensorProto, helper, numpy_helper

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
    graph = helper.make_graph(
        _nodes(operator),
        "operator",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
            for name, array in given.items()
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, operator.output_shape)],
        [numpy_helper.from_array(array, name) for name, array in constant.items()],
    )
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION)
    return model.SerializeToString(), given


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
    if isinstance(operator, Conv2d | DepthwiseConv2d) and operator.layout == "NCHW":
        groups = operator.c if isinstance(operator, DepthwiseConv2d) else operator.groups
        node = helper.make_node(
            "Conv",
            with_bias,
            ["products"],
            kernel_shape=list(operator.kernel),
            strides=list(operator.stride),
            pads=[*operator.padding, *operator.padding],
            dilations=list(operator.dilation),
            group=groups,
        )
        return [node], True
    if isinstance(operator, Dense):
        return [helper.make_node("Gemm", with_bias, ["products"], transB=1)], True
    if isinstance(operator, Matmul):
        kind = "Gemm" if operator.bias else "MatMul"
        return [helper.make_node(kind, with_bias, ["products"])], True
    if isinstance(operator, BatchMatmul):
        transposed = {"TN": 0, "NT": 1}.get(operator.transpose)
        nodes = []
        if transposed is not None:
            turned = helper.make_node(
                "Transpose", [inputs[transposed]], ["transposed"], perm=[0, 2, 1]
            )
            nodes.append(turned)
            inputs[transposed] = "transposed"
        return [*nodes, helper.make_node("MatMul", inputs, ["products"])], False
    raise UsageError(f"ONNX Runtime is not compared for {operator.label}")
