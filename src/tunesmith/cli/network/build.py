"""``tunesmith network build``: a network as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import print_json, print_text, remark


def build(
    output: Annotated[Path, Option("-o", "--output", help="The library, such as net.so.")],
    choice: NetworkChoice,
    *,
    store: opt.StoreLocation = None,
    limit: Annotated[float, Option(help="The largest relative error allowed.")] = 1e-3,
    as_json: opt.Json = False,
) -> None:
    """Build a network with the best programs of the store, and picks of the model for others."""
    network = choice.network()
    from tunesmith.store import open_store

    count = len(network.tasks)
    numbers = iter(range(1, count + 1))
    with open_store(store) as opened:
        compiled = network.build(
            opened,
            limit=limit,
            say=lambda task: remark(f"{next(numbers)} of {count}: {task.operator.label}"),
        )
    if not compiled.stored_tasks:
        remark(
            "nothing in the store is of this network, so all programs are picks of the model: "
            "'tunesmith network tune' measures others"
        )
    saved = compiled.save(output)
    if as_json:
        found = {"file": str(saved), "bytes": saved.stat().st_size, "layers": len(network.layers)}
        found |= {"tasks": count, "stored_tasks": compiled.stored_tasks}
        print_json({**found, "relative_error": compiled.relative_error})
        return
    from tunesmith.reports.format import counted

    layers, size = counted(len(network.layers), "layer"), saved.stat().st_size / 1e6
    print_text(
        f"{saved}: {size:.1f} MB, {layers} of {counted(count, 'task')}, {compiled.stored_tasks} of "
        "these from the store"
    )
    if compiled.relative_error is not None:
        print_text(f"relative error against the source: {compiled.relative_error:.1e}")
