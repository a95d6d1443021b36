"""Every peer computes what the operator says, whatever it lays out beforehand."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np
import pytest

from tunesmith.bench.peers import library_peers as peers
from tunesmith.bench.peers.library_peers import (
    library_peer,
    library_peers,
    library_versions_of_peers,
)
from tunesmith.bench.peers.numpy_operators import aligned, aligned_copy
from tunesmith.bench.peers.onnx_operators import own_value
from tunesmith.bench.peers.torch_operators import own_tensor
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    embedding,
    layer_norm,
    lstm,
    matmul,
    pool2d,
    reduce,
    softmax,
)

SPREAD = conv2d(ci=5, h=11, w=9, co=7, kernel=3, stride=2, padding=(1, 2), dilation=(2, 1))
POINTWISE = conv2d(n=2, ci=8, h=6, w=6, co=16, kernel=1, stride=2)
GROUPED = conv2d(ci=8, h=6, w=6, co=4, kernel=3, groups=2)
DEPTHWISE = depthwise_conv2d(c=8, h=7, w=7, kernel=3, padding=1)
DOUBLED = depthwise_conv2d(c=8, h=7, w=7, multiplier=2, kernel=3, stride=2)
DENSE = dense(m=3, k=10, n=8)
TRANSPOSED = conv2d_transpose(
    ci=8, h=6, w=7, co=5, kernel=(4, 3), stride=2, padding=1, output_padding=(1, 0)
)
UNWEIGHTED = {
    "softmax": softmax(m=5, n=37),
    "layer_norm": layer_norm(m=6, n=33),
    "max_pool": pool2d(c=5, h=9, w=8, kernel=3, stride=2, padding=1),
    "avg_pool": pool2d(c=16, h=9, w=7, kernel=3, stride=(2, 1), padding=1, kind="avg"),
    "avg_pool_inside": pool2d(
        c=16, h=9, w=7, kernel=3, padding=1, kind="avg", count_include_pad=False
    ),
    "pool_of_four_sides": pool2d(c=5, h=9, w=8, kernel=3, stride=2, padding=(0, 0, 1, 1)),
    "max_pool_in_ceil_mode": pool2d(c=5, h=8, w=8, kernel=3, stride=2, ceil_mode=True),
    "avg_pool_in_ceil_mode": pool2d(
        c=16, h=8, w=8, kernel=3, stride=2, padding=1, kind="avg", ceil_mode=True
    ),
    "adaptive_pool": adaptive_pool2d(c=5, h=8, w=7, output_size=(3, 2)),
    "mean": reduce(outer=3, n=20, inner=5),
    "maximum": reduce(outer=3, n=20, kind="max"),
    "embedding": embedding(n=6, rows=9, width=20),
    "embedding_int32": embedding(n=6, rows=9, width=20, index_dtype="int32"),
    "global_pool": pool2d(c=16, h=7, w=7, kernel=7, kind="avg"),
}
MATMUL = matmul(m=5, n=6, k=7)
BATCHES = {
    transpose: batch_matmul(b=3, m=4, n=5, k=6, transpose=transpose)
    for transpose in ("NN", "TN", "NT")
}


def with_options(operator: Operator, **options: Any) -> Operator:
    return type(operator)(**{**operator.to_json()["options"], **options})


WEIGHTED = {
    "spread": SPREAD,
    "pointwise": POINTWISE,
    "of_four_sides": conv2d(ci=5, h=8, w=9, co=7, kernel=3, stride=2, padding=(0, 0, 1, 2)),
    "grouped": GROUPED,
    "depthwise": DEPTHWISE,
    "doubled": DOUBLED,
    "transposed": TRANSPOSED,
    "dense": DENSE,
}
KINDS = {
    **{kind: with_options(plain, constant_weights=True) for kind, plain in WEIGHTED.items()},
    "matmul": MATMUL,
    **BATCHES,
    **UNWEIGHTED,
}
FOUR_SIDES = {"of_four_sides", "pool_of_four_sides"}
NOT_BY_ONEDNN = FOUR_SIDES | {
    "adaptive_pool",
    "mean",
    "maximum",
    "avg_pool_in_ceil_mode",
    "embedding",
    "embedding_int32",
}
CONVOLUTIONS = set(WEIGHTED) - {"dense"}
# What each peer computes; it refuses the other kinds.
RUNS = {
    "pytorch": set(KINDS) - FOUR_SIDES,
    "onednn": set(KINDS) - {"TN", "NT", "layer_norm"} - NOT_BY_ONEDNN,
    "onednn-blocked": (CONVOLUTIONS | set(UNWEIGHTED)) - {"softmax", "layer_norm"} - NOT_BY_ONEDNN,
    "torch-compile": set(KINDS) - FOUR_SIDES,
    "onnxruntime": set(KINDS) - {"adaptive_pool", "avg_pool_in_ceil_mode"},
    "openvino": set(KINDS) - {"adaptive_pool", "avg_pool_in_ceil_mode"},
    "numpy": set(KINDS) - {"grouped", "depthwise", "doubled", "transposed", "adaptive_pool"},
}
# TorchInductor takes long, and has a test of its own.
QUICK = [(name, kind) for name, kinds in RUNS.items() if name != "torch-compile" for kind in kinds]


def results_of(name: str, operator: Operator) -> list[Any]:
    """The second result of each of a peer's ways, as an array: the first may still lay out."""
    peer = library_peer(name)
    missing = peer.missing()
    if missing is not None:
        pytest.skip(f"{peer.title} is {missing}")
    inputs = operator.make_inputs(seed=3)
    call = peer.call(operator, inputs, 2)
    for array in inputs:  # of which the peer has copies in memory of its own
        array.fill(np.nan if array.dtype.kind == "f" else 0)
    ways = [*call.ways.values()] if isinstance(call, Fastest) else [call]
    for way in ways:
        way()
    return [as_array(way()) for way in ways]


