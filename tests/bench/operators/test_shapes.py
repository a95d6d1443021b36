"""``tunesmith bench operators --suite shapes``: its workloads, which every peer can compute."""

from __future__ import annotations

import pytest

from tunesmith.bench.operators.workloads import Suite, operator_workloads
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.errors import UsageError
from tunesmith.operators import ProductOperator

KNOWN = operator_workloads(suite=Suite.SHAPES)


def test_there_are_shapes_of_all_kinds() -> None:
    assert len(KNOWN) == 26
    assert {operator.name for operator in KNOWN.values()} == {
        *("conv2d", "depthwise_conv2d", "conv2d_transpose", "dense", "matmul", "batch_matmul"),
        *("softmax", "layer_norm", "pool2d"),
    }
    assert all(name.startswith("shapes.") for name in KNOWN)
    for operator in KNOWN.values():
        if isinstance(operator, ProductOperator):
            plain = operator.name in ("matmul", "batch_matmul")
            assert operator.constant_weights == (not plain)
            assert not operator.bias


def test_patterns_choose_within_the_suite() -> None:
    chosen = operator_workloads(["shapes.conv_?x?"], suite=Suite.SHAPES)
    assert list(chosen) == ["shapes.conv_3x3", "shapes.conv_1x7", "shapes.conv_7x1"]
    with pytest.raises(UsageError, match=r"unknown workload 'resnet18.C1'"):
        operator_workloads(["resnet18.C1"], suite=Suite.SHAPES)


@pytest.mark.parametrize("name", KNOWN)
def test_the_strongest_peers_compute_all(name: str) -> None:
    peers = library_peers()
    for peer in ("pytorch", "torch-compile", "onnxruntime", "openvino"):
        assert peers[peer].refuses(KNOWN[name]) is None
    onednn = peers["onednn"].refuses(KNOWN[name])
    assert (onednn is None) == (KNOWN[name].name != "layer_norm")
