"""Pooling, means and padding of PyTorch's modules and ONNX files: which layers, and right ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small import random_input, seeded, torch
from tunesmith.errors import UsageError
from tunesmith.networks import from_onnx, from_torch
from tunesmith.networks.check import check, random_inputs
from tunesmith.networks.layers.layer import Layer

functional = torch.nn.functional


class Several(torch.nn.Module):  # type: ignore[misc]
    """All functions of one input: each export takes seconds."""

    def __init__(self, functions: Mapping[str, Callable[[Any], Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, data: Any) -> Any:
        return tuple(function(data) for function in self.functions.values())


def labels_of(network: Any) -> list[str]:
    """The layers' operators, and the names of the other operations but views."""
    steps = [step.operator.label if isinstance(step, Layer) else step.op for step in network.steps]
    return [step for step in steps if step not in ("reshape", "expand_dims", "squeeze")]


def computes_as_its_source(network: Any) -> None:
    """Built without a search."""
    inputs = random_inputs(network.inputs)
    assert check(network.built(defaults(network)), network.source, inputs) < 1e-5


IMAGES = "c=4, h=12, w=13"
POOLS: dict[str, Callable[[Any], Any]] = {
    # Of 12 rows a window is kept that begins in the image; of 13 columns all fit.
    f"pool2d({IMAGES}, kernel=3x3, stride=2x2, ceil_mode=true)": lambda x: functional.max_pool2d(
        x, 3, 2, ceil_mode=True
    ),
    f"pool2d({IMAGES}, kernel=3x3, stride=5x5)": lambda x: functional.max_pool2d(
        x[..., :12, :13], 3, 5
    ),
    f"pool2d({IMAGES}, kernel=3x3, stride=2x2, padding=1x1, kind=avg, ceil_mode=true)": (
        lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True)
    ),
    f"pool2d({IMAGES}, kernel=3x3, stride=4x4, kind=avg, ceil_mode=true)": lambda x: (
        functional.avg_pool2d(x, 3, 4, ceil_mode=True, count_include_pad=False)
    ),
    f"pool2d({IMAGES}, kernel=3x3, stride=2x2, padding=0x0x1x1)": lambda x: functional.max_pool2d(
        functional.pad(x, (0, 1, 0, 1), value=-torch.inf), 3, 2
    ),
    f"pool2d({IMAGES}, kernel=3x3, stride=2x2, padding=0x0x1x1, kind=avg)": (
        lambda x: functional.avg_pool2d(functional.pad(x, (0, 1, 0, 1)), 3, 2)
    ),
    f"pool2d({IMAGES}, kernel=12x13, stride=12x13, kind=avg)": lambda x: (
        functional.adaptive_avg_pool2d(x, 1)
    ),
    # Windows of 2 rows 2 apart, and of 3 columns 2 apart.
    f"pool2d({IMAGES}, kernel=2x3, stride=2x2, kind=avg)": lambda x: functional.adaptive_avg_pool2d(
        x, 6
    ),
    f"adaptive_pool2d({IMAGES}, output_size=5x3)": lambda x: functional.adaptive_avg_pool2d(
        x, (5, 3)
    ),
    "pool2d(c=4, h=12, w=13, kernel=4x1, stride=4x1)": lambda x: functional.adaptive_max_pool2d(
        x, (3, 13)
    ),
}


def test_pools_are_covered() -> None:
    network = from_torch(Several(POOLS), random_input(1, 4, 12, 13))
    assert labels_of(network) == list(POOLS)
    computes_as_its_source(network)


def test_a_maximum_of_windows_that_differ_takes_some_rows_twice() -> None:
    model = Several({"max": lambda x: functional.adaptive_max_pool2d(x, (5, 3))})
    network = from_torch(model, random_input(2, 4, 12, 13))
    assert labels_of(network) == [
        "take",
        "take",
        "pool2d(n=2, c=4, h=20, w=15, kernel=4x5, stride=4x5)",
    ]
    computes_as_its_source(network)


