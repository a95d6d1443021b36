"""``tunesmith network report``: a page about a network."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.network.measuring import (
    Measure,
    WithPeers,
    built_call,
    check_measuring,
    compared_with_peers,
)
from tunesmith.cli.output import command_line, print_json, print_text, remark

if TYPE_CHECKING:
    from tunesmith.networks import Network
    from tunesmith.networks.reporting.stored import StoredTask
    from tunesmith.store import Store


def report(
    output: Annotated[Path, Option("-o", "--output", help="The HTML file to write.")],
    choice: NetworkChoice,
    *,
    measure: Measure = False,
    peers: WithPeers = False,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Write a self-contained HTML page: where a network's time goes, and what tuning has brought.

    Tasks without a record count with what the model of the machine picks for them.
    """
    choice.check_one_batch()
    check_measuring(choice, measure=measure, peers=peers)
    network = choice.network()
    from tunesmith.store import open_store

    with open_store(store, create=False) as opened:
        command = command_line(store, opened.name)
        write_page(network, choice, opened, output, command, measure=measure, peers=peers)
    if as_json:
        print_json({"network": choice.title, "report": str(output)})
    else:
        print_text(f"report: {output}")


def write_page(
    network: Network,
    choice: NetworkChoice,
    store: Store,
    output: Path,
    command: str,
    *,
    measure: bool = False,
    peers: bool = False,
    machine: str | None = None,
) -> None:
    """Write the page about a network; ``command`` is the command line that does it.

    ``machine`` is the fingerprint of what has measured it, None for what the store means by that.

    Raises ``UsageError`` if the store has no record of it, ``TunesmithError`` if the file cannot be
    written.
    """
    from tunesmith.networks.reporting.report import check_recorded, network_report
    from tunesmith.networks.reporting.stored import stored_tasks
    from tunesmith.reports.networks.page import write_network_report

    tasks = stored_tasks(network.tasks, store, machine)
    check_recorded(tasks, choice.title)  # before anything is measured
    content = network_report(
        network,
        choice.title,
        tasks,
        peers=compared_with_peers(tasks) if peers else None,
        call=built_call(network, store) if measure else None,
        commands=_commands(choice, store, tasks, command),
        picking=lambda task: remark(f"no record, so the model picks: {task.operator.label}"),
    )
    write_network_report(content, output)


def _commands(
    choice: NetworkChoice, store: Store, tasks: Sequence[StoredTask], own: str
) -> list[str]:
    """What tunes the network for as long and builds it, and the command that writes the page."""
    seconds = sum(run.seconds for task in tasks for run in task.runs)
    place = ["--store", store.name]
    library = f"{choice.zoo or Path(str(choice.model)).stem}.so"
    tune = ["tunesmith", "network", "tune", *choice.words, "--seconds", f"{seconds:.0f}", *place]
    build = ["tunesmith", "network", "build", *choice.words, "--output", library, *place]
    # How another machine was measured is in the command that did it alone.
    needless = "network tune" in own or choice.triple is not None
    known = [] if needless else [shlex.join(tune)]
    return [*known, shlex.join(build), own]
