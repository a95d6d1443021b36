"""The process that builds for ``tunesmith bench builds``: ``python -m`` this, its task as argument.

It writes all to its standard error, where LLVM writes what passes it runs: after each build a line
of JSON. Every build is a fork's, as in a trial.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from typing import Any

# LLVM's own options, as TVM takes them: a line before each pass that optimises, and lines before
# and after each that generates machine code.
_TRACING = ["-print-pass-numbers:bool=true", "-debug-pass:int=3"]


def main(task: dict[str, Any]) -> None:
    """Build the configs of a task: ``operator`` and ``target`` pickled, ``sketch``, ``configs``."""
    from tunesmith.compiler.importing import load_compiler
    from tunesmith.measure.devices.device import CpuDevice
    from tunesmith.measure.trial.job import Job
    from tunesmith.measurement import Candidate
    from tunesmith.space import Config

    load_compiler()
    job = Job.from_text(task["job"])
    import tvm

    plain = job.target.to_json()
    traced = {**plain, "cl-opt": [*plain["cl-opt"], *_TRACING]}
    CpuDevice().warm_up(tvm.target.Target(plain))
    for candidate in (Candidate(Config.from_json(config)) for config in task["configs"]):
        for target in (plain, traced):
            start = time.perf_counter()
            if os.fork() == 0:
                _build(job, candidate, tvm.target.Target(target), time.perf_counter() - start)
                os._exit(0)
            os.wait()


def _build(job: Any, candidate: Any, target: Any, forking: float) -> None:
    """Build, and say what each part took, in seconds."""
    from tvm.ir.transform import PassContext

    from tunesmith.compiler.compile import compiled
    from tunesmith.errors import describe

    clock = time.perf_counter
    try:
        start = clock()
        program = job.program(candidate)
        emitted = clock()
        passes, timer = _pass_timer()
        with PassContext(instruments=[timer]):
            executable = compiled(program, target, checked=False)
        lowered = clock()
        executable.jit()["main"]
        generated = clock()
    except Exception as error:
        _say({"failed": describe(error)})
        return
    in_passes = sum(passes.values())
    _say(
        {
            "phases": {
                "fork": forking,
                "emit": emitted - start,
                "tvm": in_passes,
                "optimise": lowered - emitted - in_passes,
                "generate": generated - lowered,
            },
            "passes": passes,
        }
    )


def _pass_timer() -> tuple[dict[str, float], Any]:
    """Seconds by TVM's pass, without those that a pass runs itself; and what fills them in."""
    from tvm.ir.instrument import pass_instrument

    seconds: dict[str, float] = defaultdict(float)

    @pass_instrument
    class Timer:
        def __init__(self) -> None:
            self.running: list[list[float]] = []

        def run_before_pass(self, *_: Any) -> None:
            self.running.append([time.perf_counter(), 0.0])

        def run_after_pass(self, _: Any, info: Any) -> None:
            start, inner = self.running.pop()
            took = time.perf_counter() - start
            seconds[str(info.name)] += took - inner
            if self.running:
                self.running[-1][1] += took

    return seconds, Timer()


def _say(message: dict[str, Any]) -> None:
    os.write(2, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
