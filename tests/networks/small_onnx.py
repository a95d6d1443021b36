"""Small networks in ONNX, which need no PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx: Any = pytest.importorskip("onnx", reason="networks in ONNX need the package onnx")


def small_model(operators: list[Any] | None = None, sizes: tuple[Any, ...] = ("n", 3, 8, 8)) -> Any:
    """A convolution with a clip, a mean, and a classifier with hard swish and softmax."""
    helper, rng = onnx.helper, np.random.default_rng(0)

    def weights(name: str, *shape: int) -> Any:
        return onnx.numpy_helper.from_array(rng.random(shape, dtype=np.float32) - 0.5, name)

    def number(name: str, value: float) -> Any:
        return onnx.numpy_helper.from_array(np.float32(value), name)

    nodes = operators or [
        helper.make_node("Conv", ["data", "w", "b"], ["sums"], pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["sums", "low", "high"], ["clipped"]),
        helper.make_node("GlobalAveragePool", ["clipped"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "g", "c"], ["found"], transB=1),
        helper.make_node("HardSwish", ["found"], ["swish"]),
        helper.make_node("Softmax", ["swish"], ["result"], axis=-1),
    ]
    tensor = helper.make_tensor_value_info
    found = ("n", 5) if operators is None else tuple("abcd")
    graph = helper.make_graph(
        nodes,
        "small",
        [tensor("data", onnx.TensorProto.FLOAT, sizes)],
        [tensor("result", onnx.TensorProto.FLOAT, found)],
        [
            *(weights("w", 8, 3, 3, 3), weights("b", 8), weights("g", 5, 8), weights("c", 5)),
            *(number("low", 0.0), number("high", 0.4)),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def saved(model: Any, folder: Path) -> Path:
    path = folder / "small.onnx"
    onnx.save(model, str(path))
    return path
