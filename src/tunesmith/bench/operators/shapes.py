"""The workloads of ``tunesmith bench operators --suite shapes``: kinds that the layers lack.

Most are layers of well-known networks (ResNeXt, EfficientNet, MobileNetV2, Inception, DeepLab,
DCGAN, U-Net, BERT) at batch 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    LayerNorm,
    Matmul,
    Operator,
    Pool2d,
    Softmax,
)

SHAPES = "shapes."
"""What the names of these workloads begin with."""


def _window(channels: int, size: int, kernel: int | tuple[int, int], **options: object) -> Operator:
    """A convolution of square images with as many channels coming out as going in."""
    given = {"ci": channels, "co": channels, "h": size, "w": size, "kernel": kernel}
    return Conv2d(**{**given, **options}, constant_weights=True)  # type: ignore[arg-type]


def _transposed(ci: int, co: int, size: int, kernel: int, **options: int) -> Operator:
    return Conv2dTranspose(
        ci=ci,
        co=co,
        h=size,
        w=size,
        kernel=kernel,
        stride=2,
        constant_weights=True,
        **options,  # type: ignore[arg-type]
    )


def _pool(channels: int, size: int, kernel: int, **options: object) -> Operator:
    return Pool2d(c=channels, h=size, w=size, kernel=kernel, **options)  # type: ignore[arg-type]


_CONVOLUTIONS = {
    "conv_3x3": _window(96, 40, 3, padding=1),
    "conv_3x3_in_32_groups": _window(128, 56, 3, padding=1, groups=32),
    "depthwise_5x5_stride_2": DepthwiseConv2d(
        c=144, h=56, w=56, kernel=5, stride=2, padding=2, constant_weights=True
    ),
    "conv_1x1_few_channels": _window(16, 112, 1, co=96),
    "conv_1x1_on_7x7": _window(960, 7, 1, co=320),
    "conv_1x7": _window(192, 17, (1, 7), padding=(0, 3)),
    "conv_7x1": _window(192, 17, (7, 1), padding=(3, 0)),
    "conv_3x3_dilated": _window(128, 28, 3, padding=2, dilation=2),
    "conv_3x3_stride_2": _window(32, 208, 3, co=64, padding=1, stride=2),
    "conv_3x3_stride_2_of_rgb": _window(3, 299, 3, co=32, stride=2),
}
_TRANSPOSED = {
    "conv_transpose_4x4_on_8x8": _transposed(512, 256, 8, 4, padding=1),
    "conv_transpose_4x4_on_16x16": _transposed(256, 128, 16, 4, padding=1),
    "conv_transpose_2x2": _transposed(256, 128, 28, 2),
    "conv_transpose_3x3": _transposed(128, 64, 28, 3, padding=1, output_padding=1),
}
_PRODUCTS = {
    "dense_4_rows": Dense(m=4, k=1024, n=4096, constant_weights=True),
    "dense_400_rows": Dense(m=400, k=768, n=3072, constant_weights=True),
    "matmul_odd": Matmul(m=333, n=517, k=259),
    "attention_scores": BatchMatmul(b=12, m=128, n=128, k=64),
    "attention_values": BatchMatmul(b=12, m=128, n=64, k=128),
}
_OTHERS = {
    "softmax_1024x1000": Softmax(m=1024, n=1000),
    "softmax_1536x128": Softmax(m=1536, n=128),
    "layer_norm_128x768": LayerNorm(m=128, n=768),
    "max_pool_3x3": _pool(64, 112, 3, stride=2, padding=1),
    "max_pool_2x2": _pool(128, 56, 2, stride=2),
    "avg_pool_3x3": _pool(192, 35, 3, padding=1, kind="avg"),
    "avg_pool_global": _pool(2048, 7, 7, kind="avg"),
}


def shape_workloads() -> Mapping[str, Operator]:
    """All of them by name, such as ``shapes.conv_1x7``. Weights of layers are constant."""
    known = {**_CONVOLUTIONS, **_TRANSPOSED, **_PRODUCTS, **_OTHERS}
    return {SHAPES + name: operator for name, operator in known.items()}
