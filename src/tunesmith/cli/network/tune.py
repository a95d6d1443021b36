"""``tunesmith network tune``: the tasks of a network, each for as long as it is worth it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.elsewhere import ElsewhereOptions, on_devices
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import check_page, command_line, print_json, print_text, remark, remarks
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from tunesmith.measure.trial.measurers import Measurers


def tune(
    choice: NetworkChoice,
    measure: opt.MeasureOptions,
    elsewhere: ElsewhereOptions,
    *,
    seconds: Annotated[float, Option(help="Tune for so many seconds in all.")] = 600.0,
    store: opt.StoreLocation = None,
    tuner: Annotated[str, Option(help="The search algorithm.")] = "auto",
    seed: Annotated[int, Option(help="The same seed makes the same proposals.")] = 0,
    transfer: opt.Transfer = True,
    learned: opt.ModelName = None,
    report: Annotated[Path | None, Option(help="Also write the HTML page to this file.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Tune the tasks of a network; Ctrl-C ends the run and keeps everything."""
    from tunesmith.budget import Budget
    from tunesmith.tuners import tuner as tuner_by_name

    budget, settings = Budget(seconds=seconds), measure.settings()  # complain before the import
    chosen = opt.transfer_of(transfer, learned)
    algorithm = tuner_by_name(tuner)
    if report is not None:
        choice.check_one_batch()
        check_page(report)
    devices, nodes = elsewhere.devices(), elsewhere.nodes()
    with contextlib.ExitStack() as stack:
        measurers: Measurers | None = devices
        if devices is not None:
            choice = on_devices(choice, devices)
        elif nodes is not None:
            measurers = stack.enter_context(nodes)  # the rest is imported meanwhile
        else:
            choice.check_measurable()
        network = choice.network()
        from tunesmith.cli.network.progress import NetworkLines
        from tunesmith.networks.measurers import machine_of
        from tunesmith.networks.tune import summary
        from tunesmith.reports.format import counted
        from tunesmith.reports.networks.tables import tuned_table
        from tunesmith.store import open_store
        from tunesmith.transfer.of_store import check_transfer
        from tunesmith.tuning.result import check_stored
        from tunesmith.tuning.tune import tune as run

        layers = counted(len(network.layers), "layer")
        remark(f"{layers} of {counted(len(network.tasks), 'task')}")
        machine = machine_of(measurers, [*network.tasks])
        opened = stack.enter_context(open_store(store))
        check_transfer(opened, chosen)
        lines = stack.enter_context(NetworkLines(remarks()))
        result = run(
            network,
            algorithm,
            budget,
            store=opened,
            seed=seed,
            transfer=chosen,
            tell=lines.print,
            settings=settings,
            measurers=measurers,
            progress=lines.update,
        )
    if as_json:
        print_json(summary(result))
    else:
        print_text(tuned_table(result))
    check_stored(result)
    if report is not None:
        from tunesmith.cli.network.report import write_page

        with open_store(store, create=False) as opened:
            command = command_line(store, opened.name)
            write_page(network, choice, opened, report, command, machine=machine)
        if not as_json:
            print_text(f"report: {report}")
    if result.lost:
        raise TunesmithError(result.lost)
