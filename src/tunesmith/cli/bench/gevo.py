"""``tunesmith bench gevo``: what evolution finds on real kernels and models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import command_line, print_page, remark, remarks
from tunesmith.errors import UsageError, unknown_name

GPU, EDITS = "gpu", "edits"
_SECONDS, _QUICK_SECONDS = 1800.0, 20.0
_TRIES, _QUICK_TRIES = 500, 50


def gevo(
    *,
    case: Annotated[
        list[str] | None, Option(help="Only this case, or edits, or gpu; repeatable; default: all.")
    ] = None,
    seconds: Annotated[float | None, Option(help="Of each case; default: 1800.")] = None,
    quick: Annotated[bool, Option("--quick", help="Twenty seconds a case.")] = False,
    seed: Annotated[int, Option(help="Seed of all that is left to chance.")] = 0,
    store: opt.StoreLocation = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help=f"Folder for evolve.md, evolve.json and the picture; default: {opt.FIGURES}, "
            "of --quick none.",
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Evolve kernels and models, and write down how fast and how wrong they become."""
    if seconds is not None and not seconds > 0:
        raise UsageError(f"--seconds must be positive, not {seconds:g}")
    if output is None:
        output = opt.FIGURES
    if quick:
        opt.check_quick(output)
    from tunesmith.bench.gevo.cases import CASES
    from tunesmith.bench.gevo.edits import drawn_edits
    from tunesmith.bench.gevo.gpu import ARCHITECTURE, check_edits
    from tunesmith.bench.gevo.page import read_evolve, with_row, write_evolve
    from tunesmith.bench.gevo.run import evolve_case, row_of
    from tunesmith.bench.pages.provenance import origin_now
    from tunesmith.budget import Stop
    from tunesmith.evolve.reporting import step_of
    from tunesmith.evolve.run import State
    from tunesmith.reports.evolve.live import EvolveProgress
    from tunesmith.store import open_store

    known = [*CASES, EDITS, GPU]
    names = case or known
    for name in names:
        if name not in known:
            raise unknown_name("case", name, known)
    figures = read_evolve(output)
    tries = _QUICK_TRIES if quick else _TRIES
    limit = seconds or (_QUICK_SECONDS if quick else _SECONDS)
    with open_store(store) as opened:
        for name in names:
            remark(f"{name}:")
            if name == GPU:
                checked = check_edits(tries, seed)
                origin = origin_now()
                figures["gpu"] = {**checked, "architecture": ARCHITECTURE, "origin": origin}
                page = write_evolve(output, figures)
                continue
            if name == EDITS:
                figures["edits"] = list(drawn_edits([*CASES.values()], tries, seed))
                page = write_evolve(output, figures)
                continue
            with EvolveProgress(remarks(), limit, None) as live:

                def tell(state: State, live: EvolveProgress = live) -> None:
                    live.show(step_of(state.number, state.generation, state.doing))

                front = evolve_case(
                    CASES[name], seconds=limit, seed=seed, store=opened, progress=tell
                )
            interrupted = front.stopped == Stop.INTERRUPTED.value
            if interrupted and any(row["case"] == name for row in figures["rows"]):
                remark(f"the figures of {name} in {output} stay: this run was not done")
            else:
                figures = with_row(
                    figures, row_of(CASES[name], front, command_line(store, opened.name))
                )
            page = write_evolve(output, figures)
            if interrupted:
                raise KeyboardInterrupt
    print_page(figures, page, as_json=as_json, written=output / "evolve.md")
