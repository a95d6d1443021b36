"""``tunesmith network show``: where the time of a network goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.network.measuring import (
    Measure,
    WithPeers,
    built_call,
    check_measuring,
    compared_with_peers,
    timed_call,
)
from tunesmith.cli.output import console, print_json, print_text
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.reports.networks.model import CallTimes


def show(
    choice: NetworkChoice,
    *,
    measure: Measure = False,
    peers: WithPeers = False,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Show the tasks of a network with their layers, best times and sketches, the dearest first.

    Of what 'network build' wrote (net.so), show where the time of a call goes.
    """
    if choice.library is not None:
        if measure or peers:
            raise UsageError(f"{choice.library} is built: --measure and --peers take the model")
        from tunesmith.networks import load

        timed = timed_call(load(choice.library))
        if as_json:
            print_json({"call": timed.to_json()})
        else:
            _print_call(timed)
        return
    check_measuring(choice, measure=measure, peers=peers)
    network = choice.network()
    from tunesmith.networks.reporting.report import uncovered
    from tunesmith.networks.reporting.rows import task_rows
    from tunesmith.networks.reporting.stored import stored_tasks
    from tunesmith.reports.networks import tables
    from tunesmith.store import open_store

    with open_store(store) as opened:
        tasks = stored_tasks(network.tasks, opened)
        rows = task_rows(tasks, compared_with_peers(tasks) if peers else None)
        call = built_call(network, opened) if measure else None
    rest = uncovered(network)
    if as_json:
        found: dict[str, Any] = {"tasks": [row.to_json() for row in rows], "uncovered": rest}
        print_json(found if call is None else {**found, "call": call.to_json()})
        return
    console().print(tables.tasks_table(rows))
    print_text(tables.tasks_summary(rows))
    if rest:
        print_text(tables.uncovered_line(rest))
    if call is not None:
        _print_call(call)


def _print_call(call: CallTimes) -> None:
    from tunesmith.reports.networks import tables

    console().print(tables.call_table(call))
    print_text(tables.call_summary(call))
