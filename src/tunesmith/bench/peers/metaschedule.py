"""TVM's own tuner as a peer: tuned for as long as ours, then compared kernel by kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tunesmith.bench.peers import SIDE
from tunesmith.bench.timing.line_process import LineProcess
from tunesmith.bench.timing.paired import compare
from tunesmith.compiler.thread_pool import pool_variables
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator, operator_from_json
from tunesmith.target import Target

# On top of the time for tuning: imports come before it, half a minute of an idle processor, and
# the round that is under way when it is up comes after it.
_GRACE_SECONDS = 300.0
# MetaSchedule's own number of candidates a batch, which is best for it: a search takes as long for
# fewer. But a short time gets smaller batches, so that the cost model learns before it is up.
_BATCH = 64
# What a candidate costs, about, and what comes on top for every 1e9 operations of its calls.
_CANDIDATE_SECONDS = 0.35
_GIGAFLOP_SECONDS = 0.13


@dataclass(frozen=True)
class MetaScheduleRun:
    """What a run of MetaSchedule tried, in how many rounds, and the seconds until the last ended.

    A round is a search, the build of the batch that it chose, and its runs.
    """

    trials: int
    valid: int
    rounds: int
    seconds: float


class MetaSchedule:
    """TVM's tuner in a process of its own, started for the first run and kept for the others.

    ``close`` leaves no process behind, however the runs ended.
    """

    def __init__(self, module: str = "tunesmith.bench.peers.metaschedule_process") -> None:
        """The process runs a ``module`` that serves runs."""
        self._module = module
        self._process: LineProcess | None = None

    def tune(
        self,
        operator: Operator,
        target: Target,
        seconds: float,
        folder: Path,
        *,
        seed: int = 0,
        batch: int,
    ) -> MetaScheduleRun:
        """Tune an operator for so many seconds; the records go to ``folder``.

        So many candidates of a ``batch`` are built before the first one is run; a round that has
        begun in time is finished. Raises ``TunesmithError`` if it fails.
        """
        described = {
            "operator": operator.to_json(),
            "target": asdict(target),
            "seconds": seconds,
            "seed": seed,
            "batch": batch,
            "folder": str(folder),
        }
        return MetaScheduleRun(**self.run(described, target, seconds + _GRACE_SECONDS))

    def run(self, described: Mapping[str, Any], target: Target, patience: float) -> dict[str, Any]:
        """The answer of the process to a run, for which it has ``patience`` seconds.

        Raises ``TunesmithError`` if it fails.
        """
        if self._process is None:
            self._process = LineProcess(self._module, pool_variables(target.core_count))
        self._process.say(described)
        try:
            return self._process.answer(patience)
        except TunesmithError as error:
            self.close()  # whatever state it is in
            raise TunesmithError(f"MetaSchedule failed: {error}") from error

    def close(self) -> None:
        """End the process, if there is one, and its workers."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compare_with_metaschedule(
    rival: MetaSchedule, ours: Mapping[str, Any], seconds: float, pairs: int, seed: int = 0
) -> dict[str, Any]:
    """Tune the operator of our side with MetaSchedule for so many seconds, and compare the kernels.

    JSON-ready: the fields of ``MetaScheduleRun`` and ``Comparison``, in which the first side is
    ours. Raises ``TunesmithError`` if there is nothing to compare with, or no round after the
    first, whose choice is that of chance.
    """
    operator, target = operator_from_json(ours["operator"]), Target(**ours["target"])
    with tempfile.TemporaryDirectory(prefix="tunesmith-metaschedule-") as folder:
        batch = batch_size([operator.flops], seconds / 2)
        run = rival.tune(operator, target, seconds, Path(folder), seed=seed, batch=batch)
        if run.rounds < 2:
            raise TunesmithError(
                f"too little time for MetaSchedule: {run.rounds} round in {run.seconds:.0f} s"
            )
        theirs = {**ours, "kind": "metaschedule", "folder": folder}
        return {**asdict(run), **asdict(compare(SIDE, ours, theirs, pairs))}


def batch_size(flops: Sequence[float], seconds: float) -> int:
    """As many candidates of each task, whose operations are given, as can be built and run in these
    seconds, at most its own number."""
    candidates = sum(_CANDIDATE_SECONDS + _GIGAFLOP_SECONDS * 1e-9 * each for each in flops)
    return max(1, min(_BATCH, int(seconds / candidates)))
