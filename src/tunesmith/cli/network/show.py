"""``tunesmith network show``: the layers of a network, and what the store knows of them."""

from __future__ import annotations

from typing import Any

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import print_json, print_text


def show(
    choice: NetworkChoice, *, store: opt.StoreLocation = None, as_json: opt.Json = False
) -> None:
    """Show the tasks of a network with their layers, best times and sketches, the dearest first."""
    network = choice.network()
    from tunesmith.reports.networks.tables import layers_table
    from tunesmith.store import open_store

    rows: list[dict[str, Any]] = []
    with open_store(store) as opened:
        for task, layers in network.tasks.items():
            best = opened.best(task.key)
            seconds = None if best is None else best.measurement.seconds
            rows.append(
                {
                    "task": task.key,
                    "label": task.operator.label,
                    "layers": layers,
                    "seconds": seconds,
                    "gflops": None if seconds is None else task.operator.flops / seconds / 1e9,
                    "sketch": None if best is None else best.sketch,
                }
            )
    rest = [getattr(step, "op", "") for step in network.steps if not hasattr(step, "operator")]
    if as_json:
        print_json({"tasks": rows, "uncovered": rest})
        return
    print_text(layers_table(rows))
    if rest:
        print_text(
            f"{len(rest)} operations that no operator covers: {', '.join(sorted(set(rest)))}"
        )
