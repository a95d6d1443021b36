"""``tunesmith bench networks``: whole networks against other runtimes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.bench.operators import Rival
from tunesmith.cli.output import print_page, remark, remarks
from tunesmith.errors import TunesmithError, UsageError, describe

if TYPE_CHECKING:
    from collections.abc import Callable


_SECONDS = 600.0


def networks(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for networks.md, networks.json and a chart.")
    ] = opt.FIGURES,
    *,
    network: Annotated[
        list[str] | None,
        Option(help="A name, or a pattern such as 'mobilenet*'; repeatable."),
    ] = None,
    seconds: Annotated[
        float | None,
        Option(help="Seconds of tuning for each network; default: 600, or those of its row."),
    ] = None,
    early: Annotated[
        float, Option(help="Also build after so many seconds of tuning; 0: do not.")
    ] = 0.0,
    rounds: Annotated[int, Option(help="Rounds in which all take turns.")] = 15,
    tvm: Annotated[bool, Option(help="TVM's default pipeline, too, which is slow.")] = True,
    against: Annotated[
        Rival | None, Option(help="Only add TVM's MetaSchedule to networks that have figures.")
    ] = None,
    target: opt.TargetKind = "cpu",
    seed: Annotated[int, Option(help="Seed of the search.")] = 0,
    store: opt.StoreLocation = None,
    again: Annotated[
        bool, Option("--again", help="Tune further, and compare again, what has figures.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Tune, build and compare the networks of the zoo, each in a process of its own, in turn."""
    from tunesmith.bench.networks.bench import NetworkBench, NetworkSettings
    from tunesmith.bench.networks.files import read_networks, write_networks
    from tunesmith.bench.networks.metaschedule import MetaScheduleBench
    from tunesmith.bench.networks.workloads import network_workloads
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.store import open_store
    from tunesmith.target import Target

    device = Target(target)
    if against is not None and target != "cpu":
        raise UsageError("MetaSchedule is compared on CPUs: leave out --against or --target")
    device.check_measurable("tunesmith network build")
    chosen = network_workloads(network or ())
    settings = NetworkSettings(
        _SECONDS if seconds is None else seconds, early, rounds, seed, tvm, again
    )
    make_folder(output)
    rows = read_networks(output, chosen if again and against is None else (), target)
    if against is not None and not network:
        chosen = {name: workload for name, workload in chosen.items() if name in rows}
    failed = []
    with open_store(store) as opened:
        runner: NetworkBench | MetaScheduleBench = (
            NetworkBench(settings, opened, remark, _watch, device)
            if against is None
            else MetaScheduleBench(seconds, rounds, seed, opened, remark, again)
        )
        for name, workload in chosen.items():
            try:
                row = runner.row(workload, rows.get(name))
            except Exception as error:  # what fails costs its network alone: the others take hours
                remark(f"{name}: {describe(error)}")
                failed.append(name)
                continue
            if row is not None:
                rows[name] = row
                write_networks(output, rows.values(), target)
    figures, page = write_networks(output, rows.values(), target)
    print_page(figures, page, as_json=as_json)
    if failed:
        raise TunesmithError(f"no figures for {', '.join(failed)}: see above")


@contextmanager
def _watch() -> Iterator[Callable[[Any], None]]:
    from tunesmith.cli.network.progress import NetworkLines

    with NetworkLines(remarks()) as lines:
        yield lines.update
