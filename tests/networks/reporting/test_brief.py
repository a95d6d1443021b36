from __future__ import annotations

import pytest

from tunesmith.networks.reporting.brief import brief
from tunesmith.operators import Operator, operator_from_json, parse_operator


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        (
            "conv2d",
            "ci=3 h=224 w=224 co=64 kernel=7x7 stride=2 padding=3 bias=true relu=true "
            "constant_weights=true",
            "conv2d 3×224×224 → 64×112×112, 7×7, stride 2, bias, relu",
        ),
        (
            "conv2d",
            "n=8 ci=3 h=9 w=9 co=4 kernel=3x1 stride=2x1 dilation=1x2",
            "conv2d 8×3×9×9 → 8×4×4×9, 3×1, stride 2×1, dilation 1×2",
        ),
        ("pool2d", "c=64 h=8 w=8 kernel=8 kind=avg", "pool2d 64×8×8 → 64×1×1, 8×8, avg"),
        ("dense", "n=10 k=512 bias=true", "dense 1×512 → 1×10, bias"),
        ("softmax", "m=12 n=128", "softmax 12×128 → 12×128"),
    ],
)
def test_operators_in_a_few_words(name: str, options: str, text: str) -> None:
    words = dict(pair.split("=") for pair in options.split())
    assert brief(parse_operator(name, words)) == text


def test_post_ops_are_named() -> None:
    operator: Operator = parse_operator("dense", {"n": "8", "k": "8", "post_ops": "silu"})
    assert brief(operator_from_json(operator.to_json())) == "dense 1×8 → 1×8, silu"
