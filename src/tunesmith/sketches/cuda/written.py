"""Kernels written loop by loop, as stages of a function whose other stages are scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tunesmith.sketches.tir import emit


@contextmanager
def kernel(
    name: str, steps: int, threads: int, reads: Sequence[Any], writes: Sequence[Any]
) -> Iterator[Any]:
    """Around the code of a thread for one of ``steps`` steps; yields the number of the step.

    It is a stage that schedules leave as it is. Neighbouring threads of a block have neighbouring
    steps. ``reads`` and ``writes`` are all buffers that it accesses; it need not fill the latter.
    """
    from tvm.tirx.script.builder import ir

    with ir.sblock(name):
        ir.reads(*map(_whole, reads))
        ir.writes(*map(_whole, writes))
        blocks = emit.tile_count(steps, threads)
        with (
            emit.thread_binding(blocks, "blockIdx.x") as block,
            emit.thread_binding(threads, "threadIdx.x") as thread,
        ):
            step = emit.bind("step", block * threads + thread)
            if steps % threads:
                with emit.when(step < steps):
                    yield step
            else:
                yield step


def register(name: str, value: Any) -> Any:
    """A value in a register. TVM substitutes variables (``emit.bind``) wherever they are used, so
    that expressions of many of them grow exponentially."""
    kept = emit.buffer(name, (1,), str(value.ty.dtype), scope="local")
    emit.store(kept, value, [0])
    return kept[0]


def together(values: Sequence[Any]) -> Any:
    """Values as one vector, or the only one."""
    if len(values) == 1:
        return values[0]
    kept = emit.buffer("together", (len(values),), str(values[0].ty.dtype), scope="local")
    for place, value in enumerate(values):
        emit.store(kept, value, [place])
    return emit.load(kept, [0], len(values))


def _whole(buffer: Any) -> Any:
    return buffer[tuple(slice(0, int(extent)) for extent in buffer.shape)]
