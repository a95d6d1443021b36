"""``tunesmith bench``: the figures that we hold ourselves to."""

from __future__ import annotations

import contextlib
import enum
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli import bench_builds, bench_gpu, bench_search, bench_startup, space_analysis
from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remark, remarks
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tunesmith.progress import Progress

    _Watched = AbstractContextManager[Callable[[Progress], None]]

bench = typer.Typer(help="Measure the figures that the project promises.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    bench_builds.register(bench)
    bench_gpu.register(bench)
    bench_search.register(bench)
    bench_startup.register(bench)
    space_analysis.register(bench)
    app.add_typer(bench, name="bench")


@bench.callback()
def group() -> None:
    """Measure the figures that the project promises."""


@bench.command("loop")
def loop(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for loop.md and loop.json.")
    ] = Path("docs/benchmarks"),
    trials: Annotated[int, typer.Option("--trials", help="Trials of the random run.")] = 500,
    seconds: Annotated[float, typer.Option("--seconds", help="Length of the tuning run.")] = 90.0,
    records: Annotated[
        int, typer.Option("--records", help="Records in the store that is measured.")
    ] = 1_000_000,
    as_json: opt.Json = False,
) -> None:
    """Measure trials a second, the best of 90 s against PyTorch, the store, and memory."""
    from datetime import UTC, datetime

    from tunesmith.bench.loop.loop import LoopSettings, measure_loop
    from tunesmith.bench.loop.page import loop_page
    from tunesmith.bench.pages.figure_files import make_folder, write_texts
    from tunesmith.bench.peers.sides import peer_versions
    from tunesmith.store import library_versions, this_machine

    settings = LoopSettings(trials, seconds, records)
    make_folder(output)
    figures = measure_loop(settings, remark)
    figures["machine"] = this_machine()
    figures["versions"] = {**library_versions(), **peer_versions()}
    page = loop_page(figures, figures["machine"], f"{datetime.now(UTC):%Y-%m-%d}")
    data = json.dumps(figures, indent=2) + "\n"
    write_texts(output, {"loop.md": page, "loop.json": data})
    if as_json:
        print_json(figures)
    else:
        console().print(page, markup=False, soft_wrap=True)


class Rival(enum.Enum):
    """Tuners that ours is compared with."""

    METASCHEDULE = "metaschedule"


class OperatorSuite(enum.Enum):
    """Lists of workloads, as ``tunesmith.bench.operators.workloads`` has them."""

    LAYERS = "layers"
    SHAPES = "shapes"


