"""The GPU sketch for look-ups: a thread for each vector of the result."""

# ruff: noqa: ARG002 - the same configs make sense on every GPU, whatever the target

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tunesmith.operators import Embedding, Operator, element_bits
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma import device
from tunesmith.sketches.sketch import Sketch, instantiating, known
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_of
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target

# Bytes that a thread moves at once at most.
_WIDEST = 16
# Instructions of a thread, and the latencies of the index and then of the row, in cycles.
_INSTRUCTIONS, _WAITING, _REGISTERS = 24, 1000, 24


class CudaEmbedding(Sketch):
    """Copies the rows of the result, a vector a thread; neighbouring threads have neighbours."""

    name: ClassVar[str] = "cuda_embedding"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return target.kind == "cuda" and isinstance(operator, Embedding)

    def space(self, operator: Operator, target: Target) -> Space:
        operator = known(self, operator, Embedding)
        return Space(
            [
                Ordinal("threads", (32, 64, 128, 256, 512)),
                Ordinal("vector", _widths(operator)),
            ]
        )

    def default(self, operator: Operator, target: Target) -> Config:
        operator = known(self, operator, Embedding)
        return Config({"threads": 128, "vector": _widths(operator)[-1]})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        operator = known(self, operator, Embedding)
        chosen: dict[str, Any] = dict(config)
        with instantiating(self.space(operator, target), config):
            return _program(operator, **chosen)

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        operator = known(self, operator, Embedding)
        chosen: dict[str, Any] = dict(config)
        return estimated(target, lambda gpu: _seconds(operator, gpu, **chosen))


def _program(operator: Embedding, threads: int, vector: int) -> Any:
    pieces = operator.result.elements // vector

    def main(buffers: Sequence[Any]) -> None:
        indices, *tensors = buffers
        table, output = (emit.flat(tensor) for tensor in tensors)
        with (
            device.launch("blockIdx.x", emit.tile_count(pieces, threads)) as block,
            device.launch("threadIdx.x", threads) as thread,
        ):
            piece = emit.bind("piece", block * threads + thread)
            with emit.when(piece < pieces if pieces % threads else True):
                of_a_row = operator.width // vector
                index = emit.load(indices, [piece // of_a_row])
                last = emit.constant(operator.rows - 1, operator.index_dtype)
                row = emit.maximum(
                    emit.minimum(index, last), emit.constant(0, operator.index_dtype)
                )
                # In pieces: TVM has to see that vectors begin at multiples of their length.
                source = row.astype("int32") * of_a_row + piece % of_a_row
                source = emit.bind("source", source)
                value = emit.load(table, [source * vector], vector)
                emit.store(output, value, [piece * vector], vector)

    return program_of(operator, main)


def _seconds(operator: Embedding, gpu: Gpu, threads: int, vector: int) -> float:
    size = element_bits(operator.dtype) // 8
    warps = emit.tile_count(threads, WARP)
    work = BlockWork(
        threads=threads,
        registers=_REGISTERS,
        shared_bytes=0,
        steps=1,
        arithmetic=0.0,
        shared=0.0,
        instructions=warps * _INSTRUCTIONS,
        bytes=2 * threads * vector * size,
        waiting=_WAITING,
    )
    blocks = emit.tile_count(operator.result.elements // vector, threads)
    return seconds(work, blocks, gpu, 2 * operator.result.bytes)


def _widths(operator: Embedding) -> tuple[int, ...]:
    """Elements that a thread moves: their number divides that of a row."""
    size = element_bits(operator.dtype) // 8
    return tuple(
        width for width in (1, 2, 4) if width * size <= _WIDEST and operator.width % width == 0
    )