def test_pools_of_sequences_are_covered() -> None:
    functions = {
        "pool2d(n=2, c=4, h=1, w=13, kernel=1x3, stride=1x2, padding=0x1)": lambda x: (
            functional.max_pool1d(x, 3, 2, 1)
        ),
        "pool2d(n=2, c=4, h=1, w=13, kernel=1x4, stride=1x4, kind=avg)": lambda x: (
            functional.avg_pool1d(x, 4)
        ),
        "adaptive_pool2d(n=2, c=4, h=1, w=13, output_size=1x5)": lambda x: (
            functional.adaptive_avg_pool1d(x, 5)
        ),
    }
    network = from_torch(Several(functions), random_input(2, 4, 13))
    assert labels_of(network) == list(functions)
    computes_as_its_source(network)


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "pool2d(n=2, c=3, h=5, w=7, kernel=5x7, stride=5x7, kind=avg)": lambda x: x.mean((2, 3)),
    "reduce(outer=2, n=3, inner=35)": lambda x: x.mean(1),
    "reduce(outer=30, n=7)": lambda x: x.mean(-1, keepdim=True),
    "reduce(outer=2, n=15, inner=7, kind=sum)": lambda x: x.sum((1, 2)),
    "reduce(outer=6, n=5, inner=7, kind=max)": lambda x: x.amax(2),
    "reduce(outer=6, n=35, kind=min)": lambda x: x.amin((2, 3), keepdim=True),
    "reduce(n=210)": lambda x: x.mean(),
}


def test_reductions_are_covered() -> None:
    network = from_torch(Several(REDUCTIONS), random_input(2, 3, 5, 7))
    assert labels_of(network) == list(REDUCTIONS)
    computes_as_its_source(network)


def test_scattered_axes_are_reduced_one_group_after_the_other() -> None:
    network = from_torch(Several({"mean": lambda x: x.mean((0, 2))}), random_input(2, 3, 5, 7))
    assert labels_of(network) == ["reduce(outer=6, n=5, inner=7)", "reduce(n=2, inner=21)"]
    computes_as_its_source(network)


def test_a_divisor_of_ones_own() -> None:
    """TVM's importer ignores it."""
    model = Several({"mean": lambda x: functional.avg_pool2d(x, 3, 2, 1, divisor_override=5)})
    network = from_torch(model, random_input(1, 4, 12, 13))
    assert labels_of(network)[0].startswith("pool2d(c=4, h=12, w=13, kernel=3x3, stride=2x2")
    computes_as_its_source(network)


def test_indices_of_maxima_are_refused_in_one_line() -> None:
    def indices(data: Any) -> Any:
        return functional.adaptive_max_pool2d(data, 3, return_indices=True)[1]

    with pytest.raises(UsageError, match=r"adaptive_max_pool2d that returns indices") as refused:
        from_torch(Several({"indices": indices}), random_input(1, 4, 12, 13))
    assert "\n" not in str(refused.value)


