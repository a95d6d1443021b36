"""A process that tunes operators with TVM's MetaSchedule, each for a given time.

It reads JSON lines (``operator``, ``target``, ``seconds``, ``seed``, ``batch``, ``folder``), leaves
the records of each in its folder, and answers with a JSON line: how many ``trials`` there were, how
many of them were ``valid``, in how many ``rounds``, and the ``seconds`` until the last of these
ended; or ``error``. The round that is under way when the time is up is finished and counted; there
are two at least. Each is tuned in a process forked from this one, so that imports, which take long,
are made once, and nothing is left of a run.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tunesmith.bench.peers.metaschedule_build import keep_pytorch_out, make_builder
from tunesmith.compiler.importing import load_compiler
from tunesmith.errors import describe
from tunesmith.measure.processes.containment import die_with

# More than there is time for.
_ENDLESS = 1_000_000
# Whatever time they take: the first one chooses by chance, and the cost model learns from it.
LEAST_ROUNDS = 2


@dataclass
class Count:
    """What was tried since ``start``, and until when."""

    trials: int = 0
    valid: int = 0
    rounds: int = 0
    over: bool = False
    begun: float = -math.inf
    ended: float = -math.inf
    deadline: float = math.inf

    def start(self, seconds: float) -> None:
        """Begin to count; the time is up in so many seconds."""
        self.begun = self.ended = time.monotonic()
        self.deadline = self.begun + seconds

    def add(self, failures: Sequence[bool]) -> None:
        """A batch has been tried. Raises ``RuntimeError`` if that was the last one.

        A run of TVM's knows no limit of time, so this is what ends it.
        """
        self.rounds += 1
        self.trials += len(failures)
        self.valid += failures.count(False)
        self.ended = time.monotonic()
        if self.ended >= self.deadline and self.rounds >= LEAST_ROUNDS:
            self.over = True
            raise RuntimeError("the time is up")

    def answer(self) -> dict[str, Any]:
        """The fields of the process's answer."""
        return {
            "trials": self.trials,
            "valid": self.valid,
            "rounds": self.rounds,
            "seconds": self.ended - self.begun,
        }


def counting(count: Count) -> Any:
    """The callback of MetaSchedule that counts each batch."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.measure_callback import PyMeasureCallback

    @derived_object
    class Counting(PyMeasureCallback):  # type: ignore[misc]
        def apply(self, _scheduler: Any, _task: int, _tried: Any, built: Any, ran: Any) -> None:
            failed = [bool(b.error_msg or r.error_msg) for b, r in zip(built, ran, strict=True)]
            count.add(failed)

    return Counting()


def main() -> None:
    die_with(int(sys.argv[1]))
    answers = os.dup(1)
    os.dup2(2, 1)
    load_compiler()  # this takes long, like the other imports, and is not to be timed
    import tvm.s_tir.tensor_intrin  # noqa: F401

    with contextlib.suppress(ImportError):  # without it, a run says what to do
        import xgboost  # noqa: F401

    for line in sys.stdin:
        # Said only when nothing is left of the run, so that whoever hears it may rely on that.
        os.write(answers, _run_apart(line) or b'{"error": "the process died"}\n')


def _run_apart(line: str) -> bytes:
    """The answer of a forked process, which is gone by then; empty if it died without one."""
    server = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        die_with(server)
        os.close(reading)
        _tune(json.loads(line), writing)
    os.close(writing)
    os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # its workers
    with os.fdopen(reading, "rb") as answer:
        return answer.readline()


def _tune(described: Mapping[str, Any], answers: int) -> NoReturn:
    try:
        answer = tune_for(described)
    except Exception as error:
        answer = {"error": describe(error)}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    os._exit(0)  # whatever TVM's threads and pools are still about


def tune_for(described: Mapping[str, Any]) -> dict[str, Any]:
    """Tune until the round in which the time is up; see the module."""
    from tunesmith.operators import operator_from_json
    from tunesmith.target import Target

    operator = operator_from_json(described["operator"])
    target = Target(**described["target"])

    from tvm.s_tir import meta_schedule as ms

    from tunesmith.bench.peers.metaschedule_kernel import metaschedule_module

    keep_pytorch_out(Path(described["folder"]))
    count = Count()
    builder = make_builder(target.core_count)
    # Its own settings, but for a slow kernel, which is called once, as in our trials, not 3 times.
    runner = ms.runner.LocalRunner(
        evaluator_config=ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=100)
    )
    _warm_up(builder, runner, target.to_tvm(), target.core_count)
    count.start(described["seconds"])
    try:
        ms.tune_tir(
            metaschedule_module(operator),
            target.to_tvm(),
            described["folder"],
            _ENDLESS,
            num_trials_per_iter=described["batch"],
            builder=builder,
            runner=runner,
            # By itself it would not heed what it has learned before 100 trials.
            cost_model=ms.cost_model.XGBModel(
                num_warmup_samples=described["batch"],
                num_tuning_cores=target.core_count,
                tree_method="auto",
            ),
            # Records are saved before the time is looked at, the cost model learns after it.
            measure_callbacks=[
                ms.measure_callback.AddToDatabase(),
                ms.measure_callback.RemoveBuildArtifact(),
                counting(count),
                ms.measure_callback.UpdateCostModel(),
            ],
            num_tuning_cores=target.core_count,
            seed=described["seed"],
        )
    except Exception:  # TVM drops the error's own type
        if not count.over:
            raise
    return count.answer()


def _warm_up(builder: Any, runner: Any, target: Any, workers: int) -> None:
    """Have each worker started and used once: what is left of its time is all for candidates."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.builder import BuilderInput
    from tvm.s_tir.meta_schedule.runner import RunnerInput

    from tunesmith.bench.peers.metaschedule_kernel import metaschedule_module
    from tunesmith.operators import matmul

    module = metaschedule_module(matmul(m=16, n=16, k=16))
    arguments = ArgInfo.from_entry_func(module)
    for built in builder.build([BuilderInput(module, target) for _ in range(workers)]):
        runner.run([RunnerInput(built.artifact_path, "cpu", arguments)])[0].result()
        shutil.rmtree(Path(built.artifact_path).parent)


if __name__ == "__main__":
    main()
