"""The direct convolution for GPUs: the papers' space, and programs that compute the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.errors import InstantiationError
from tunesmith.operators import Conv2d, conv2d, workload
from tunesmith.sketches.cuda.conv2d_direct import CudaConv2dDirect
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaConv2dDirect()


class TestCudaConv2dDirect(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = (
        conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        conv2d(n=2, ci=6, h=9, w=11, co=10, kernel=3, stride=2, padding=1, dilation=2),
        conv2d(ci=3, h=7, w=7, co=5, kernel=1, residual=True),
    )


@pytest.mark.parametrize(
    ("layer", "configs"),
    [("C2", 90_316_800), ("C6", 36_864_000), ("C9", 9_123_840), ("C12", 844_800)],
)
def test_the_space_is_as_large_as_the_papers(layer: str, configs: int) -> None:
    """Table II of the NoSE paper."""
    space = SKETCH.space(workload(f"resnet18.{layer}"), TARGET)
    assert space.size == configs == space.cartesian_size


@st.composite
def layers(draw: st.DrawFn) -> Conv2d:
    kernel = draw(st.integers(1, 3))
    return conv2d(
        n=draw(st.integers(1, 2)),
        ci=draw(st.integers(1, 6)),
        h=draw(st.integers(3, 9)),
        w=draw(st.integers(3, 9)),
        co=draw(st.integers(1, 12)),
        kernel=kernel,
        stride=draw(st.integers(1, 2)),
        padding=draw(st.integers(0, kernel - 1)),
        bias=draw(st.booleans()),
        relu=draw(st.booleans()),
    )


@examples(8)
@given(operator=layers(), seed=st.integers(0, 1000))
def test_any_config_computes_the_reference(operator: Conv2d, seed: int) -> None:
    config = SKETCH.space(operator, TARGET).sample(np.random.default_rng(seed))
    try:
        wrong = mismatch(SKETCH, operator, config, TARGET)
    except InstantiationError:
        reject()
    assert wrong is None, config.key


def test_most_configs_of_c12_break_a_limit_of_the_gpu() -> None:
    """Two thirds, by 2,000 configs, and before anything is built. The NoSE paper found over 75 %
    invalid, of all classes."""
    operator = workload("resnet18.C12")
    refused = 0
    for config in SKETCH.space(operator, TARGET).sample_many(200, np.random.default_rng(0)):
        try:
            SKETCH.program(operator, TARGET, config)
        except InstantiationError:
            refused += 1
    assert 0.57 < refused / 200 < 0.77, "three standard deviations"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tile_f": (1, 1, 512, 1)}, "a block of 25088 threads: the GPU's limit is 1024"),
        ({"tile_f": (4, 1, 128, 1), "tile_y": (7, 1, 1, 1)}, "128 threads along z"),
        ({"tile_f": (4, 128, 1, 1)}, "128 virtual threads a thread"),
        ({"tile_f": (1, 1, 1, 512)}, "2048 bytes of sums and copies a thread"),
        ({"tile_rc": (1, 512)}, "bytes of shared memory a block: the GPU's limit is 49152"),
    ],
)
def test_what_a_gpu_cannot_do_is_refused_with_the_reason(
    changes: dict[str, tuple[int, ...]], reason: str
) -> None:
    operator = workload("resnet18.C12")
    config = Config({**SKETCH.default(operator, TARGET), **changes})
    with pytest.raises(InstantiationError, match=reason):
        SKETCH.program(operator, TARGET, config)
