"""One side of a comparison: a process that holds one kernel and times calls of it on request.

It reads JSON lines from standard input: first the side (``kind``, ``operator``, …), then
``{"seconds": s}`` for each round, and answers each with a JSON line. It ends with its input.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

# A round ends at the first look at the clock after its time; looks are this many calls apart.
_LOOKS_PER_ROUND = 8


def main() -> None:
    described = json.loads(sys.stdin.readline())
    try:
        call = _PREPARE[described["kind"]](described)
        call()
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        _answer({"error": f"{type(error).__name__}: {reason}"})
        return
    _answer({"ready": True})
    for line in sys.stdin:
        _answer({"seconds": seconds_a_call(call, json.loads(line)["seconds"])})


def seconds_a_call(call: Callable[[], object], duration: float) -> float:
    """The mean time of a call over a round of about ``duration`` seconds."""
    call()  # wakes threads that went to sleep while the other side ran
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    step = max(1, int(duration / once / _LOOKS_PER_ROUND))
    calls = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < duration or calls == 0:
        for _ in range(step):
            call()
        calls += step
    return elapsed / calls


def _answer(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _kernel(described: Mapping[str, Any]) -> Callable[[], object]:
    """A config of a sketch, built here; called as its compiled function."""
    from tunesmith.measure.task_problem import TaskProblem
    from tunesmith.operators import operator_from_json
    from tunesmith.space import Config
    from tunesmith.target import Target
    from tunesmith.task import Task

    operator = operator_from_json(described["operator"])
    task = Task(operator, Target(**described["target"]))
    problem = TaskProblem.of(task, described["sketch"])
    kernel = problem.kernel(Config.from_json(described["config"]))
    return kernel.bind(*operator.make_inputs(seed=0))


def _torch(described: Mapping[str, Any]) -> Callable[[], object]:
    """PyTorch's own operator, in eager mode."""
    import torch

    from tunesmith.bench.torch_operators import torch_call
    from tunesmith.operators import operator_from_json

    torch.set_num_threads(described["cores"])
    torch.set_grad_enabled(False)
    operator = operator_from_json(described["operator"])
    return torch_call(operator, operator.make_inputs(seed=0))


_PREPARE = {"kernel": _kernel, "torch": _torch}

if __name__ == "__main__":
    main()