def as_array(result: Any) -> Any:
    if getattr(result, "is_mkldnn", False):
        result = result.to_dense()
    return result if isinstance(result, np.ndarray) else result.numpy()


def assert_right(operator: Operator, results: list[Any]) -> None:
    expected = operator.reference(*operator.make_inputs(seed=3))
    relative, absolute = operator.tolerance
    for result in results:
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, relative, absolute)


@pytest.mark.parametrize(("name", "kind"), sorted(QUICK))
def test_it_computes_the_operator(name: str, kind: str) -> None:
    assert_right(KINDS[kind], results_of(name, KINDS[kind]))


@pytest.mark.parametrize(
    ("name", "kind"), [case for case in sorted(QUICK) if case[1] not in UNWEIGHTED]
)
def test_it_computes_the_operator_with_bias_and_relu(name: str, kind: str) -> None:
    operator = with_options(KINDS[kind], bias=True, relu=True)
    assert_right(operator, results_of(name, operator))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", library_peers())
def test_it_computes_what_it_should_and_says_why_not(name: str, kind: str) -> None:
    for options in ({}, {} if kind in UNWEIGHTED else {"bias": True, "relu": True}):
        reason = library_peer(name).refuses(with_options(KINDS[kind], **options))
        if kind in RUNS[name]:
            assert reason is None
        else:
            assert reason
            assert "\n" not in reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "operator",
    [
        with_options(SPREAD, constant_weights=True, bias=True, relu=True),
        with_options(DEPTHWISE, constant_weights=True),
        DENSE,
        BATCHES["TN"],
        with_options(TRANSPOSED, constant_weights=True),
        UNWEIGHTED["layer_norm"],
    ],
    ids=lambda operator: operator.label,
)
def test_torch_compile_computes_the_operator(operator: Operator, c_compiler: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.compiler.reset()
    assert_right(operator, results_of("torch-compile", operator))


@pytest.mark.parametrize("name", ["pytorch", "onnxruntime", "openvino", "numpy"])
def test_a_residual_is_added(name: str) -> None:
    operator = with_options(DENSE, residual=True, relu=True)
    assert library_peer(name).refuses(operator) is None
    assert_right(operator, results_of(name, operator))


@pytest.mark.parametrize(
    ("name", "operator", "reason"),
    [
        ("onednn", BATCHES["TN"], "none transposed"),
        ("onednn", POINTWISE, "no constant weights"),
        ("onednn", with_options(DENSE, constant_weights=True, residual=True), "residual"),
        ("onednn-blocked", with_options(DENSE, constant_weights=True), "no blocked format"),
        ("onnxruntime", with_options(SPREAD, layout="NHWC"), "NHWC"),
        ("onnxruntime", with_options(DENSE, dtype="float64"), "float64"),
        ("openvino", with_options(SPREAD, layout="NHWC"), "NHWC"),
        ("onednn", UNWEIGHTED["layer_norm"], "layer normalisation"),
        ("onednn-blocked", UNWEIGHTED["softmax"], "no blocked format"),
        ("numpy", TRANSPOSED, "transposed"),
        ("numpy", DEPTHWISE, "grouped"),
        ("numpy", GROUPED, "grouped"),
        ("onnxruntime", lstm(units=4), "no library has cells alone"),
        ("pytorch", with_options(DENSE, dtype="int8"), "int8"),
    ],
    ids=str,
)
def test_what_a_peer_cannot_do_is_said(name: str, operator: Operator, reason: str) -> None:
    refused = library_peer(name).refuses(operator)
    assert refused is not None
    assert reason in refused


def unaligned(shape: tuple[int, ...]) -> Any:
    """An array that starts 4 bytes after a multiple of 64."""
    array = aligned((math.prod(shape) + 1,), np.float32)[1:].reshape(shape)
    array[...] = np.arange(array.size, dtype=np.float32).reshape(shape)
    assert array.ctypes.data % 64 == 4
    return array


def test_inputs_of_numpy_are_aligned() -> None:
    array = unaligned((3, 5))
    copy = aligned_copy(array)
    assert copy.ctypes.data % 64 == 0
    np.testing.assert_array_equal(copy, array)


def test_inputs_of_pytorch_are_aligned() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    array = unaligned((3, 5))
    tensor = own_tensor(array)
    assert tensor.data_ptr() % 64 == 0
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_inputs_of_onnx_runtime_are_aligned() -> None:
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    array = unaligned((3, 5))
    value = own_value(array)
    assert value.data_ptr() % 64 == 0
    np.testing.assert_array_equal(value.numpy(), array)


def test_a_peer_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert library_peer("onnxruntime").missing() == "not installed: onnxruntime, onnx"
    assert library_versions_of_peers() == {}


def test_versions_are_of_what_is_installed() -> None:
    versions = library_versions_of_peers()
    assert versions["numpy"] == np.__version__
    assert all(version[0].isdigit() for version in versions.values())
    assert ("torch" in versions) == (importlib.util.find_spec("torch") is not None)


def test_a_peer_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="unknown peer 'pytorsh': did you mean pytorch"):
        library_peer("pytorsh")


def test_sides_name_their_peer() -> None:
    assert peers.library_peer("numpy").side(DENSE, 2) == {
        "kind": "peer",
        "peer": "numpy",
        "operator": DENSE.to_json(),
        "cores": 2,
        "environment": {},
        "hide_beyond": None,
    }
