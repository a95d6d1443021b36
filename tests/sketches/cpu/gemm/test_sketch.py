"""Products of matrices from packed panels: odd shapes, all types, random configs, epilogues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.operators import Operator, batch_matmul, conv2d, dense, matmul, workload
from tunesmith.sketches.cpu.gemm.sketch import CpuGemm
from tunesmith.sketches.tir.weights import PREPARE, prepared_weights
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuGemm()
GOLDEN = Path(__file__).parent / "golden"
TYPES = ("float32", "float64", "float16", "bfloat16", "int8")
# Smaller than a vector, primes, whole vectors, a little more.
SIZES = st.sampled_from((1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 37, 48, 67))


class TestCpuGemm(SketchConformance):
    sketch = SKETCH
    operators = (
        matmul(m=64, n=48, k=96),
        matmul(m=7, n=13, k=5, bias=True, relu=True, residual=True),
        matmul(m=19, n=1, k=33, bias=True),
        matmul(m=33, n=48, k=66, dtype="int8"),
        dense(m=1, n=67, k=31),
        dense(m=9, n=37, k=128, dtype="bfloat16", relu=True),
        dense(m=9, n=40, k=128, constant_weights=True, bias=True),
        batch_matmul(b=3, m=16, n=20, k=12, transpose="NT"),
    )


@st.composite
def products(draw: st.DrawFn) -> Operator:
    """Any of the operators, of any type, with any epilogue."""
    options: dict[str, Any] = {name: draw(SIZES) for name in ("m", "n", "k")}
    options["dtype"] = draw(st.sampled_from(TYPES))
    for flag in ("bias", "relu", "residual", "constant_weights"):
        options[flag] = draw(st.booleans())
    kind = draw(st.sampled_from((matmul, dense, batch_matmul)))
    if kind is batch_matmul:
        options["b"] = draw(st.integers(1, 3))
        options["transpose"] = draw(st.sampled_from(("NN", "NT", "TN")))
    made: Operator = kind(**options)
    return made


@examples(60)
@given(operator=products(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_the_program_of_any_config_computes_the_reference(
    operator: Operator, seed: int, target: Target
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@examples(60)
@given(operator=products(), target=any_target)
def test_the_default_is_in_the_space_whatever_the_shape(operator: Operator, target: Target) -> None:
    SKETCH.space(operator, target).check(SKETCH.default(operator, target))


@examples(60)
@given(operator=products(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_an_estimate_is_a_time(operator: Operator, seed: int, target: Target) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    seconds = SKETCH.estimate(operator, target, config)
    assert seconds is not None
    # No machine does more than 10^13 multiply-adds a second, or starts in a nanosecond.
    assert max(operator.flops / 2e13, 1e-9) < seconds < 1.0


# -- each way through the loops ------------------------------------------------------------------

LONG = matmul(m=34, n=72, k=256, relu=True)


@each_target
@pytest.mark.parametrize(
    "changes",
    [
        # Sums go on in the cache, in tasks of tiles that do not divide.
        {"depth": 64, "rows": 6, "row_parts": 3, "column_parts": 2, "inner": "columns"},
        {"depth": 64, "rows": 6, "row_parts": 3, "inner": "rows", "blocks": 2},
        # Panels of a task's own, of the side that changes fast and of the other.
        {"pack_left": "block", "pack_right": "block", "blocks": 2, "inner": "rows", "rows": 5},
        {"pack_left": "block", "pack_right": "block", "inner": "columns", "depth": 128},
        # Nothing is packed; sums in four parts, steps that do not divide.
        {"pack_left": "none", "pack_right": "none", "rows": 1, "chains": 4, "unroll": 4},
        {"rows": 3, "unroll": 8, "prefetch": 16, "outer": "columns", "column_parts": 2},
    ],
)
def test_each_way_through_the_loops(changes: dict[str, Any], target: Target) -> None:
    config = SKETCH.default(LONG, target).replace(**{"vectors": 2, **changes})
    SKETCH.space(LONG, target).check(config)
    assert mismatch(SKETCH, LONG, config, target) is None


@each_target
@pytest.mark.parametrize("fetch_next", [False, True])
def test_a_batch_may_ask_for_the_next_product(fetch_next: bool, target: Target) -> None:
    operator = batch_matmul(b=5, m=20, n=36, k=24, transpose="TN", residual=True)
    config = SKETCH.default(operator, target).replace(fetch_next=fetch_next, unroll=4)
    assert mismatch(SKETCH, operator, config, target) is None
    script = SKETCH.program(operator, target, config).script()
    assert ("llvm.prefetch" in script) == fetch_next


@each_target
def test_extreme_int8_values_are_exact(target: Target) -> None:
    """Sums of the largest products: neither the shift nor what corrects it may saturate."""
    from tunesmith.kernel.kernel import Kernel

    operator = matmul(m=16, n=32, k=512, dtype="int8")
    config = SKETCH.default(operator, target)
    kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
    for left, right in ((-128, -128), (-128, 127), (127, -128), (127, 127)):
        inputs = [np.full((16, 512), left, np.int8), np.full((512, 32), right, np.int8)]
        assert (kernel(*inputs) == left * right * 512).all()


# Processors of three kinds, whose programs can be built but not all run here.
@pytest.mark.parametrize("mcpu", ["haswell", "cascadelake", "sapphirerapids", "alderlake"])
@pytest.mark.parametrize("dtype", TYPES)
def test_programs_for_other_processors_build(mcpu: str, dtype: str) -> None:
    from tunesmith.kernel.kernel import Kernel

    target = Target(mcpu=mcpu)
    operator = matmul(m=12, n=48, k=32, dtype=dtype)
    program = SKETCH.program(operator, target, SKETCH.default(operator, target))
    Kernel.build(operator, target, program)
    dots = {"int8": mcpu != "haswell", "bfloat16": mcpu == "sapphirerapids"}
    used = any(name in program.script() for name in ("vpdpbusd", "dot_bfloat16"))
    assert used == dots.get(dtype, False)


# -- constant weights ----------------------------------------------------------------------------


@each_target
def test_constant_weights_are_packed_apart_or_read_as_they_are(target: Target) -> None:
    operator = matmul(m=8, n=64, k=64, constant_weights=True)
    default = SKETCH.default(operator, target)
    packed = SKETCH.program(operator, target, default.replace(pack_right="whole"))
    prepared = prepared_weights(packed)
    assert prepared is not None
    assert np.prod(prepared.shape) >= 64 * 64
    plain = SKETCH.program(operator, target, default.replace(pack_right="none"))
    assert PREPARE not in [variable.name_hint for variable in plain.get_global_vars()]
    assert mismatch(SKETCH, operator, default.replace(pack_right="none"), target) is None


@pytest.mark.parametrize("mcpu", ["haswell", "znver3", "cascadelake"])
def test_the_default_streams_constant_weights_from_panels(mcpu: str) -> None:
    """Few rows by large weights: tiles with enough sums, and no rows of weights a page apart."""
    target = Target(mcpu=mcpu, cores=1)
    operator = matmul(m=4, n=4096, k=1024, constant_weights=True)
    default = SKETCH.default(operator, target)
    assert default["pack_right"] == "whole"
    assert int(str(default["rows"])) * int(str(default["vectors"])) >= 12
    seconds = [
        SKETCH.estimate(operator, target, default.replace(**changes))
        for changes in ({}, {"depth": 256}, {"vectors": 1}, {"pack_right": "none"})
    ]
    assert all(other > seconds[0] for other in seconds[1:])  # type: ignore[operator]


# -- the space -----------------------------------------------------------------------------------


@each_target
def test_what_the_space_offers_follows_from_the_operator(target: Target) -> None:
    def offers(operator: Operator, name: str) -> list[Any]:
        space = SKETCH.space(operator, target)
        return next(list(p.values) for p in space.parameters if p.name == name)  # type: ignore[attr-defined]

    square = matmul(m=64, n=64, k=128)
    assert offers(square, "pack_right") == ["none", "whole", "block"]
    # Vectors along columns cannot be loaded from rows of weights.
    assert "none" not in offers(dense(m=64, n=64, k=128), "pack_right")
    # Constant weights have no packing that would be repeated.
    constant = matmul(m=64, n=64, k=128, constant_weights=True)
    assert offers(constant, "pack_right") == ["none", "whole"]
    assert offers(square, "depth") == [64, 128]
    assert offers(square, "fetch_next") == [False]
    assert offers(batch_matmul(b=2, m=8, n=8, k=8), "fetch_next") == [False, True]
    assert max(offers(matmul(m=5, n=64, k=8), "rows")) == 5


@each_target
def test_it_supports_products_of_matrices_alone(target: Target) -> None:
    convolution = conv2d(ci=4, h=8, w=8, co=8, kernel=3)
    assert not SKETCH.supports(convolution, target)
    with pytest.raises(UsageError, match=r"\Asketch cpu_gemm is for .*: conv2d is none of them\Z"):
        SKETCH.space(convolution, target)


@each_target
@pytest.mark.parametrize("name", ["matmul.512", "matmul.2048", "opevo.BMM.NT", "dense.64x768x3072"])
def test_estimates_put_sensible_configs_before_silly_ones(name: str, target: Target) -> None:
    operator = workload(name)
    default = SKETCH.default(operator, target)
    silly = default.replace(rows=1, vectors=1, prefetch=0, chains=1)
    seconds = [SKETCH.estimate(operator, target, config) for config in (default, silly)]
    assert seconds[0] is not None
    assert seconds[1] is not None
    assert 2 * seconds[0] < seconds[1]


# -- programs, word for word ---------------------------------------------------------------------

PROGRAMS: dict[str, tuple[Operator, dict[str, Any]]] = {
    "packed": (
        matmul(m=64, n=96, k=128, bias=True),
        {"rows": 3, "vectors": 2, "unroll": 2, "prefetch": 8},
    ),
    "int8": (matmul(m=4, n=32, k=32, dtype="int8"), {"rows": 2, "vectors": 1}),
    "several_k_tiles": (
        matmul(m=24, n=64, k=256),
        {"rows": 3, "vectors": 2, "depth": 64, "inner": "columns", "pack_right": "block"},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str, check_golden: Callable[[Path, str], None]) -> None:
    operator, changes = PROGRAMS[name]
    target = Target(mcpu="cascadelake", cores=2)
    config: Config = SKETCH.default(operator, target).replace(**changes)
    script = SKETCH.program(operator, target, config).script()
    head = f"# {operator.key}\n# {SKETCH.name} {SKETCH.version}: {config.key}\n"
    check_golden(GOLDEN / f"{name}.txt", f"{head}{script}\n")
