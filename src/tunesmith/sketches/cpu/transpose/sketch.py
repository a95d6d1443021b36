"""The CPU sketch of transposed convolution: one direct convolution for each phase of the stride."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

from tunesmith.operators import Conv2dTranspose, Operator
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.transpose import model
from tunesmith.sketches.cpu.transpose.plan import TransposePlan
from tunesmith.sketches.cpu.transpose.space import fewest_sums, most_statements, transpose_space
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.space import Config, Space
from tunesmith.target import Target

_DTYPES = ("float32", "float64", "float16")


class CpuTranspose(Sketch):
    """Convolves each phase of the output apart, without the zeros of a dilated input.

    Outputs whose rows and columns have the same remainders by the stride are a plain convolution of
    stride 1 with every ``stride``-th tap of the kernel. Each is computed by the register tiles of
    ``cpu_direct``, of output pixels (rows x columns) and channels, over all input channels and
    taps. A task keeps all phases of a band of rows and a tile of channels in memory of its own, and
    then interleaves them: shuffles make whole rows of the output, to which the epilogue is applied.

    Weights are packed phase by phase, in the order in which tiles read them, and may be prefetched
    ``prefetch`` terms of the sum ahead. Data are read in place, or from a copy with zeros around
    it. Tiles need not divide anything: the last one overlaps its neighbour. Tasks share out tiles
    of channels (``split_channels``) and bands of rows (``split_rows``); ``order`` says what tasks
    that follow each other have in common.
    """

    name: ClassVar[str] = "cpu_transpose"
    version: ClassVar[int] = 3

    def supports(self, operator: Operator, target: Target) -> bool:
        known = isinstance(operator, Conv2dTranspose) and operator.dtype in _DTYPES
        return target.kind == "cpu" and known

    def space(self, operator: Operator, target: Target) -> Space:
        return transpose_space(
            known(self, operator, Conv2dTranspose), Machine.of(target).vector_registers
        )

    def default(self, operator: Operator, target: Target) -> Config:
        return _default(known(self, operator, Conv2dTranspose), target, target.core_count)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        from tunesmith.sketches.cpu.transpose.program import transpose_program

        op = known(self, operator, Conv2dTranspose)
        with instantiating(self.space(op, target), config):
            return transpose_program(TransposePlan.of(op, target, config))

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        return model.seconds(
            TransposePlan.of(known(self, operator, Conv2dTranspose), target, config),
            Machine.of(target),
        )


# The most input channels that are contiguous and unrolled.
_DEFAULT_BLOCK = 16


@lru_cache(maxsize=64)
def _default(
    operator: Conv2dTranspose,
    target: Target,
    cores: int,  # noqa: ARG001 - a target may leave it to the machine, which may change
) -> Config:
    """The fastest tile by the model with a band for each row of tiles; then the fastest way to
    share the work."""
    machine, space = Machine.of(target), CpuTranspose().space(operator, target)
    choices: dict[str, Any] = {
        parameter.name: getattr(parameter, "values", ()) for parameter in space.parameters
    }
    block = max(count for count in choices["block"] if count <= _DEFAULT_BLOCK)
    plain: dict[str, Any] = {"block": 1, "data": "plain", "copy": choices["copy"][0]}
    blocked = {"block": block, "data": "blocked", "copy": "image"} if block > 1 else plain
    registers, fewest = machine.vector_registers, fewest_sums(operator, machine.vector_registers)
    found: list[dict[str, Any]] = []
    names = ("tile_rows", "tile_columns", "tile_channels")
    for rows, columns, channels in product(*(choices[name] for name in names)):
        sums = rows * columns * channels
        if not fewest <= sums < registers:
            continue
        tile = dict(zip(names, (rows, columns, channels), strict=True))
        for vectorize, fixed in (("channels", blocked), ("channels", plain), ("columns", plain)):
            # As many steps as a block has, or taps: a phase's taps of one channel share lines.
            most = min(max(fixed["block"], 4), most_statements(operator) // sums)
            steps = max((count for count in choices["steps"] if count <= most), default=1)
            found.append({**fixed, **tile, "vectorize": vectorize, "steps": steps})
    few = {"split_channels": 1, "split_rows": choices["split_rows"][-1], "order": "weights"}
    few |= {"prefetch": 0}
    best = _best(({**tile, **few} for tile in found), space, operator, target)
    names = ("split_channels", "split_rows", "order")
    shares = product(*(choices[name] for name in names))
    ahead = (0, choices["prefetch"][-1])
    shared = (
        {**best, **dict(zip(names, share, strict=True)), "prefetch": prefetch}
        for share in shares
        for prefetch in ahead
    )
    return _best(shared, space, operator, target)


def _best(
    configs: Iterable[dict[str, Any]], space: Space, operator: Conv2dTranspose, target: Target
) -> Config:
    """The one in the space that the model finds to be fastest."""
    machine = Machine.of(target)
    inside = [config for values in configs if space.contains(config := Config(values))]
    return min(
        inside,
        key=lambda config: model.seconds(TransposePlan.of(operator, target, config), machine),
    )
