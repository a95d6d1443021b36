"""A process that tunes operators with TVM's MetaSchedule, each for a given time.

It reads JSON lines (``operator``, ``target``, ``seconds``, ``seed``, ``batch``, ``folder``), leaves
the records of each in its folder, and answers with a JSON line: how many ``trials`` there were, how
many of them were ``valid``, and the ``seconds`` that they took; or ``error``. Each is tuned in a
process forked from this one, so that imports, which take long, are made once, and nothing is left
of a run.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from tunesmith.bench import metaschedule_build
from tunesmith.bench.family import die_with

# More than there is time for.
_ENDLESS = 1_000_000


def main() -> None:
    die_with(int(sys.argv[1]))
    answers = os.dup(1)
    os.dup2(2, 1)
    import tvm.s_tir.tensor_intrin  # noqa: F401 - half a minute that is not to be timed

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
        first = (str(error).strip().splitlines() or [""])[-1]
        answer = {"error": f"{type(error).__name__}: {first}"}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    os._exit(0)  # whatever TVM's threads and pools are still about


def tune_for(described: Mapping[str, Any]) -> dict[str, Any]:
    """Tune until the time is up; see the module."""
    from tunesmith.operators import operator_from_json
    from tunesmith.target import Target

    operator = operator_from_json(described["operator"])
    target = Target(**described["target"])

    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    from tunesmith.bench.metaschedule_kernel import metaschedule_module

    counted = {"trials": 0, "valid": 0}
    begun = time.time()
    deadline = begun + described["seconds"]
    workers = partial(metaschedule_build.work_until, deadline)

    @derived_object
    class Count(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
        """Counts what was tried in time, and ends the run after it."""

        def apply(self, _scheduler: Any, _task: int, _tried: Any, built: Any, ran: Any) -> None:
            for build, run in zip(built, ran, strict=True):
                message = str(build.error_msg or "") + str(run.error_msg or "")
                if metaschedule_build.OUT_OF_TIME not in message:
                    counted["trials"] += 1
                    counted["valid"] += not message
            if time.time() > deadline:
                # A run knows no other limit than one of trials. TVM drops the error's own type.
                raise RuntimeError(metaschedule_build.OUT_OF_TIME)

    try:
        ms.tune_tir(
            metaschedule_module(operator),
            target.to_tvm(),
            described["folder"],
            _ENDLESS,
            num_trials_per_iter=described["batch"],
            builder=ms.builder.LocalBuilder(
                max_workers=target.core_count,
                f_build=metaschedule_build.build,
                initializer=workers,
            ),
            runner=ms.runner.LocalRunner(
                f_run_evaluator=metaschedule_build.run, initializer=workers
            ),
            # Records are saved before the time is looked at, the cost model learns after it.
            measure_callbacks=[
                ms.measure_callback.AddToDatabase(),
                Count(),
                ms.measure_callback.UpdateCostModel(),
                ms.measure_callback.RemoveBuildArtifact(),
            ],
            num_tuning_cores=target.core_count,
            seed=described["seed"],
        )
    except Exception:
        if time.time() <= deadline:
            raise
    return {**counted, "seconds": min(time.time(), deadline) - begun}


if __name__ == "__main__":
    main()
