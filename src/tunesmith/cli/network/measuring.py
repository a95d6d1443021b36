"""What the commands that look at a network measure, if they are asked to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import remark, remarks
from tunesmith.errors import TunesmithError, UsageError

if TYPE_CHECKING:
    from tunesmith.networks import CompiledNetwork, Network
    from tunesmith.networks.reporting.rows import Peers
    from tunesmith.networks.reporting.stored import StoredTask
    from tunesmith.reports.networks.model import CallTimes
    from tunesmith.store import Store

WithPeers = Annotated[
    bool, Option("--peers", help="Compare each task with other libraries, in turn.")
]
Measure = Annotated[
    bool, Option("--measure", help="Build the network, and time each function of a call.")
]


def check_measuring(choice: NetworkChoice, *, measure: bool, peers: bool) -> None:
    """Raise ``UsageError`` if what is asked for cannot be measured here."""
    if measure:
        choice.check_one_batch()
        if choice.target == "cuda":
            raise UsageError("--measure times calls on CPUs only: leave it out for --target cuda")
    for option, given in (("--measure", measure), ("--peers", peers)):
        if given:
            choice.check_runs_here(option)


def built_call(network: Network, store: Store) -> CallTimes:
    """Build a network as 'network build' does, and time its calls."""
    from tunesmith.cli.network.progress import BuildLines

    with BuildLines(remarks()) as lines:
        compiled = network.build(store, progress=lines.update, say=lines.print)
    return timed_call(compiled)


def timed_call(network: CompiledNetwork) -> CallTimes:
    """Time the calls of a built network, of its first batch."""
    from tunesmith.networks.reporting.profile import call_times

    batches = [str(entry.batch) for entry in network.description.entries]
    of_batch = f" of batch {batches[0]}" if len(batches) > 1 else ""
    remark(f"timing calls{of_batch} ...")
    return call_times(network)


def compared_with_peers(tasks: Sequence[StoredTask]) -> Peers:
    """Seconds of a call of other libraries, of each task that has a record; the dearest first.

    A library's time is ours times the median ratio of rounds in turn, so it fits beside ours.
    Ctrl-C ends the comparison, and what was compared until then counts.
    """
    from tunesmith.bench.peers.against_libraries import ratios_to_libraries
    from tunesmith.bench.peers.sides import kernel_side_of
    from tunesmith.networks.reporting.brief import brief

    known = [(task, task.best) for task in tasks if task.best is not None]
    known.sort(key=lambda pair: -pair[0].layers * pair[1].measurement.seconds)
    found = {}
    try:
        for number, (stored, best) in enumerate(known, start=1):
            operator, target = stored.task.operator, stored.task.target
            prefix = f"{number} of {len(known)}: {brief(operator)}"
            remark(f"{prefix}: comparing ...")
            side = {
                "sketch": best.sketch,
                "config": best.config.to_json(),
                "target": asdict(target),
            }
            try:
                ratios = ratios_to_libraries(operator, target, kernel_side_of(operator, side))
            except TunesmithError as error:
                remark(f"{prefix}: {error}")
                continue
            seconds = best.measurement.seconds
            found[stored.task] = {name: ratio * seconds for name, ratio in ratios.items()}
            remark(f"{prefix}: {_verdict(ratios)}")
    except KeyboardInterrupt:
        remark("interrupted, so the other tasks are not compared")
    return found


def _verdict(ratios: dict[str, float]) -> str:
    if not ratios:
        return "no library that is installed can compute it"
    name = min(ratios, key=lambda name: ratios[name])
    return f"{ratios[name]:.2f} times as fast as {name}, the best peer"