class Padded(torch.nn.Module):  # type: ignore[misc]
    """Convolutions of padded images, as they are exported of TensorFlow's networks."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2)
        self.depthwise = torch.nn.Conv2d(8, 8, 5, stride=2, groups=8)
        self.same = torch.nn.Conv2d(8, 6, 4, padding="same")

    def forward(self, data: Any) -> Any:
        data = torch.relu(self.first(functional.pad(data, (0, 1, 0, 1))))
        return self.same(self.depthwise(functional.pad(data, (1, 2, 1, 2))))


def test_convolutions_take_padding_that_differs_on_opposite_sides() -> None:
    network = from_torch(seeded(Padded()), random_input(1, 3, 20, 22))
    assert labels_of(network) == [
        "conv2d(ci=3, h=20, w=22, co=8, kernel=3x3, stride=2x2, padding=0x0x1x1, bias=true, "
        "relu=true, constant_weights=true)",
        "depthwise_conv2d(c=8, h=10, w=11, kernel=5x5, stride=2x2, padding=1x1x2x2, bias=true, "
        "constant_weights=true)",
        "conv2d(ci=8, h=5, w=5, co=6, kernel=4x4, padding=1x1x2x2, bias=true, "
        "constant_weights=true)",
    ]
    computes_as_its_source(network)


def test_padding_that_others_read_stays() -> None:
    def both(data: Any) -> Any:
        padded = functional.pad(data, (0, 1, 0, 1))
        return functional.avg_pool2d(padded, 2), padded

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return both(data)

    network = from_torch(Model(), random_input(1, 2, 5, 7))
    assert sorted(labels_of(network)) == [
        "nn.pad",
        "pool2d(c=2, h=5, w=7, kernel=2x2, stride=2x2, padding=0x0x1x1, kind=avg)",
    ]
    computes_as_its_source(network)


def test_padding_that_is_no_padding_of_maxima_stays() -> None:
    model = Several({"max": lambda x: functional.max_pool2d(functional.pad(x, (0, 1, 0, 1)), 2)})
    network = from_torch(model, random_input(1, 2, 5, 7))
    assert labels_of(network) == ["nn.pad", "pool2d(c=2, h=6, w=8, kernel=2x2, stride=2x2)"]
    computes_as_its_source(network)


def onnx_file(folder: Path, image: tuple[int, int], *operators: tuple[str, dict[str, Any]]) -> Path:
    """A file in which each operator reads the output of the one before, of four channels."""
    onnx = pytest.importorskip("onnx", reason="networks in ONNX need the package onnx")
    helper, rng = onnx.helper, np.random.default_rng(0)
    names = ["data", *(f"value{number}" for number in range(len(operators) - 1)), "result"]
    weights = onnx.numpy_helper.from_array(rng.random((4, 4, 3, 3), dtype=np.float32) - 0.5, "w")
    nodes = [
        helper.make_node(
            kind, [names[n], *(["w"] if "Conv" in kind else [])], [names[n + 1]], **given
        )
        for n, (kind, given) in enumerate(operators)
    ]
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "small",
        [tensor("data", onnx.TensorProto.FLOAT, ("n", 4, *image))],
        [tensor("result", onnx.TensorProto.FLOAT, tuple("abcd"))],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "small.onnx"))
    return folder / "small.onnx"


def test_padding_by_a_rule_of_onnx(tmp_path: Path) -> None:
    window = {"kernel_shape": [3, 3], "strides": [2, 2]}
    path = onnx_file(
        tmp_path,
        (20, 23),
        ("Conv", {**window, "auto_pad": "SAME_UPPER"}),
        ("MaxPool", {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER"}),
        ("MaxPool", {**window, "auto_pad": "SAME_LOWER"}),
        ("AveragePool", {**window, "auto_pad": "SAME_UPPER"}),
    )
    network = from_onnx(path, batches=[2])
    assert labels_of(network) == [
        "conv2d(n=2, ci=4, h=20, w=23, co=4, kernel=3x3, stride=2x2, padding=0x1x1x1, "
        "constant_weights=true)",
        "pool2d(n=2, c=4, h=10, w=12, kernel=3x3, padding=1x1)",
        "pool2d(n=2, c=4, h=10, w=12, kernel=3x3, stride=2x2, padding=1x1x0x0)",
        "pool2d(n=2, c=4, h=5, w=6, kernel=3x3, stride=2x2, padding=1x0x1x1, kind=avg, "
        "count_include_pad=false)",
    ]
    computes_as_its_source(network)


def test_padding_in_numbers_and_ceil_mode_of_onnx(tmp_path: Path) -> None:
    path = onnx_file(
        tmp_path,
        (20, 23),
        ("Conv", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]}),
        ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ("GlobalMaxPool", {}),
    )
    network = from_onnx(path)
    assert labels_of(network) == [
        "conv2d(ci=4, h=20, w=23, co=4, kernel=3x3, stride=2x2, padding=0x0x1x1, "
        "constant_weights=true)",
        "pool2d(c=4, h=10, w=11, kernel=3x3, stride=2x2, ceil_mode=true)",
        "reduce(outer=4, n=25, kind=max)",
    ]
    computes_as_its_source(network)


def test_a_transposed_convolution_cut_off_on_one_side_alone(tmp_path: Path) -> None:
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0]}
    network = from_onnx(onnx_file(tmp_path, (5, 6), ("ConvTranspose", window)))
    assert labels_of(network) == [
        "conv2d_transpose(ci=4, h=5, w=6, co=4, kernel=3x3, stride=2x2, padding=1x1, "
        "output_padding=1x1, constant_weights=true)"
    ]
    computes_as_its_source(network)
