"""``tunesmith network tune``: the tasks of a network, each for as long as it is worth it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import command_line, print_json, print_text, remark, remarks


def tune(
    choice: NetworkChoice,
    measure: opt.MeasureOptions,
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

    budget, settings = Budget(seconds=seconds), measure.settings()  # complain before the import
    chosen = opt.transfer_of(transfer, learned)
    if report is not None:
        choice.check_one_batch()
    choice.check_measurable()
    network = choice.network()
    from tunesmith.cli.network.progress import NetworkLines
    from tunesmith.networks.tune import summary
    from tunesmith.reports.format import counted
    from tunesmith.reports.networks.tables import tuned_table
    from tunesmith.store import open_store
    from tunesmith.transfer.of_store import model_for
    from tunesmith.tuning.result import check_stored
    from tunesmith.tuning.tune import tune as run

    layers = counted(len(network.layers), "layer")
    remark(f"{layers} of {counted(len(network.tasks), 'task')}")
    with open_store(store) as opened:
        transferred = model_for(opened, network.target, chosen, remark) or False
        with NetworkLines(remarks()) as lines:
            result = run(
                network,
                tuner,
                budget,
                store=opened,
                seed=seed,
                transfer=transferred,
                settings=settings,
                progress=lines.update,
            )
    if as_json:
        print_json(summary(result))
    else:
        print_text(tuned_table(result))
    check_stored(result)
    if report is None:
        return
    from tunesmith.cli.network.report import write_page

    with open_store(store, create=False) as opened:
        write_page(network, choice, opened, report, command_line(store, opened.name))
    if not as_json:
        print_text(f"report: {report}")
