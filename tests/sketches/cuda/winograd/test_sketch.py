"""Winograd's convolutions for GPUs: what they compute, what they take, what is refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiled import needs_nvcc
from tests.properties import examples
from tests.sketches.winograd import convolutions
from tunesmith.cuda.compiler import compile_cuda
from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import InstantiationError
from tunesmith.operators import (
    Conv2d,
    Operator,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    workload,
)
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.limits import LIMITS
from tunesmith.sketches.cuda.winograd import sketch as cuda_winograd
from tunesmith.sketches.cuda.winograd.sizes import DATA, WEIGHTS, Sizes
from tunesmith.sketches.cuda.winograd.sketch import CudaWinograd
from tunesmith.sketches.tir.loop_nest import main_loop_nest
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaWinograd()
GOLDEN = Path(__file__).parents[2] / "golden_winograd"
# Those of ResNet-18's layers that have 3x3 taps and stride 1.
LAYERS = ("C2", "C6", "C9", "C12")


class TestCudaWinograd(SketchConformance):
    sketch = SKETCH
    samples = 1
    on = TARGET
    operators = (
        conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        conv2d(n=2, ci=6, h=9, w=13, co=7, kernel=3, padding=(0, 2), residual=True),
        conv2d(ci=12, h=7, w=7, co=19, kernel=3, padding=(0, 1, 2, 0), constant_weights=True),
        conv2d(ci=1, h=3, w=3, co=1, kernel=3),
    )


def layer(name: str, **options: Any) -> Conv2d:
    operator = workload(f"resnet18.{name}")
    assert isinstance(operator, Conv2d)
    return dataclasses.replace(operator, **options)


# -- what it computes -----------------------------------------------------------------------------


def convolutions_for_gpus(largest: int = 11) -> st.SearchStrategy[Conv2d]:
    return convolutions.convolutions(largest, (1, 2, 3, 7, 16, 20), ["NCHW"])


@examples(4)
@given(operator=convolutions_for_gpus(), seed=st.integers(0, 2**32 - 1))
def test_any_config_computes_the_reference(operator: Conv2d, seed: int) -> None:
    config = SKETCH.space(operator, TARGET).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, TARGET, seed)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@pytest.mark.parametrize("name", LAYERS)
def test_the_defaults_of_layers_compute_the_reference(name: str) -> None:
    operator = layer(name, bias=True, constant_weights=name in LAYERS[2:])
    assert mismatch(SKETCH, operator, SKETCH.default(operator, TARGET), TARGET) is None


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("splits", [1, 4])
def test_the_kernels_of_a_call_are_always_the_same(constant: bool, splits: int) -> None:
    """Weights are transformed in a function of their own where they are constant."""
    operator = layer("C12", constant_weights=constant)
    config = SKETCH.default(operator, TARGET).replace(tile_ci=(splits, 512 // splits // 8, 8))
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    launches = {name: len(function.launches) for name, function in code.functions.items()}
    assert launches == ({"prepare": 1, "main": 3} if constant else {"main": 4})


# -- what it takes --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYERS)
def test_the_defaults_use_the_gpu(name: str) -> None:
    """Several blocks for each of the 132 multiprocessors of an H100, and most of what they do is
    needed."""
    operator = layer(name, constant_weights=True)
    sizes = Sizes.of(operator, SKETCH.default(operator, TARGET))
    assert math.prod(sizes.tiling.use(operator, sizes.nest).grid) >= 3 * 132
    assert sizes.tile_count * operator.co >= 0.75 * sizes.padded_tiles * sizes.padded_co


@needs_nvcc
@pytest.mark.parametrize(
    ("name", "images", "registers"), [*((name, 1, 64) for name in LAYERS), ("C9", 64, 128)]
)
def test_the_defaults_compile_to_code_that_stays_in_registers(
    name: str, images: int, registers: int
) -> None:
    operator = layer(name, n=images, bias=True, relu=True)
    config = SKETCH.default(operator, TARGET)
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    resources = compile_cuda(code.source, "sm_90").resources
    assert len(resources) == 4
    for kernel in resources.values():
        assert kernel.spill_stores == kernel.spill_loads == 0
        assert kernel.registers <= registers
    sizes = Sizes.of(operator, config)
    use = sizes.tiling.use(operator, sizes.nest)
    assert sum(kernel.shared_bytes for kernel in resources.values()) == use.shared_bytes
    assert use.threads in {launch.block for launch in code.functions["main"].launches}


def test_the_loops_are_those_of_a_batch_of_products() -> None:
    """They are written down, not found out: that takes milliseconds for each config."""
    operator = layer("C9")
    sizes = Sizes.of(operator, SKETCH.default(operator, TARGET))
    b, i, j = sizes.products_shape
    expected = main_loop_nest(batch_matmul(b=b, m=i, n=j, k=sizes.split_ci, transpose="TN"))
    assert expected is not None
    inputs = tuple(
        dataclasses.replace(access, buffer=name, produced=True)
        for access, name in zip(expected.inputs, (WEIGHTS, DATA), strict=True)
    )
    assert sizes.nest == dataclasses.replace(expected, block=sizes.nest.block, inputs=inputs)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"co_threads": 256, "co_inner": 1}, r"violates '.*co_threads \* tiles_threads <= 1024'"),
        ({"co_threads": 2}, r"violates '32 <= co_threads \* tiles_threads"),
        ({"tile_ci": (1, 2, 256)}, "bytes of shared memory a block: the GPU's limit is 49152"),
        ({"tile_ci": (32, 1, 16)}, r"violates 'tile_ci\[0\] <= 16'"),
        ({"data_threads": 100}, "the sketch's space has no such config: .*data_threads"),
    ],
)
def test_what_a_gpu_cannot_do_is_refused_before_anything_is_scheduled(
    changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_winograd, "winograd_program", None)
    operator = layer("C12")
    config = Config({**SKETCH.default(operator, TARGET), **changes})
    with pytest.raises(InstantiationError, match=reason):
        SKETCH.program(operator, TARGET, config)


def test_buffers_that_32_bits_cannot_number_are_refused() -> None:
    operator = layer("C2", n=700)
    config = SKETCH.default(operator, TARGET).replace(tile_ci=(16, 1, 4))
    with pytest.raises(InstantiationError, match=r"products .* has more than 2\^31 - 1 elements"):
        SKETCH.program(operator, TARGET, config)


@pytest.mark.parametrize(
    "operator",
    [
        *convolutions.OTHERS,
        *convolutions.ONLY_ON_PROCESSORS,
        conv2d(ci=4, h=8, w=8, co=4, kernel=3, layout="NHWC"),
        conv2d_transpose(ci=4, h=8, w=8, co=4, kernel=3),
    ],
    ids=lambda operator: operator.label,
)
def test_other_operators_are_left_to_others(operator: Operator) -> None:
    assert not SKETCH.supports(operator, TARGET)
    assert not SKETCH.supports(layer("C2"), Target())
    assert SKETCH not in sketches_for(operator, TARGET)


@examples(150)
@given(operator=convolutions_for_gpus() | convolutions_for_gpus(largest=300))
def test_every_operator_has_a_default_within_the_limits(operator: Conv2d) -> None:
    config = SKETCH.default(operator, TARGET)
    SKETCH.space(operator, TARGET).check(config)
    sizes = Sizes.of(operator, config)
    LIMITS.check(sizes.tiling.use(operator, sizes.nest))


# -- programs -------------------------------------------------------------------------------------


def test_the_program_is_as_it_was(check_golden: Callable[[Path, str], None]) -> None:
    operator = conv2d(
        ci=8, h=6, w=6, co=12, kernel=3, padding=1, bias=True, relu=True, constant_weights=True
    )
    config = SKETCH.default(operator, TARGET).replace(
        tile_rows=2, tile_columns=2, tile_ci=(2, 2, 2), weight_threads=64
    )
    script = SKETCH.program(operator, TARGET, config).script()
    head = f"# {operator.key}\n# {SKETCH.name} {SKETCH.version}: {config.key}\n"
    check_golden(GOLDEN / "cuda.txt", f"{head}{script}\n")
