"""Layers with a name."""

from __future__ import annotations

import pytest

from tunesmith.errors import UsageError
from tunesmith.operators import (
    Conv2d,
    DepthwiseConv2d,
    batch_matmul,
    conv2d,
    matmul,
    workload,
    workload_names,
)


def test_resnet18_has_the_twelve_layers_of_the_paper() -> None:
    assert [n for n in workload_names() if n.startswith("resnet18.")] == [
        f"resnet18.C{index}" for index in range(1, 13)
    ]
    assert workload("resnet18.C1") == conv2d(
        n=1, ci=3, h=224, w=224, co=64, kernel=7, stride=2, padding=3
    )
    assert workload("resnet18.C10").result.shape == (1, 512, 7, 7)


def test_the_layers_of_mobilenet_follow_one_another() -> None:
    for index in range(1, 10):
        depthwise = workload(f"mobilenet.dw{index}")
        pointwise = workload(f"mobilenet.pw{index}")
        assert isinstance(depthwise, DepthwiseConv2d)
        assert isinstance(pointwise, Conv2d)
        assert depthwise.result.shape == pointwise.arguments[0].shape
        if index < 9:
            following = workload(f"mobilenet.dw{index + 1}")
            assert pointwise.result.shape == following.arguments[0].shape
    assert workload("mobilenet.pw9").result.shape == (1, 1024, 7, 7)


def test_the_network_of_all_mobilenet_layers_has_the_published_multiply_adds() -> None:
    """569 million (MobileNetV1, table 4), the first convolution and the classifier included."""
    times = {7: 5}
    layers = sum(
        times.get(index, 1) * workload(f"mobilenet.{kind}{index}").flops
        for index in range(1, 10)
        for kind in ("dw", "pw")
    )
    ends = conv2d(ci=3, h=224, w=224, co=32, kernel=3, stride=2, padding=1).flops
    ends += matmul(m=1, n=1000, k=1024).flops
    assert (layers + ends) / 2 == pytest.approx(569e6, rel=0.001)


def test_matrices_of_the_experiments() -> None:
    assert workload("matmul.1024") == matmul(m=1024, n=1024, k=1024)
    assert workload("dense.1x4096x1000").result.shape == (1, 1000)
    assert workload("opevo.MM2") == matmul(m=512, n=4096, k=1024)
    assert workload("opevo.BMM.NT") == batch_matmul(b=960, m=128, n=128, k=64, transpose="NT")
    assert workload("opevo.C1").result.shape == (512, 64, 55, 55)
    assert workload("opevo.C2").result.shape == (512, 192, 27, 27)


def test_an_unknown_layer_is_named_with_its_neighbours() -> None:
    with pytest.raises(UsageError, match=r"unknown layer 'resnet18\.C13': did you mean resnet18"):
        workload("resnet18.C13")
