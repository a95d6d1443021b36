"""The CPU sketch for row-wise operators that have no code of their own, from their stages."""

# ruff: noqa: ARG002 - the same configs make sense on every CPU, whatever the target

from __future__ import annotations

from typing import Any, ClassVar

from tunesmith.operators import LayerNorm, Operator, Softmax
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.sketch import ScheduleSketch, instantiating
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.sketches.tir.row_stages import RowStages, known_row_stages, row_stages
from tunesmith.sketches.tir.schedules import schedule_of
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Parameter, Space
from tunesmith.target import Target

# The most partial results of a reduction, and the widest vectors: four registers of sixteen floats.
MAX_LANES = 64
# The lanes of the default: one register of sixteen floats, where the length of a row allows it.
_DEFAULT_LANES = 16

# Cycles an element of a stage that is computed for each, which is a function such as exp: from
# softmax on Zen 4.
_FUNCTION_CYCLES = 7.0


class CpuStagedRows(ScheduleSketch):
    """Shares rows among the cores and does all of a row's stages while the row is in cache.

    Reductions run in ``lanes`` partial results side by side, which one vector holds; elementwise
    stages in between are stored or computed again where they are used. For operators of installed
    packages with several reductions, whose stages the tiled sketch cannot fuse; softmax and layer
    normalisation are faster as ``cpu_rows`` writes them down.
    """

    name: ClassVar[str] = "cpu_staged_rows"
    version: ClassVar[int] = 2

    def supports(self, operator: Operator, target: Target) -> bool:
        if target.kind != "cpu" or isinstance(operator, (Softmax, LayerNorm)):
            return False
        return row_stages(operator) is not None

    def space(self, operator: Operator, target: Target) -> Space:
        stages = known_row_stages(operator, self.name)
        lanes = _lanes(stages.length)
        parameters: list[Parameter] = [Factorization("tile_rows", stages.rows, 2)]
        parameters += [Ordinal(f"lanes_{name}", lanes) for name in stages.reductions]
        parameters.append(Ordinal("lanes_output", lanes))
        parameters += [Categorical(f"store_{name}", (False, True)) for name in stages.elementwise]
        parameters.append(Categorical("fuse", ("row", "tile")))
        parameters.append(Ordinal("unroll", (1, 2, 4, 8)))
        return Space(parameters)

    def default(self, operator: Operator, target: Target) -> Config:
        stages = known_row_stages(operator, self.name)
        lanes = max(lane for lane in _lanes(stages.length) if lane <= _DEFAULT_LANES)
        values: dict[str, Any] = {"tile_rows": (stages.rows, 1), "lanes_output": lanes}
        values |= {f"lanes_{name}": 1 for name in stages.reductions}
        values |= {f"store_{name}": True for name in stages.elementwise}
        return Config({**values, "fuse": "row", "unroll": 1})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        return self.schedule(operator, target, config, lower(operator)).mod

    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        with instantiating(self.space(operator, target), config):
            return _schedule(definition, known_row_stages(operator, self.name), config)

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        stages, machine = known_row_stages(operator, self.name), Machine.of(target)
        tasks, rows = _tile_rows(config)
        size = machine.vector_bytes / machine.lanes(operator.result.dtype)
        cycles = stages.length * _element_cycles(stages, machine, size, config)
        together = rows if config["fuse"] == "tile" else 1
        kept = size * stages.length * together * (2 + len(stages.long))
        cycles += machine.stream_cycles(size * stages.length * len(stages.reductions), kept)
        return machine.seconds(machine.rounds(tasks) * rows * cycles)


def _lanes(length: int) -> tuple[int, ...]:
    return tuple(d for d in range(1, min(length, MAX_LANES) + 1) if length % d == 0)


def _schedule(module: Any, stages: RowStages, config: Config) -> Any:
    schedule = schedule_of(module)
    for name in stages.elementwise:
        if not config[f"store_{name}"]:
            schedule.compute_inline(schedule.get_sblock(name))
    partial = _split_reductions(schedule, stages, config)
    place = _tile_output(schedule, stages, config)
    inner = [block for block in _block_names(schedule) if block != stages.output]
    for name in reversed(inner):
        schedule.compute_at(schedule.get_sblock(name), place, preserve_unit_loops=True)
    for name in partial:
        lane, row, step = schedule.get_loops(schedule.get_sblock(name))[-3:]
        schedule.reorder(row, step, lane)
        schedule.vectorize(lane)
    for name in stages.elementwise:
        # Stages that hold one value a row (a mean) have nothing to vectorise.
        if name in inner and len(schedule.get(schedule.get_sblock(name)).iter_vars) > 1:
            loop = schedule.get_loops(schedule.get_sblock(name))[-1]
            _vectorize(schedule, loop, _number(config, "lanes_output"), unroll=1)
    return schedule


def _element_cycles(stages: RowStages, machine: Machine, size: float, config: Config) -> float:
    """Cycles of all stages for one element of a row."""

    def passes(lanes: int, least: float) -> float:
        """Cycles an element in vectors of ``lanes``."""
        return max(least / lanes, size / machine.vector_bytes)

    cycles = 3 * passes(_number(config, "lanes_output"), 1.0)
    for name in stages.reductions:
        cycles += passes(_number(config, f"lanes_{name}"), machine.core.fma_latency)
    for name in stages.long:
        # What is not stored is computed again in the stages that read it: a sum and the result.
        cycles += _FUNCTION_CYCLES * (1 if config[f"store_{name}"] else 2)
    return cycles


def _tile_rows(config: Config) -> tuple[int, int]:
    """How many tiles of rows there are, and how many rows each has."""
    tile: Any = config["tile_rows"]
    return int(tile[0]), int(tile[1])


def _number(config: Config, name: str) -> int:
    return int(str(config[name]))


def _block_names(schedule: Any) -> list[str]:
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    return [str(schedule.get(block).name_hint) for block in blocks]


def _split_reductions(schedule: Any, stages: RowStages, config: Config) -> list[str]:
    """Split reductions into ``lanes`` partial results; returns the names of their stages."""
    partial = []
    for name in stages.reductions:
        lanes = _number(config, f"lanes_{name}")
        if lanes > 1:
            loop = schedule.get_loops(schedule.get_sblock(name))[-1]
            _, lane = schedule.split(loop, [None, lanes])
            partial.append(str(schedule.get(schedule.rfactor(lane, 1)).name_hint))
    return partial


def _tile_output(schedule: Any, stages: RowStages, config: Config) -> Any:
    """Tile the last stage; returns the loop that the other stages are computed in."""
    rows, columns = schedule.get_loops(schedule.get_sblock(stages.output))
    outer, inner = schedule.split(rows, list(_tile_rows(config)))
    schedule.parallel(outer)
    _vectorize(schedule, columns, _number(config, "lanes_output"), _number(config, "unroll"))
    return inner if config["fuse"] == "row" else outer


def _vectorize(schedule: Any, loop: Any, lanes: int, unroll: int) -> None:
    steps, vector = schedule.split(loop, [None, lanes])
    if lanes > 1:
        schedule.vectorize(vector)
    if unroll > 1:
        _, body = schedule.split(steps, [None, unroll])
        schedule.unroll(body)
