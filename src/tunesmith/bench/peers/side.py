"""One side of a comparison: a process that holds one program and times calls of it on request.

It reads JSON lines from standard input: first the side (``kind``, ``operator``, ``cores``, …), then
``{"seconds": s}`` for each round, and answers each with a JSON line: the seconds of a call, and the
way that was found to be the fastest where a library has several. It ends with its input, and
with the process that started it, whose number is its argument.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TextIO

from tunesmith.bench.peers.call_side import calling_side
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import TunesmithError, describe
from tunesmith.measure.processes.containment import die_with

# A round ends at the first look at the clock after its time; looks are this many calls apart.
_LOOKS_PER_ROUND = 8


def main() -> None:
    die_with(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        _serve(answers)


def _serve(answers: TextIO) -> None:
    described = json.loads(sys.stdin.readline())
    try:
        if described["kind"] == "call":
            call, calls = calling_side(described)
        else:
            call, calls = _PREPARE[described["kind"]](described), 1
        call()
    except Exception as error:
        _answer(answers, {"error": describe(error)})
        return
    _answer(answers, {"ready": True})
    way = None
    for line in sys.stdin:
        seconds = json.loads(line)["seconds"]
        if isinstance(call, Fastest):  # in the first round: then the other sides stand still
            way, call = call.chosen(partial(seconds_a_call, duration=seconds))
        _answer(answers, {"seconds": seconds_a_call(call, seconds) / calls, "way": way})


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


def _answer(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _kernel(described: Mapping[str, Any]) -> Callable[[], object]:
    """A config of a sketch, built here; called as its compiled function."""
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.operators import ProductOperator, operator_from_json
    from tunesmith.sketches.tir.weights import WEIGHT
    from tunesmith.space import Config
    from tunesmith.target import Target
    from tunesmith.task import Task

    operator = operator_from_json(described["operator"])
    task = Task(operator, Target(**described["target"]))
    problem = TaskProblem.of(task, described["sketch"])
    kernel = problem.kernel(Config.from_json(described["config"]))
    inputs = operator.make_inputs(seed=0)
    if not isinstance(operator, ProductOperator) or not operator.constant_weights:
        return kernel.bind(*inputs)
    weights = inputs.pop(WEIGHT)
    return kernel.prepare(weights).bind(*inputs)


def _metaschedule(described: Mapping[str, Any]) -> Callable[[], object]:
    """The best of a database that MetaSchedule's tuning left."""
    from tunesmith.bench.peers.metaschedule_kernel import metaschedule_call
    from tunesmith.operators import operator_from_json
    from tunesmith.target import Target

    operator = operator_from_json(described["operator"])
    return metaschedule_call(operator, Target(**described["target"]), described["folder"])


def _peer(described: Mapping[str, Any]) -> Callable[[], object]:
    """What another library offers for the operator, loaded once newer instructions are hidden."""
    from tunesmith.bench.peers.hidden_instructions import hide_beyond
    from tunesmith.bench.peers.library_peers import library_peer
    from tunesmith.operators import operator_from_json

    hidden_beyond = described.get("hide_beyond")
    asked = None if hidden_beyond is None else hide_beyond(hidden_beyond)
    operator = operator_from_json(described["operator"])
    peer = library_peer(described["peer"])
    call = peer.call(operator, operator.make_inputs(seed=0), described["cores"])
    if asked is not None and not asked():
        raise TunesmithError(f"{peer.title} never asked what the processor has: it is not held")
    return call


_Prepare = Callable[[Mapping[str, Any]], Callable[[], object]]
_PREPARE: Mapping[str, _Prepare] = {
    "kernel": _kernel,
    "metaschedule": _metaschedule,
    "peer": _peer,
}

if __name__ == "__main__":
    main()
