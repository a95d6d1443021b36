"""``tunesmith bench operators``: operators against other libraries."""

from __future__ import annotations

import enum
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark, shown_progress
from tunesmith.errors import TunesmithError


class Rival(enum.Enum):
    """Tuners that ours is compared with."""

    METASCHEDULE = "metaschedule"


class OperatorSuite(enum.Enum):
    """Lists of workloads, as ``tunesmith.bench.operators.workloads`` has them."""

    LAYERS = "layers"
    SHAPES = "shapes"


def operators(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for operators.md and operators.json.")
    ] = opt.FIGURES,
    *,
    suite: Annotated[
        OperatorSuite, Option(help="Layers of networks, or shapes of all kinds.")
    ] = OperatorSuite.LAYERS,
    workload: opt.Workloads = None,
    mcpu: opt.Processor = None,
    fused: Annotated[bool, Option(help="Each also with bias and ReLU.")] = True,
    seconds: Annotated[float, Option(help="Seconds of tuning for each workload.")] = 60.0,
    fused_seconds: Annotated[
        float | None, Option(help="The same with bias and ReLU; default: half of it.")
    ] = None,
    pairs: Annotated[int, Option(help="Rounds in which all take turns.")] = 25,
    against: Annotated[Rival | None, Option(help="Also tune with TVM's MetaSchedule.")] = None,
    prior: opt.Prior = True,
    seed: Annotated[int, Option(help="Seed of the search.")] = 0,
    store: opt.StoreLocation = None,
    again: Annotated[
        bool, Option("--again", help="Tune further, and compare again, what has figures.")
    ] = False,
    fresh: Annotated[
        bool, Option("--fresh", help="Start anew: look at neither figures nor trials.")
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
    with open_store(store) as opened, MetaSchedule() as rival:
        watch = partial(shown_progress, None)
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
    print_page(figures, page, as_json=as_json)
    if failed:
        raise TunesmithError(f"no figures for {', '.join(failed)}: see above")
