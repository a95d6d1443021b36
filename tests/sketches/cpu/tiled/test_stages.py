"""Stages that are made once: programs are those of stages that are made for each alone."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.compiler.program_hash import program_hash
from tunesmith.operators import Operator, conv2d, matmul
from tunesmith.sketches.cpu.tiled import stages
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.sketches.cpu.tiled.stages import StageChoices, stages_of
from tunesmith.sketches.tir.loop_nest import known_loop_nest, lower
from tunesmith.space import Config
from tunesmith.target import Target

CONVOLUTION = conv2d(n=1, h=14, w=14, ci=16, co=32, kernel=3, padding=1)
PRODUCT = matmul(m=32, n=48, k=64)
SKETCH = CpuTiled()
TARGET = Target()


def choices(operator: Operator, config: Config) -> StageChoices:
    nest = known_loop_nest(operator, SKETCH.name)
    axes = [axis.name for axis in (*nest.tiled_spatial, *nest.tiled_reduction)]
    inner = {name: config[f"tile_{name}"][-1] for name in axes}  # type: ignore[index]
    return StageChoices.of(nest, config, inner)  # type: ignore[arg-type]


def configs(operator: Operator, count: int) -> list[Config]:
    space = SKETCH.space(operator, TARGET)
    return space.sample_many(count, np.random.default_rng(0))


def hashes(operator: Operator, chosen: list[Config]) -> list[str]:
    return [program_hash(SKETCH.program(operator, TARGET, config)) for config in chosen]


@pytest.mark.parametrize("operator", [CONVOLUTION, PRODUCT], ids=["conv2d", "matmul"])
def test_programs_do_not_depend_on_what_was_made_before(operator: Operator) -> None:
    chosen = configs(operator, 24)
    alone = []
    for config in chosen:
        stages._kept.cache_clear()
        alone += hashes(operator, [config])
    stages._kept.cache_clear()
    assert hashes(operator, chosen) == alone
    assert hashes(operator, chosen[::-1]) == alone[::-1]
    assert len(set(alone)) > 1


def test_configs_that_differ_in_loops_alone_share_their_stages() -> None:
    config = SKETCH.default(CONVOLUTION, TARGET)
    stages._kept.cache_clear()
    hashes(CONVOLUTION, [config, config.replace(unroll=16), config.replace(parallel=1)])
    assert stages._kept.cache_info().misses == 1


@pytest.mark.parametrize("change", [{"pad": "inline"}, {"pad": "tile"}, {"pack_weight": True}])
def test_choices_of_stages_are_told_apart(change: dict[str, object]) -> None:
    config = SKETCH.default(CONVOLUTION, TARGET).replace(
        vectorize="f", tile_f=(2, 1, 16), tile_x=(14, 1, 1)
    )
    changed = config.replace(**change)
    assert choices(CONVOLUTION, config) != choices(CONVOLUTION, changed)
    one, other = hashes(CONVOLUTION, [config, changed])
    assert one != other


def test_a_packed_input_counts_by_the_tiles_that_block_it() -> None:
    nest = known_loop_nest(PRODUCT, SKETCH.name)
    config = Config({f"pack_{nest.inputs[1].buffer}": True, "vectorize": "j"})
    inner = {"i": 4, "j": 16, "k": 8}
    first = StageChoices.of(nest, config, inner)
    assert len(first.packed) == 1
    assert first == StageChoices.of(nest, config, {**inner, "i": 8, "k": 2})
    assert first != StageChoices.of(nest, config, {**inner, "j": 8})


def test_what_goes_on_from_a_copy_leaves_the_kept_one_as_it_is() -> None:
    config = SKETCH.default(PRODUCT, TARGET)
    nest, chosen = known_loop_nest(PRODUCT, SKETCH.name), choices(PRODUCT, config)
    definition = lower(PRODUCT)
    first = stages_of(definition, PRODUCT, nest, chosen)
    before = program_hash(first.schedule.mod)
    for loop in first.schedule.get_loops(first.main):
        first.schedule.split(loop, [None, 2])
    assert program_hash(first.schedule.mod) != before
    second = stages_of(definition, PRODUCT, nest, chosen)
    assert program_hash(second.schedule.mod) == before
    assert len(second.schedule.get_loops(second.main)) == 3