@bench.command("operators")
def operators(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for operators.md and operators.json.")
    ] = Path("docs/benchmarks"),
    *,
    suite: Annotated[
        OperatorSuite, typer.Option("--suite", help="Layers of networks, or shapes of all kinds.")
    ] = OperatorSuite.LAYERS,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", help="A name, or a pattern such as 'resnet18.*'; repeatable."),
    ] = None,
    mcpu: opt.Processor = None,
    fused: Annotated[
        bool, typer.Option("--fused/--no-fused", help="Each also with bias and ReLU.")
    ] = True,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Seconds of tuning for each workload.")
    ] = 60.0,
    fused_seconds: Annotated[
        float | None,
        typer.Option("--fused-seconds", help="The same with bias and ReLU; default: half of it."),
    ] = None,
    pairs: Annotated[int, typer.Option("--pairs", help="Rounds in which all take turns.")] = 25,
    against: Annotated[
        Rival | None, typer.Option("--against", help="Also tune with TVM's MetaSchedule.")
    ] = None,
    prior: Annotated[
        bool, typer.Option("--prior/--no-prior", help="Begin with what a model likes.")
    ] = True,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0,
    store: opt.StoreLocation = None,
    again: Annotated[
        bool, typer.Option("--again", help="Tune further, and compare again, what has figures.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew: look at neither figures nor trials.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Tune operators, and compare them with other libraries, each in a process of its own."""
    from tunesmith.bench.operators.files import OperatorFigures, read_operators, write_operators
    from tunesmith.bench.operators.operators import OperatorBench, OperatorSettings
    from tunesmith.bench.operators.workloads import COMPARED_TUNERS, Suite, operator_workloads
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.bench.peers.instruction_sets import held_to
    from tunesmith.bench.peers.metaschedule import MetaSchedule
    from tunesmith.store import open_store
    from tunesmith.target import Target

    of = OperatorFigures(Suite(suite.value), Target(mcpu=mcpu))
    chosen = operator_workloads(workload or (), fused=fused, suite=of.suite)
    compared = tuple(chosen) if workload or of.suite is Suite.SHAPES else COMPARED_TUNERS
    rivals = () if against is None else compared
    settings = OperatorSettings(seconds, fused_seconds, pairs, seed, prior, rivals, again, fresh)
    held_to(of.target)  # which says so where this machine cannot run such programs
    make_folder(output)
    rows = read_operators(output, redone=chosen if fresh else (), of=of)
    failed = []

    def watch(seconds: float, flops: float) -> _Watched:
        return _watched(None, seconds, flops)

    with open_store(store) as opened, MetaSchedule() as rival:
        runner = OperatorBench(settings, of.target, opened, rival, remark, watch)
        for name, operator in chosen.items():
            try:
                row = runner.row(name, operator, rows.get(name))
            except TunesmithError as error:
                remark(f"{name}: {error}")
                failed.append(name)
                continue
            if row is not None:
                rows[name] = row
                write_operators(output, rows.values(), of=of)
    figures, page = write_operators(output, rows.values(), of=of)
    if as_json:
        print_json(figures)
    else:
        console().print(page, markup=False, soft_wrap=True)
    if failed:
        raise TunesmithError(f"no figures for {', '.join(failed)}: see above")


@bench.command("calls")
def calls(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for calls.md and calls.json.")
    ] = Path("docs/benchmarks"),
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds in which all take turns.")] = 15,
    as_json: opt.Json = False,
) -> None:
    """Measure what a call of a kernel takes beside the program, and what other libraries' take."""
    from tunesmith.bench.calls.calls import CallSettings, measure_calls
    from tunesmith.bench.calls.page import calls_page
    from tunesmith.bench.pages.figure_files import make_folder, write_texts

    settings = CallSettings(rounds)
    make_folder(output)
    figures = measure_calls(settings, remark)
    page = calls_page(figures)
    write_texts(output, {"calls.md": page, "calls.json": json.dumps(figures, indent=2) + "\n"})
    if as_json:
        print_json(figures)
    else:
        console().print(page, markup=False, soft_wrap=True)


@bench.command("starts")
def starts(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for starts.md, starts.json, starts.svg.")
    ] = Path("docs/benchmarks"),
    *,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", help="A name, or a pattern such as 'resnet18.*'; repeatable."),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", help="Trials of each run.")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Tune again what has figures of so many trials.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Measure what the first trials find, with the model's good starts and without."""
    from tunesmith.bench.operators.workloads import operator_workloads
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.bench.starts.files import read_starts, write_starts
    from tunesmith.bench.starts.starts import WORKLOADS, StartsSettings, measure_starts

    settings = StartsSettings(trials, seed)
    chosen = operator_workloads(workload or WORKLOADS, fused=False)
    make_folder(output)
    rows = read_starts(output, redone=chosen if again else ())

    def watch(trials: int, flops: float) -> _Watched:
        return _watched(trials, None, flops)

    for name, operator in chosen.items():
        known = None if again else rows.get(name)
        remark(f"{name}: two runs of {trials} trials ...")
        for row in measure_starts(name, operator, settings, known=known, watch=watch):
            rows[name] = row
            write_starts(output, rows.values())
    figures, page = write_starts(output, rows.values())
    if as_json:
        print_json(figures)
    else:
        console().print(page, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _watched(
    trials: int | None, seconds: float | None, flops: float
) -> Iterator[Callable[[Progress], None]]:
    """What a tuning run tells its progress to, shown on standard error."""
    from tunesmith.reports.live import LiveProgress

    with LiveProgress(remarks(), trials, seconds, flops) as live:
        yield live.update
