"""One side of a comparison: a process that holds one program and times calls of it on request.

The side (``kind``, ``operator``, ``cores``, …) is what it reads first: see ``timing.serving``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.bench.peers.call_side import calling_side
from tunesmith.bench.timing.serving import serve
from tunesmith.errors import TunesmithError


def _prepared(described: Mapping[str, Any]) -> tuple[Callable[[], object], int]:
    if described["kind"] == "call":
        return calling_side(described)
    return _PREPARE[described["kind"]](described), 1


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
    serve(_prepared)
