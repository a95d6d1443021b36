"""The rows of tables about a network's tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tunesmith.networks.build.selection import pick
from tunesmith.networks.reporting.brief import brief
from tunesmith.networks.reporting.stored import StoredTask
from tunesmith.reports.networks.model import STORE, TaskRow
from tunesmith.sketches.cpu.model.roofline import bound
from tunesmith.task import Task
from tunesmith.transfer.of_store import model_for

Peers = Mapping[Task, Mapping[str, float]]
"""Of a task, seconds of a call by the names of other libraries."""


def task_rows(
    tasks: Iterable[StoredTask],
    peers: Peers | None = None,
    picking: Callable[[Task], None] | None = None,
) -> list[TaskRow]:
    """A row for each task, with the best that this machine has measured.

    If ``picking`` is given, tasks without a record get what the model of the machine thinks
    fastest; it hears of each of them before, because that takes a second.
    """
    return [_row(stored, peers or {}, picking) for stored in tasks]


def _row(stored: StoredTask, peers: Peers, picking: Callable[[Task], None] | None) -> TaskRow:
    task, operator = stored.task, stored.task.operator
    seconds, sketch, origin = None, "", ""
    if stored.best is not None:
        seconds, sketch = stored.best.measurement.seconds, stored.best.sketch
        origin = STORE
    elif picking is not None:
        picking(task)
        choice = pick(task, model=model_for(None, task.target))
        seconds, sketch = choice.seconds, choice.problem.sketch.name
        origin = choice.origin.value
    least = bound(operator, task.target)
    return TaskRow(
        key=task.key,
        label=operator.label,
        brief=brief(operator),
        operator=operator.name,
        flops=operator.flops,
        layers=stored.layers,
        least_seconds=None if least is None else least.seconds,
        limit="" if least is None else least.limit.value,
        seconds=seconds,
        default_seconds=stored.default_seconds,
        sketch=sketch,
        origin=origin,
        trials=stored.trials,
        peers=peers.get(task, {}),
    )
