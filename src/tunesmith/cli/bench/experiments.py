"""``tunesmith bench nose``, ``opevo`` and ``gbfs``: the papers' experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.compare import carry_out_and_write
from tunesmith.cli.output import command_line, print_page, remark

if TYPE_CHECKING:
    from tunesmith.bench.compare.runs import Results
    from tunesmith.bench.papers.experiment import SearchExperiment


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """Where the figures go, and what is other than in the experiment's own settings."""

    output: Annotated[
        Path, Option("-o", "--output", help="Folder for search.md, its data and figures.")
    ] = opt.FIGURES
    quick: Annotated[
        bool, Option("--quick", help="Ten minutes: fewer workloads, tuners and runs.")
    ] = False
    workload: Annotated[
        list[str] | None, Option(help="A name, or a pattern such as '*.C?'; repeatable.")
    ] = None
    tuners: Annotated[
        list[str] | None, Option(help="A tuner, with options: opevo:q=0.3; repeatable.")
    ] = None
    repeats: Annotated[int | None, Option(help="Runs of each tuner on each workload.")] = None
    seconds: Annotated[float | None, Option(help="Seconds of tuning of a run.")] = None
    trials: Annotated[int | None, Option(help="Trials of a run.")] = None
    sketch: Annotated[str | None, Option(help="The sketch whose space is searched.")] = None
    seed: Annotated[int | None, Option(help="Seed of the first run; the next has one more.")] = None
    fresh: opt.FreshRuns = False
    as_json: opt.Json = False


def nose(options: ExperimentOptions) -> None:
    """Repeat NoSE's experiment: layers of ResNet-18, against AutoTVM's tuners."""
    from tunesmith.bench.papers.nose import EXPERIMENT

    _repeat(EXPERIMENT, options)


def opevo(options: ExperimentOptions) -> None:
    """Repeat OpEvo's experiments: other tuners, and other q and λ."""
    from tunesmith.bench.papers.opevo import EXPERIMENT

    _repeat(EXPERIMENT, options)


def gbfs(options: ExperimentOptions) -> None:
    """Repeat G-BFS's and N-A2C's experiments: 0.1 % of the space, and a fixed time."""
    from tunesmith.bench.papers.gbfs import EXPERIMENT

    _repeat(EXPERIMENT, options)


def _repeat(experiment: SearchExperiment, options: ExperimentOptions) -> None:
    """Do an experiment, or what is left of it, and write its part of the page."""
    from tunesmith.bench.papers.data import search_data
    from tunesmith.bench.papers.experiment import take_part
    from tunesmith.bench.papers.page import PAGE, figures_of, open_folder, write_search

    if options.quick:
        opt.check_quick(options.output)
    settings = experiment.settings(quick=options.quick).changed(
        workloads=tuple(options.workload or ()),
        tuners=tuple(options.tuners or ()),
        repeats=options.repeats,
        seconds=options.seconds,
        trials=options.trials,
        sketch=options.sketch,
        seed=options.seed,
    )
    there, left_out = take_part(settings.tuners)
    comparison = experiment.comparison(settings, there, options.output, quick=options.quick)
    open_folder(options.output)
    for tuner, why in left_out.items():
        remark(f"without {tuner}: {why}")

    def write(results: Results) -> tuple[dict[str, Any], str]:
        figures, pictures = search_data(experiment, settings, comparison, results, left_out)
        return write_search(options.output, experiment.name, figures, pictures, command_line())

    before = figures_of(options.output, experiment.name)
    data, section = carry_out_and_write(comparison, write, fresh=options.fresh, before=before)
    print_page(data, section, as_json=options.as_json, written=options.output / PAGE)
