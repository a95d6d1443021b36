"""``tunesmith bench nose``, ``opevo`` and ``gbfs``: the papers' experiments as commands."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.compare import carry_out
from tunesmith.cli.output import console, print_json, remark
from tunesmith.errors import TunesmithError

_COMMANDS = {
    "nose": "Repeat NoSE's experiment: layers of ResNet-18, against AutoTVM's tuners.",
    "opevo": "Repeat OpEvo's experiments: other tuners, and other q and λ.",
    "gbfs": "Repeat G-BFS's and N-A2C's experiments: 0.1 % of the space, and a fixed time.",
}


def register(bench: typer.Typer) -> None:
    """Add the commands."""
    for name, about in _COMMANDS.items():
        _add(bench, name, about)


def _add(bench: typer.Typer, name: str, about: str) -> None:
    @bench.command(name, help=about)
    def experiment(
        output: Annotated[
            Path, typer.Option("-o", "--output", help="Folder for search.md, its data and figures.")
        ] = Path("docs/benchmarks"),
        *,
        quick: Annotated[
            bool, typer.Option("--quick", help="Ten minutes: fewer workloads, tuners and runs.")
        ] = False,
        workload: Annotated[
            list[str] | None,
            typer.Option("--workload", help="A name, or a pattern such as '*.C?'; repeatable."),
        ] = None,
        tuners: Annotated[
            list[str] | None,
            typer.Option("--tuners", help="A tuner, with options: opevo:q=0.3; repeatable."),
        ] = None,
        repeats: Annotated[
            int | None, typer.Option("--repeats", help="Runs of each tuner on each workload.")
        ] = None,
        seconds: Annotated[
            float | None, typer.Option("--seconds", help="Seconds of tuning of a run.")
        ] = None,
        trials: Annotated[int | None, typer.Option("--trials", help="Trials of a run.")] = None,
        sketch: Annotated[
            str | None, typer.Option("--sketch", help="The sketch whose space is searched.")
        ] = None,
        seed: Annotated[
            int | None, typer.Option("--seed", help="Seed of the first run; the next has one more.")
        ] = None,
        fresh: Annotated[
            bool, typer.Option("--fresh", help="Start anew: look at no run of before.")
        ] = False,
        as_json: opt.Json = False,
    ) -> None:
        given = {
            "workloads": tuple(workload or ()),
            "tuners": tuple(tuners or ()),
            "repeats": repeats,
            "seconds": seconds,
            "trials": trials,
            "sketch": sketch,
            "seed": seed,
        }
        _do(name, output, given, quick=quick, fresh=fresh, as_json=as_json)


def _do(
    name: str,
    output: Path,
    given: Mapping[str, object],
    *,
    quick: bool,
    fresh: bool,
    as_json: bool,
) -> None:
    """Do an experiment, or what is left of it, and write its part of the page."""
    from tunesmith.bench.papers import gbfs, nose, opevo
    from tunesmith.bench.papers.data import search_data
    from tunesmith.bench.papers.experiment import take_part
    from tunesmith.bench.papers.page import PAGE, open_folder, write_search

    modules = {"nose": nose, "opevo": opevo, "gbfs": gbfs}
    experiment = modules[name].EXPERIMENT
    settings = experiment.settings(quick=quick).changed(**given)
    there, left_out = take_part(settings.tuners, asked_for=bool(given["tuners"]))
    comparison = experiment.comparison(settings, there, output, quick=quick)
    open_folder(output)
    for tuner, why in left_out.items():
        remark(f"without {tuner}: {why}")
    if fresh:
        comparison.forget()
    results = comparison.saved()
    try:
        carry_out(comparison, results)
    finally:  # Ctrl-C included
        if results.traces:
            figures, pictures = search_data(experiment, settings, comparison, results, left_out)
            command = shlex.join(["tunesmith", *sys.argv[1:]])
            data, section = write_search(output, name, figures, pictures, command)
    if not results.traces:
        raise TunesmithError(f"every run crashed: {results.crashes[0].why}")
    if as_json:
        print_json(data)
    else:
        console().print(section, markup=False, soft_wrap=True)
        console().print(f"page: {output / PAGE}", markup=False, soft_wrap=True)
