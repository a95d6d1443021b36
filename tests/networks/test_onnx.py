"""Networks in ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small_onnx import onnx, saved, small_model
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_file, from_onnx
from tunesmith.networks.check import check
from tunesmith.networks.importing.onnx import input_shapes, read_model, source_of
from tunesmith.networks.layers.layer import Layer


def test_a_model_is_covered(tmp_path: Path) -> None:
    network = from_file(saved(small_model(), tmp_path))
    labels = [step.operator.label if isinstance(step, Layer) else step.op for step in network.steps]
    assert labels == [
        "conv2d(ci=3, h=8, w=8, co=8, kernel=3x3, padding=1x1, bias=true, "
        f"post_ops=clip:0:{float(np.float32(0.4))!r}, constant_weights=true)",
        "pool2d(c=8, h=8, w=8, kernel=8x8, stride=8x8, kind=avg)",
        "reshape",
        "dense(n=5, k=8, bias=true, post_ops=hard_swish, constant_weights=true)",
        "softmax(m=1, n=5)",
    ]


def test_it_computes_what_its_source_computes(tmp_path: Path) -> None:
    network = from_onnx(saved(small_model(), tmp_path), batches=[2])
    compiled = network.build(contenders=1)
    assert compiled.description.inputs[0].shape == (2, 3, 8, 8)
    assert compiled.relative_error is not None
    assert compiled.relative_error < 1e-5


def test_the_source_is_the_model(tmp_path: Path) -> None:
    data = np.random.default_rng(0).random((1, 3, 8, 8), dtype=np.float32)
    (found,) = source_of(read_model(saved(small_model(), tmp_path)))([data])
    assert found.shape == (1, 5)
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)


def test_sizes_that_are_open() -> None:
    assert input_shapes(small_model(), 4) == {"data": [4, 3, 8, 8]}
    with pytest.raises(UsageError, match="input data has the unknown size wide: export the model"):
        input_shapes(small_model(sizes=(1, 3, "wide", 8)), 1)


def test_operators_that_are_not_supported_are_named(tmp_path: Path) -> None:
    node = onnx.helper.make_node("RNN", ["data", "w", "b"], ["result"], hidden_size=2)
    path = saved(small_model([node], (1, 2, 3)), tmp_path)
    with pytest.raises(UsageError, match=r"not supported: RNN \(node that makes result\)$"):
        from_onnx(path)
    node.name = "encoder/rnn"
    path = saved(small_model([node], (1, 2, 3)), tmp_path)
    with pytest.raises(UsageError, match=r"not supported: RNN \(node encoder/rnn\)$"):
        from_onnx(path)


def test_weights_in_a_file_of_their_own(tmp_path: Path) -> None:
    path, weights = tmp_path / "small.onnx", tmp_path / "small.weights"
    others = {"location": weights.name, "size_threshold": 0}
    onnx.save(small_model(), str(path), save_as_external_data=True, **others)
    for found, expected in zip(
        read_model(path).graph.initializer, small_model().graph.initializer, strict=True
    ):
        array, same = map(onnx.numpy_helper.to_array, (found, expected))
        np.testing.assert_array_equal(array, same)
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(UsageError, match=r"the weights of .*small\.onnx cannot be read: .*864"):
        from_onnx(path)
    weights.unlink()
    with pytest.raises(UsageError, match=r"are missing: put the file small\.weights into the same"):
        from_onnx(path)


def looked_up(path: Path, nodes: list[Any], found: tuple[int, ...], opset: int = 17) -> Network:
    """Of words (2, 3): look-ups in a table of ten rows of four numbers, and what follows."""
    helper, rng = onnx.helper, np.random.default_rng(0)
    arrays = {
        "table": rng.random((10, 4), dtype=np.float32),
        "weights": rng.random((4, 5), dtype=np.float32),
        "low": np.float32(0.25),
        "high": np.float32(1.5),
        "last": np.array(-1),
        "one": np.array(1),
    }
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info("words", onnx.TensorProto.INT64, (2, 3))],
        [helper.make_tensor_value_info("result", onnx.TensorProto.FLOAT, found)],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return from_onnx(saved(helper.make_model(graph, opset_imports=opsets, ir_version=9), path))


def test_clips_are_post_ops_and_look_ups_are_embeddings(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    for opset, clips in {
        11: [make("Clip", ["products", "low", "high"], ["result"])],
        17: [
            make("Clip", ["products", "low"], ["above"]),
            make("Clip", ["above", "", "high"], ["result"]),
        ],
    }.items():
        nodes = [
            make("Gather", ["table", "words"], ["found"]),
            make("MatMul", ["found", "weights"], ["products"]),
            *clips,
        ]
        network = looked_up(tmp_path, nodes, (2, 3, 5), opset)
        assert [step.operator.label for step in network.layers] == [
            "embedding(n=6, rows=10, width=4)",
            "matmul(m=6, n=5, k=4, post_ops=clip:0.25:1.5, constant_weights=true)",
        ]
        assert len(network.steps) == 2
        compiled, words = network.built(defaults(network)), np.array([[0, 1, 9], [3, 9, 5]])
        assert network.source is not None
        assert check(compiled, network.source, [words]) < 1e-6
        for wrong in (10, -1):
            with pytest.raises(UsageError, match="words must be indices from 0 to 9, not from "):
                compiled(np.full((2, 3), wrong))


def test_indices_that_are_computed_may_count_from_the_end(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("Neg", ["words"], ["below"]), make("Gather", ["table", "below"], ["result"])]
    network = looked_up(tmp_path, nodes, (2, 3, 4))
    assert [step.operator.label for step in network.layers] == ["embedding(n=6, rows=10, width=4)"]
    compiled, words = network.built(defaults(network)), np.array([[0, 1, 9], [3, 10, 5]])
    assert network.source is not None
    assert check(compiled, network.source, [words]) == 0


def test_a_look_up_at_a_place_that_is_known_is_a_slice(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["table", "words"], ["found"]),
        make("Gather", ["found", "last"], ["columns"], axis=2),
        make("Gather", ["columns", "one"], ["result"], axis=0),
    ]
    network = looked_up(tmp_path, nodes, (3,))
    left = {step.op for step in network.steps if not isinstance(step, Layer)}
    assert left == {"reshape", "sliced"}
    assert network.source is not None
    words = np.array([[0, 1, 9], [3, 9, 5]])
    assert check(network.built(defaults(network)), network.source, [words]) == 0


def test_files_that_are_no_models(tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    other.write_text("no model")
    for path, message in [
        (tmp_path / "none.onnx", r"there is no file .*none\.onnx: name a model that is there"),
        (other, r"other\.onnx is no model in ONNX: "),
        (tmp_path / "model.h5", r"model\.h5 is neither \.onnx nor \.pt2: export the model"),
    ]:
        with pytest.raises(UsageError, match=message) as refused:
            from_file(path)
        assert "\n" not in str(refused.value)
