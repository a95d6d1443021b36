"""``tunesmith operators``, ``tuners`` and ``sketches``: what there is to choose from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, print_text

if TYPE_CHECKING:
    from tunesmith.tuners.options import Option as TunerOption


def operators(
    name: Annotated[str | None, Argument(help="Only this one, with its options.")] = None,
    as_json: opt.Json = False,
) -> None:
    """List the operators and their options, and the named layers."""
    from tunesmith.operators import describe_operators, operator_class, workload_names

    if name is not None:
        operator_class(name)
    rows = [row for row in describe_operators() if name in (None, row.name)]
    if as_json:
        print_json({"operators": [asdict(row) for row in rows], "layers": list(workload_names())})
        return
    from rich.table import Table

    out = console()
    for row in rows:
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        for option in row.options:
            names = ", ".join(_spelling(text) for text in (option.name, *option.aliases))
            default = "required" if option.default is None else option.default
            table.add_row(names, default, option.meaning)
        out.print(f"{row.name}: {row.summary}", style="bold", markup=False)
        out.print("  takes " + "; ".join(row.arguments), markup=False)
        out.print(table)
    if name is None:
        out.print("layers: " + ", ".join(workload_names()), markup=False)


def _spelling(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def tuners(as_json: opt.Json = False) -> None:
    """List the tuners and their options."""
    from tunesmith.tuners import describe_tuners

    rows = describe_tuners()
    if as_json:
        listed = [{**vars(row), "options": [_described(it) for it in row.options]} for row in rows]
        print_json({"tuners": listed})
        return
    out = console()
    for row in rows:
        out.print(f"{row.name}: {row.summary}", style="bold", markup=False)
        for option in row.options:
            out.print(
                f"  {option.name}={option.default}  {option.meaning} ({option.type_name})",
                markup=False,
            )


def _described(option: TunerOption) -> dict[str, object]:
    names = {"name": option.name, "type": option.type_name}
    return {**names, "default": option.default, "meaning": option.meaning}


def sketches(as_json: opt.Json = False) -> None:
    """List the sketches: the ways to schedule an operator."""
    from tunesmith.sketches import describe_sketches

    rows = describe_sketches()
    if as_json:
        print_json({"sketches": [asdict(row) for row in rows]})
        return
    for row in rows:
        print_text(f"{row.name}: {row.summary}")
