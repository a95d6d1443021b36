"""Features of the programs of a sketch: made in processes that have the compiler, and kept."""

from __future__ import annotations

import atexit
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.compiler.cores import usable_cores
from tunesmith.compiler.program_hash import program_hash
from tunesmith.errors import InstantiationError
from tunesmith.features.estimate_parts import noting
from tunesmith.features.program import LoopContext, loop_context, program_features
from tunesmith.measure.processes.pool import FailedCall, WorkerPool
from tunesmith.operators import Operator
from tunesmith.sketches import Sketch
from tunesmith.space import Config
from tunesmith.target import Target

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Vectors = Mapping[str, Floats]
"""The vectors of a program by the kind of features."""

_LOGGER = logging.getLogger("tunesmith")

# How many programs a worker makes at a time, and for how many seconds at most.
_CHUNK = 16
_TIMEOUT = 60.0

# How many programs' loop contexts a worker keeps: of a few kB each.
_CONTEXTS_KEPT = 4096


class ProgramFeatureCache:
    """Features of the programs of an operator by a sketch; each program is made once, and how long
    that took is kept."""

    def __init__(self, operator: Operator, target: Target, sketch: Sketch) -> None:
        self._operator = operator
        self._target = target
        self._sketch = sketch
        self._known: dict[Config, Vectors | None] = {}
        self._seconds: dict[Config, float] = {}
        self._has_told = False

    def of(self, configs: Sequence[Config], kind: str) -> Array:
        """The features of configs, shape (configs, features); NaN for those without a program.

        ``kind`` is one of ``PROGRAM_FEATURES``.
        """
        self._make([config for config in dict.fromkeys(configs) if config not in self._known])
        rows = np.full((len(configs), _lengths()[kind]), np.nan)
        for row, config in zip(rows, configs, strict=True):
            vectors = self._known[config]
            if vectors is not None:
                row[:] = vectors[kind]
        return rows

    def seconds_of(self, configs: Iterable[Config]) -> float:
        """The CPU seconds that it took to make the programs and features of configs; what was not
        asked for, or crashed its process, took none."""
        return sum(self._seconds.get(config, 0.0) for config in configs)

    def _make(self, configs: Sequence[Config]) -> None:
        chunks = [
            tuple(configs[first : first + _CHUNK]) for first in range(0, len(configs), _CHUNK)
        ]
        failed = self._made(chunks)
        # A program that crashes or hangs its worker takes nothing from the others of its chunk.
        for (config,), reason in self._made([(it,) for chunk in failed for it in chunk]).items():
            self._known[config] = None
            self._tell(reason)

    def _made(self, chunks: Sequence[tuple[Config, ...]]) -> dict[tuple[Config, ...], str]:
        """Make the features of chunks; returns those that failed as a whole, and why."""
        if not chunks:
            return {}
        target = self._target.resolved()
        calls = [(self._operator, target, self._sketch, chunk) for chunk in chunks]
        failed = {}
        for number, made in _pool().map(timed_features, calls):
            if isinstance(made, FailedCall):
                failed[chunks[number]] = made.reason
                continue
            for config, (vectors, seconds) in zip(chunks[number], made, strict=True):
                self._known[config], self._seconds[config] = vectors, seconds
        return failed

    def _tell(self, reason: str) -> None:
        """Say once that there are programs without features, though they can be scheduled."""
        if not self._has_told:
            self._has_told = True
            _LOGGER.warning(
                "tunesmith: programs of sketch '%s' without features: %s",
                self._sketch.name,
                reason,
            )


def features_of_programs(
    operator: Operator, target: Target, sketch: Sketch, configs: Iterable[Config]
) -> list[Vectors | None]:
    """All features of the programs of configs, by kind; None for those that cannot be scheduled."""
    return [_features(operator, target, sketch, config) for config in configs]


def timed_features(
    operator: Operator, target: Target, sketch: Sketch, configs: Iterable[Config]
) -> list[tuple[Vectors | None, float]]:
    """The same, each with the CPU seconds of this process that it took."""
    found = []
    for config in configs:
        start = time.process_time()
        vectors = _features(operator, target, sketch, config)
        found.append((vectors, time.process_time() - start))
    return found


def _features(operator: Operator, target: Target, sketch: Sketch, config: Config) -> Vectors | None:
    try:
        program: Any = sketch.program(operator, target, config)
    except InstantiationError:
        return None
    with noting() as parts:
        estimate = sketch.estimate(operator, target, config)
    features = program_features(_CONTEXTS.of(program), estimate, parts.numbers())
    return {kind: vector.astype(np.float32) for kind, vector in features.items()}


class LoopContextCache:
    """The loop contexts of programs by their hash, up to ``capacity`` of them, the newest.

    They are what reading a program costs, and equal programs have equal ones: those of two configs,
    or of two runs of a process. The estimate of a config is no part of them.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: dict[str, LoopContext] = {}

    def of(self, program: Any) -> LoopContext:
        """The context of a scheduled ``tvm.IRModule``."""
        from tunesmith.compiler.loop_nest import loop_nest
        from tunesmith.compiler.passes.pipelines import plain_loops

        digest = program_hash(program)
        context = self._known.get(digest)
        if context is None:
            context = loop_context(loop_nest(plain_loops(program)["main"]))
            self._known[digest] = context
            if len(self._known) > self._capacity:
                del self._known[next(iter(self._known))]
        return context


_CONTEXTS = LoopContextCache(_CONTEXTS_KEPT)
"""Those of this process, which is a worker."""


@cache
def _lengths() -> Mapping[str, int]:
    """How many features there are of each kind."""
    from tunesmith.compiler.loop_nest import LoopNest

    of_nothing = program_features(loop_context(LoopNest([], [], [])))
    return {kind: len(vector) for kind, vector in of_nothing.items()}


def side_by_side(programs: int) -> int:
    """How many processes make so many programs at a time; 1 of none."""
    return max(1, min(_workers(), math.ceil(programs / _CHUNK)))


def _workers() -> int:
    return usable_cores()


@cache
def _pool() -> WorkerPool:
    """A worker for each processor of this machine, whatever programs are for. They last as long as
    this process: starting one takes a second."""
    pool = WorkerPool(_workers(), _TIMEOUT)
    atexit.register(pool.__exit__)
    return pool
