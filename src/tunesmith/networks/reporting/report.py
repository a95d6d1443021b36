"""The content of the page about a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tunesmith.errors import UsageError
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.network import Network
from tunesmith.networks.reporting.curve import tuning_curve
from tunesmith.networks.reporting.rows import Peers, task_rows
from tunesmith.networks.reporting.stored import StoredTask
from tunesmith.reports import format as fmt
from tunesmith.reports.networks.model import CallTimes, NetworkReport
from tunesmith.task import Task


def uncovered(network: Network) -> list[str]:
    """The operations that no operator covers, by Relax's names, in order."""
    return [step.op for step in network.steps if not isinstance(step, Layer)]


def check_recorded(tasks: Sequence[StoredTask], title: str) -> None:
    """Raises ``UsageError`` if none of a network's tasks has a record."""
    if not any(task.best is not None for task in tasks):
        triple = next((task.task.target.triple for task in tasks), None)
        where = "on this machine" if triple is None else f"for {triple}"
        raise UsageError(
            f"no time is recorded for any layer of {title} {where}: tune it first, with "
            "'tunesmith network tune'"
        )


def network_report(
    network: Network,
    title: str,
    tasks: Sequence[StoredTask],
    *,
    peers: Peers | None = None,
    call: CallTimes | None = None,
    commands: Sequence[str] = (),
    picking: Callable[[Task], None] = lambda _: None,
) -> NetworkReport:
    """What a store knows of a network; ``tasks`` are all of its.

    ``picking`` is as for ``task_rows``. Raises ``UsageError`` like ``check_recorded``.
    """
    check_recorded(tasks, title)
    runs = [run for task in tasks for run in task.runs]
    last = max((run.session for run in runs), key=lambda session: session.started)
    numbers = {stored.task: number for number, stored in enumerate(tasks)}
    return NetworkReport(
        title=title,
        inputs=", ".join(
            f"{each.name} {'×'.join(map(str, each.shape))} {each.dtype}" for each in network.inputs
        ),
        target=fmt.listed({name: it for name, it in last.target.items() if name != "host"}),
        machine=", ".join(
            [
                *([str(last.machine["device"])] if last.machine.get("device") else []),
                f"{last.machine.get('cpu', 'unknown')}, {last.machine.get('cores', '?')} cores",
            ]
        ),
        tasks=task_rows(tasks, peers, picking),
        layers=[numbers[network.task_of(layer)] for layer in network.layers],
        uncovered=uncovered(network),
        call=call,
        curve=tuning_curve(tasks),
        tuning_seconds=sum(run.seconds for run in runs),
        tuner=", ".join(sorted({run.session.tuner for run in runs})),
        started=min(run.session.started for run in runs),
        ended=max(run.records[-1].created for run in runs if run.records),
        versions=dict(last.versions),
        commands=commands,
    )
