"""``tunesmith bench training-set``: records as a small file, to train cost models on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark
from tunesmith.errors import MissingDependencyError, UsageError


def training_set(
    output: Annotated[Path, Argument(help="The file to write, such as zen5.json.gz.")],
    *,
    store: opt.StoreLocation = None,
    network: Annotated[
        list[str] | None,
        Option(help="Look for operators in this network of the zoo, or pattern; default: all."),
    ] = None,
    machine: Annotated[
        str | None, Option(help="Fingerprint of the machine whose trials; default: this one.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Write the trials that a machine made of tasks as one small file, to train models on."""
    from tunesmith.bench.networks.workloads import network_workloads
    from tunesmith.bench.pages.figure_files import make_folder_of
    from tunesmith.bench.training.origins import networks_of_operators
    from tunesmith.store import ANY_MACHINE, open_store
    from tunesmith.transfer.training_set import stored_set, write_training_set

    if machine == ANY_MACHINE:
        raise UsageError("a training set is of one machine: name its fingerprint, not any machine")
    make_folder_of(output)
    with open_store(store, create=False) as opened:
        found = stored_set(opened, machine=machine)
        try:
            networks = networks_of_operators(network_workloads(network or ()).values(), remark)
            found = stored_set(opened, networks, machine)
        except MissingDependencyError as error:
            remark(f"of which networks operators are is not known: {error}")
    write_training_set(found, output)
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "trials": found.trials, "bytes": size})
    else:
        console().print(f"{output}: {found.trials:,} trials in {size / 1000:.0f} kB")
