"""Operators of ONNX that TVM's importer makes loops of: clips, padding, and others as they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small_onnx import onnx, saved
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_onnx
from tunesmith.networks.check import SourceError, check, random_inputs
from tunesmith.networks.layers.layer import Layer

make = onnx.helper.make_node


def network_of(
    folder: Path,
    nodes: list[Any],
    constants: Mapping[str, Any],
    shape: tuple[int, ...],
    *,
    opset: int,
    kind: str = "FLOAT",
) -> Network:
    """The network of nodes from ``x`` to ``y``, which have the same type and as many axes."""
    helper, dtype = onnx.helper, getattr(onnx.TensorProto, kind)
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", dtype, tuple("abcd")[: len(shape)])],
        [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return from_onnx(saved(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder))


def computes_as_its_source(network: Network) -> None:
    assert network.source is not None
    compiled = network.built(defaults(network))
    try:
        error = check(compiled, network.source, random_inputs(network.inputs))
    except SourceError:
        pytest.importorskip("onnxruntime", reason="what ONNX's own evaluator cannot compute")
        raise
    assert error < 1e-6


def steps_of(network: Network) -> list[str]:
    return [step.operator.label if isinstance(step, Layer) else step.op for step in network.steps]


@pytest.mark.parametrize("opset", [6, 10])
@pytest.mark.parametrize(
    ("bounds", "text"), [({"min": -0.5, "max": 0.5}, "-0.5:0.5"), ({"min": -0.5}, "-0.5:inf")]
)
def test_clips_by_attributes(
    tmp_path: Path, bounds: dict[str, float], text: str, opset: int
) -> None:
    network = network_of(tmp_path, [make("Clip", ["x"], ["y"], **bounds)], {}, (4, 6), opset=opset)
    assert steps_of(network) == [f"elementwise(inner=24, post_ops=clip:{text})"]
    computes_as_its_source(network)


def test_clips_of_integers_have_no_infinite_bound(tmp_path: Path) -> None:
    data = np.arange(-8, 16, dtype=np.int32).reshape(4, 6)
    cases: tuple[tuple[list[str], int | None, int | None], ...] = (
        (["x", "low"], 1, None),
        (["x", "", "high"], None, 0),
        (["x", "low", "high"], -2, 3),
    )
    for inputs, low, high in cases:
        bounds = {n: np.int32(v) for n, v in (("low", low), ("high", high)) if v is not None}
        network = network_of(
            tmp_path, [make("Clip", inputs, ["y"])], bounds, (4, 6), opset=13, kind="INT32"
        )
        assert "clip" not in steps_of(network)
        computes_as_its_source(network)
        found = network.built(defaults(network))(data)
        np.testing.assert_array_equal(found, np.clip(data, low, high))


@pytest.mark.parametrize(
    ("mode", "pads", "opset"),
    [
        ("constant", [0, 1, 2, 0], 11),
        ("constant", [-1, 1, 2, -2], 13),
        ("edge", [1, 1, 2, 2], 13),
        ("reflect", [1, 1, 0, 2], 18),
        ("wrap", [1, 2, 0, 1], 19),
    ],
)
def test_padding(tmp_path: Path, mode: str, pads: list[int], opset: int) -> None:
    nodes = [make("Pad", ["x", "pads", "value"], ["y"], mode=mode)]
    constants = {"pads": np.array(pads), "value": np.float32(1.5)}
    network = network_of(tmp_path, nodes, constants, (3, 4), opset=opset)
    assert steps_of(network)[-1] == "nn.pad"
    computes_as_its_source(network)


def test_what_its_source_cannot_compute_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as padding by less than nothing, without ONNX Runtime."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    pads = {"pads": np.array([0, -1, 0, 1])}
    network = network_of(tmp_path, [make("Pad", ["x", "pads"], ["y"])], pads, (2, 4), opset=13)
    compiled = network.build(contenders=1)
    assert compiled.relative_error is None
    assert re.fullmatch(
        r"ONNX's own evaluator cannot compute the network \(.*negative.*\): install onnxruntime.*",
        str(compiled.unchecked),
    )
    found = compiled(np.arange(8, dtype=np.float32).reshape(2, 4))
    np.testing.assert_array_equal(found, [[1, 2, 3, 0], [5, 6, 7, 0]])


def test_padding_of_some_axes_by_attributes_and_of_integers(tmp_path: Path) -> None:
    axes = {"pads": np.array([2, 1]), "axes": np.array([-1])}
    by_axes = [make("Pad", ["x", "pads", "", "axes"], ["y"])]
    computes_as_its_source(network_of(tmp_path, by_axes, axes, (3, 4), opset=18))
    older = [make("Pad", ["x"], ["y"], pads=[0, 1, 2, 0], value=1.5)]
    computes_as_its_source(network_of(tmp_path, older, {}, (3, 4), opset=9))
    integers = [make("Pad", ["x", "pads"], ["y"])]
    pads = {"pads": np.array([0, 1, 2, 0])}
    computes_as_its_source(network_of(tmp_path, integers, pads, (3, 4), opset=13, kind="INT32"))


def test_infinite_numbers_of_one_sign(tmp_path: Path) -> None:
    data = np.array([[-np.inf, -1, np.nan], [0, np.inf, 2]], np.float32)
    for sign, other in ((1, "detect_negative"), (-1, "detect_positive")):
        nodes = [
            make("IsInf", ["x"], ["found"], **{other: 0}),
            make("Cast", ["found"], ["y"], to=onnx.TensorProto.FLOAT),
        ]
        compiled = network_of(tmp_path, nodes, {}, (2, 3), opset=13).build(contenders=1)
        np.testing.assert_array_equal(compiled(data), data == sign * np.inf)


@pytest.mark.parametrize("exponent", [np.int64(2), np.float32(0.5), np.float64(3)])
def test_powers_of_another_type(tmp_path: Path, exponent: Any) -> None:
    nodes = [make("Abs", ["x"], ["positive"]), make("Pow", ["positive", "exponent"], ["y"])]
    computes_as_its_source(network_of(tmp_path, nodes, {"exponent": exponent}, (3, 4), opset=13))


def test_powers_of_whole_numbers_are_whole(tmp_path: Path) -> None:
    nodes = [make("Pow", ["x", "exponent"], ["y"])]
    exponents = {"exponent": np.array([0, 1, 2, 3, 5])}
    network = network_of(tmp_path, nodes, exponents, (6, 5), opset=13, kind="INT32")
    data = np.tile(np.array([[0], [1], [5], [6], [7], [10]], np.int32), 5)
    found = network.built(defaults(network))(data)
    np.testing.assert_array_equal(found, data ** exponents["exponent"])


def test_powers_of_constants_are_constants(tmp_path: Path) -> None:
    """Others need them so, such as a number of places."""
    nodes = [make("Pow", ["two", "two"], ["k"]), make("TopK", ["x", "k"], ["y", "places"])]
    network = network_of(tmp_path, nodes, {"two": np.array([2])}, (3, 5), opset=13)
    assert network.built(defaults(network))(np.eye(3, 5, dtype=np.float32)).shape == (3, 4)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_images_are_enlarged_as_older_versions_have_it(tmp_path: Path, mode: str) -> None:
    by_input = [make("Upsample", ["x", "scales"], ["y"], mode=mode)]
    scales = {"scales": np.array([1, 1, 2, 3], np.float32)}
    computes_as_its_source(network_of(tmp_path, by_input, scales, (1, 2, 3, 4), opset=9))
    by_attribute = [make("Upsample", ["x"], ["y"], mode=mode, scales=[1.0, 1.0, 2.0, 1.4])]
    computes_as_its_source(network_of(tmp_path, by_attribute, {}, (1, 2, 3, 5), opset=8))


def test_sums_of_all_before_and_places_in_order(tmp_path: Path) -> None:
    """Which TVM has as loops, that no schedule is for."""
    for attributes in ({}, {"reverse": 1}, {"exclusive": 1}):
        nodes = [make("CumSum", ["x", "axis"], ["y"], **attributes)]
        computes_as_its_source(network_of(tmp_path, nodes, {"axis": np.array(1)}, (3, 4), opset=13))
    nodes = [make("TopK", ["x", "k"], ["y", "places"])]
    computes_as_its_source(network_of(tmp_path, nodes, {"k": np.array([2])}, (3, 4), opset=13))
    nodes = [make("ScatterElements", ["x", "places", "updates"], ["y"], axis=0)]
    given = {"places": np.array([[-1, 0, -2]]), "updates": np.ones((1, 3), np.float32)}
    computes_as_its_source(network_of(tmp_path, nodes, given, (3, 3), opset=13))


def test_what_dropout_leaves_out_is_nothing(tmp_path: Path) -> None:
    nodes = [
        make("Dropout", ["x"], ["kept", "mask"]),
        make("Cast", ["mask"], ["ones"], to=onnx.TensorProto.FLOAT),
        make("Sub", ["kept", "ones"], ["y"]),
    ]
    computes_as_its_source(network_of(tmp_path, nodes, {}, (3, 4), opset=13))


@pytest.mark.parametrize(
    ("nodes", "shape", "opset", "complaint"),
    [
        ([make("Slice", ["x", "zero", "zero"], ["y"])], (3, 4), 13, "has no elements: export"),
        ([make("Cast", ["x"], ["y"], to=17)], (3, 4), 19, "is of float8_e4m3fn, which is not"),
        ([make("Attention", ["x"] * 3, ["y"])], (1, 2, 4, 8), 23, "of opset 23: export it"),
        ([make("Upsample", ["x"], ["y"], scales=[1.0, 2.0])], (3, 4), 8, "Upsample is supported"),
        (
            [make("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 1.5, 2.0])],
            (1, 2, 3, 4),
            8,
            r"Upsample of 3x4 by \[1.5 2. \] gives no whole size",
        ),
    ],
)
def test_what_is_refused(
    tmp_path: Path, nodes: list[Any], shape: tuple[int, ...], opset: int, complaint: str
) -> None:
    zero = {"zero": np.array([0])} if opset == 13 else {}
    with pytest.raises(UsageError, match=complaint):
        network_of(tmp_path, nodes, zero, shape, opset=opset)


def test_a_model_without_inputs_is_refused(tmp_path: Path) -> None:
    helper = onnx.helper
    value = onnx.numpy_helper.from_array(np.ones(3, np.float32))
    found = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (3,))
    graph = helper.make_graph([make("Constant", [], ["y"], value=value)], "constant", [], [found])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with pytest.raises(UsageError, match="the model has no input, so its results are constants"):
        from_onnx(saved(model, tmp_path))


def test_padding_before_a_convolution_is_the_convolutions(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).random((4, 2, 3, 3), dtype=np.float32)
    network = network_of(
        tmp_path,
        [make("Pad", ["x", "pads"], ["padded"]), make("Conv", ["padded", "w"], ["y"])],
        {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "w": weights},
        (1, 2, 5, 5),
        opset=13,
    )
    assert steps_of(network) == [
        "conv2d(ci=2, h=5, w=5, co=4, kernel=3x3, padding=1x1, constant_weights=true)"
    ]
    computes_as_its_source(network)


def test_functions_of_tir_stay_as_they_are(tmp_path: Path) -> None:
    """Between layers, twice the same one, and with several inputs."""
    network = network_of(
        tmp_path,
        [
            make("Resize", ["x", "", "scales"], ["wide"], mode="linear"),
            make("Relu", ["wide"], ["positive"]),
            make("Tile", ["positive", "twice"], ["first"]),
            make("Tile", ["wide", "twice"], ["second"]),
            make("Einsum", ["first", "second"], ["y"], equation="bij,bkj->bik"),
        ],
        {"scales": np.array([1, 1, 2], np.float32), "twice": np.array([1, 2, 1])},
        (1, 3, 5),
        opset=13,
    )
    assert steps_of(network) == [
        "tir.resize1d",
        "elementwise(inner=30, post_ops=relu)",
        "tir.tile",
        "tir.tile",
        "tir.einsum",
    ]
    computes_as_its_source(network)


@pytest.mark.parametrize("bias", [[], ["", "", "bias"]])
def test_attention_as_one_operator_is_of_layers(tmp_path: Path, bias: list[str]) -> None:
    """That of ONNX Runtime, which alone evaluates it."""
    pytest.importorskip("onnxruntime", reason="an operator that ONNX's own evaluator lacks")
    helper, rng = onnx.helper, np.random.default_rng(0)
    arrays = {name: rng.random(shape, dtype=np.float32) for name, shape in _ATTENTION.items()}
    tensor, kind = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    node = make("Attention", ["x", "w", "b", *bias], ["y"], domain="com.microsoft", num_heads=2)
    graph = helper.make_graph(
        [node],
        "attention",
        [tensor("x", kind, (1, 5, 8))],
        [tensor("y", kind, (1, 5, 8))],
        [onnx.numpy_helper.from_array(each, name) for name, each in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    network = from_onnx(saved(model, tmp_path))
    names = [layer.operator.name for layer in network.layers]
    assert names == ["matmul", "batch_matmul", "softmax", "batch_matmul"]
    computes_as_its_source(network)


_ATTENTION = {"w": (8, 24), "b": (24,), "bias": (1, 2, 5, 5)}
