"""A process that tunes operators with TVM's MetaSchedule, each for a given time.

It reads JSON lines (``operator``, ``target``, ``seconds``, ``seed``, ``batch``, ``folder``), leaves
the records of each in its folder, and answers with a JSON line: how many ``trials`` there were, how
many of them were ``valid``, in how many ``rounds``, and the ``seconds`` until the last of these
ended; or ``error``. The round that is under way when the time is up is finished and counted; there
are two at least. Each is tuned in a process forked from this one, so that imports, which take long,
are made once, and nothing is left of a run. ``serve_runs`` serves other runs in the same way.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tunesmith.bench.peers.metaschedule_build import keep_pytorch_out, make_builder
from tunesmith.compiler.importing import load_compiler
from tunesmith.errors import describe
from tunesmith.measure.processes.containment import die_with
from tunesmith.target import Target

ENDLESS = 1_000_000
"""More trials than there is time for."""
# Whatever time they take: the first one chooses by chance, and the cost model learns from it.
LEAST_ROUNDS = 2


Tune = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Makes a run as it was described; returns the fields of the answer."""


@dataclass
class Count:
    """What was tried since ``start``, and until when. ``tuned`` tasks have a valid trial."""

    trials: int = 0
    valid: int = 0
    rounds: int = 0
    tuned: set[int] = field(default_factory=set)
    begun: float = -math.inf
    ended: float = -math.inf
    _deadline: float = math.inf
    _searches: int = 0

    def start(self, seconds: float) -> None:
        """Begin to count; the time is up in so many seconds."""
        self.begun = self.ended = time.monotonic()
        self._deadline = self.begun + seconds

    def may_search(self) -> bool:
        """Whether there is time for another round, which then begins."""
        self._searches += 1
        return time.monotonic() < self._deadline or self._searches <= LEAST_ROUNDS

    def add(self, failures: Sequence[bool], task: int = 0) -> None:
        """A batch of a task has been tried."""
        self.rounds += 1
        self.trials += len(failures)
        self.valid += failures.count(False)
        self.ended = time.monotonic()
        if not all(failures):
            self.tuned.add(task)

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
        def apply(self, _scheduler: Any, task: int, _tried: Any, built: Any, ran: Any) -> None:
            failed = [bool(b.error_msg or r.error_msg) for b, r in zip(built, ran, strict=True)]
            count.add(failed, task)

    return Counting()


def timed_search(count: Count, search: Any = None) -> Any:
    """MetaSchedule's own search, until the time of ``count`` is up.

    A run of TVM's knows no limit of time, but ends when the searches of all its tasks have nothing
    to try any more; then all that was run is in its database. With several tasks, callbacks hear of
    no round before each task has had one, so they could not end it.
    """
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch, PySearchStrategy

    inner = EvolutionarySearch() if search is None else search

    @derived_object
    class TimedSearch(PySearchStrategy):  # type: ignore[misc]
        def _initialize_with_tune_context(self, context: Any) -> None:
            inner._initialize_with_tune_context(context)

        def pre_tuning(self, *given: Any) -> None:
            inner.pre_tuning(*given)

        def post_tuning(self) -> None:
            inner.post_tuning()

        def generate_measure_candidates(self) -> Any:
            return inner.generate_measure_candidates() if count.may_search() else None

        def notify_runner_results(self, candidates: Any, results: Any) -> None:
            inner.notify_runner_results(candidates, results)

        def clone(self) -> Any:
            return timed_search(count, inner.clone())

    return TimedSearch()


def serve_runs(tune: Tune) -> None:
    """Make each run that is described on standard input, and answer; see the module."""
    die_with(int(sys.argv[1]))
    answers = os.dup(1)
    os.dup2(2, 1)
    load_compiler()  # this takes long, like the other imports, and is not to be timed
    load_intrinsics()
    with contextlib.suppress(ImportError):  # without it, a run says what to do
        import xgboost  # noqa: F401

    for line in sys.stdin:
        # Said only when nothing is left of the run, so that whoever hears it may rely on that.
        os.write(answers, _run_apart(tune, line) or b'{"error": "the process died"}\n')


def load_intrinsics() -> None:
    """Import TVM's tensor intrinsics of CPUs, as MetaSchedule does, but not those of GPUs.

    All together take about 45 s of a core, of which those of CPUs are one.
    """
    name = "tvm.s_tir.tensor_intrin"
    found = importlib.util.find_spec(name)
    assert found is not None
    sys.modules[name] = importlib.util.module_from_spec(found)  # which would import all
    for module in ("x86", "arm_cpu", "riscv_cpu"):
        importlib.import_module(f"{name}.{module}")


def _run_apart(tune: Tune, line: str) -> bytes:
    """The answer of a forked process, which is gone by then; empty if it died without one."""
    server = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        die_with(server)
        os.close(reading)
        _answer(tune, json.loads(line), writing)
    os.close(writing)
    os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # its workers
    with os.fdopen(reading, "rb") as answer:
        return answer.readline()


def _answer(tune: Tune, described: Mapping[str, Any], answers: int) -> NoReturn:
    try:
        answer = tune(described)
    except Exception as error:
        answer = {"error": describe(error)}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    os._exit(0)  # whatever TVM's threads and pools are still about


def tune_for(described: Mapping[str, Any]) -> dict[str, Any]:
    """Tune an operator until the round in which the time is up; see the module."""
    from tunesmith.operators import operator_from_json

    operator = operator_from_json(described["operator"])
    target = Target(**described["target"])

    from tvm.s_tir import meta_schedule as ms

    from tunesmith.bench.peers.metaschedule_kernel import metaschedule_module

    count = Count()
    equipment = equipped(target, Path(described["folder"]), count)
    count.start(described["seconds"])
    ms.tune_tir(
        metaschedule_module(operator),
        target.to_tvm(),
        described["folder"],
        ENDLESS,
        num_trials_per_iter=described["batch"],
        # By itself it would not heed what it has learned before 100 trials.
        cost_model=ms.cost_model.XGBModel(
            num_warmup_samples=described["batch"],
            num_tuning_cores=target.core_count,
            tree_method="auto",
        ),
        strategy=timed_search(count),
        num_tuning_cores=target.core_count,
        seed=described["seed"],
        **equipment,
    )
    return count.answer()


def equipped(target: Target, folder: Path, count: Count) -> dict[str, Any]:
    """The builder, the runner and the callbacks of a run, as arguments of TVM's functions.

    The workers of both are started, and have been used.
    """
    from tvm.s_tir import meta_schedule as ms

    keep_pytorch_out(folder)
    builder = make_builder(target.core_count)
    # Its own settings, but for a slow kernel, which is called once, as in our trials, not 3 times.
    runner = ms.runner.LocalRunner(
        evaluator_config=ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=100)
    )
    _warm_up(builder, runner, target.to_tvm(), target.core_count)
    return {
        "builder": builder,
        "runner": runner,
        # What the cost model learns from the last batch is of no use any more.
        "measure_callbacks": [
            ms.measure_callback.AddToDatabase(),
            ms.measure_callback.RemoveBuildArtifact(),
            counting(count),
            ms.measure_callback.UpdateCostModel(),
        ],
    }


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
    serve_runs(tune_for)
