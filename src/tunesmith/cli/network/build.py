"""``tunesmith network build``: a network as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.arrays import Inputs, arrays_of
from tunesmith.cli.network.choice import NOTHING_KNOWN, NetworkChoice, knows
from tunesmith.cli.output import print_json, print_text, remark, remarks


def build(
    output: Annotated[Path, Option("-o", "--output", help="The library, such as net.so.")],
    choice: NetworkChoice,
    *,
    store: opt.StoreLocation = None,
    inputs: Inputs = None,
    limit: Annotated[float, Option(help="The largest relative error allowed.")] = 1e-3,
    max_weights_growth: Annotated[
        float,
        Option(
            help="Weights, as programs lay them out, take at most so many times their bytes.",
            min=1.0,
        ),
    ] = 4.0,
    contenders: Annotated[
        int,
        Option(help="Programs of each task that are timed inside of the network.", min=1),
    ] = 4,
    transfer: opt.Transfer = True,
    learned: opt.ModelName = None,
    as_json: opt.Json = False,
) -> None:
    """Build a network with programs of the store, and picks of the model, that are best there."""
    chosen = opt.transfer_of(transfer, learned)
    given = arrays_of(inputs) if inputs else None
    triple = choice.chosen_target().triple
    from tunesmith.compiler.libraries import linker_of
    from tunesmith.networks.files import check_place

    check_place(output)
    linker_of(triple, "a network")  # whose complaint is due before anything is built
    network = choice.network()
    from tunesmith.cli.network.progress import BuildLines
    from tunesmith.store import open_store

    with open_store(store) as opened, BuildLines(remarks()) as lines:
        compiled = network.build(
            opened,
            inputs=given,
            limit=limit,
            max_weights_growth=max_weights_growth,
            contenders=contenders,
            transfer=chosen,
            progress=lines.update,
            say=lines.print,
        )
        known = knows(opened, network)
    if not known:
        remark(NOTHING_KNOWN)
    saved = compiled.save(output)
    if choice.triple is not None and not compiled.has_c_interface:
        remark(
            f"without a C compiler for {choice.triple} the library is for Python alone: for C and "
            f"C++ install {choice.triple}-gcc or clang"
        )
    tasks, before, after = len(network.tasks), network.constant_bytes, compiled.weight_bytes
    if as_json:
        found = {"file": str(saved), "bytes": saved.stat().st_size, "layers": len(network.layers)}
        found |= {"tasks": tasks, "stored_tasks": compiled.stored_tasks}
        found |= {"weight_bytes_before": before, "weight_bytes": after}
        checked = {"relative_error": compiled.relative_error, "unchecked": compiled.unchecked}
        print_json({**found, **checked})
        return
    from tunesmith.reports.format import counted

    layers, size = counted(len(network.layers), "layer"), saved.stat().st_size / 1e6
    print_text(
        f"{saved}: {size:.1f} MB, {layers} of {counted(tasks, 'task')}, {compiled.stored_tasks} of "
        "these from the store"
    )
    growth = f", {after / before:.2f} times as much" if before else ""
    print_text(f"weights: {after / 1e6:.1f} MB of {before / 1e6:.1f} MB in the model{growth}")
    if compiled.relative_error is not None:
        print_text(f"relative error against the source: {compiled.relative_error:.1e}")
    if compiled.unchecked is not None:
        print_text(f"not compared with the source: {compiled.unchecked}")
