"""``tunesmith evolve``: a function made faster by random edits of its code."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.budget import Stop
from tunesmith.cli import options as opt
from tunesmith.cli.evolve.choice import ProgramChoice
from tunesmith.cli.output import (
    WIDTH,
    command_line,
    console,
    print_json,
    print_text,
    remark,
    remarks,
)
from tunesmith.errors import TunesmithError, UsageError, describe

if TYPE_CHECKING:
    from tunesmith.evolve.front import Front


def evolve(
    choice: ProgramChoice,
    *,
    test: Annotated[
        Path | None,
        Option("--test", "--harness", help="A Python file with tests, and heldout and error."),
    ] = None,
    entry: Annotated[
        str | None, Option(help="The function of the file; main in NAME.mlir.")
    ] = None,
    seconds: Annotated[float | None, Option(help="Stop after so many; default: 600.")] = None,
    trials: Annotated[int | None, Option(help="Stop after so many programs were run.")] = None,
    error: Annotated[float, Option(help="How wrong a program may be.")] = 0.01,
    metric: Annotated[
        str, Option(help="What an error is: relative or absolute; or the file's function error.")
    ] = "relative",
    exact: Annotated[bool, Option("--exact", help="The same output to the last bit.")] = False,
    population: Annotated[int, Option(help="Programs of a generation.")] = 32,
    seed: Annotated[int, Option(help="Seed of all that is left to chance.")] = 0,
    workers: Annotated[
        int | None, Option(help="Programs that are run at a time; default: one a core.")
    ] = None,
    timeout: Annotated[
        float, Option(help="Seconds that a program may take, all its tests.")
    ] = 10.0,
    ablation: Annotated[
        bool, Option("--ablation", help="Look which edits depend on each other.")
    ] = False,
    fresh: Annotated[
        bool, Option("--fresh", help="Start anew: look at no evaluation of before.")
    ] = False,
    output: Annotated[
        Path | None, Option("-o", "--output", help="A folder for the programs, one file each.")
    ] = None,
    report: Annotated[Path | None, Option(help="Write a page about the run.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Make a function faster by evolution: random edits of its code, as far as its tests allow."""
    wanted, tests, heldout, error_of = choice.subject(test, entry)
    _can_write(output, report)
    from tunesmith.budget import Budget
    from tunesmith.evolve import reporting
    from tunesmith.evolve.evaluation.pool import EvaluationSettings
    from tunesmith.evolve.run import OBJECTIVES, State
    from tunesmith.evolve.run import evolve as evolved
    from tunesmith.evolve.search.nsga2 import SearchSettings
    from tunesmith.reports.evolve.live import EvolveProgress
    from tunesmith.store import open_store

    budget = Budget(seconds if seconds is not None or trials is not None else 600.0, trials=trials)
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(open_store(choice.store))
        live = stack.enter_context(EvolveProgress(remarks(), budget.seconds, budget.trials))

        def tell(state: State) -> None:
            live.show(reporting.step_of(state.number, state.generation, state.doing))

        front = evolved(
            wanted,
            tests,
            heldout=heldout,
            objectives=OBJECTIVES[:1] if exact else OBJECTIVES,
            error=error,
            metric=error_of or metric,
            budget=budget,
            search=SearchSettings(population=population, seed=seed),
            evaluation=EvaluationSettings(timeout=timeout, workers=workers),
            ablation=ablation,
            store=opened,
            fresh=fresh,
            progress=tell,
        )
    try:
        files = _written(front, output)
        if report is not None:
            from tunesmith.reports.evolve.page import write_evolve_report

            shown = reporting.report_of(
                front, exact=exact, commands=[command_line(choice.store, opened.name)]
            )
            write_evolve_report(shown, report)
    except TunesmithError:  # what was found is told anyway
        _print(front, [], None, as_json=as_json)
        raise
    _print(front, files, report, as_json=as_json)
    if front.stopped == Stop.INTERRUPTED.value:
        raise KeyboardInterrupt


def _can_write(folder: Path | None, report: Path | None) -> None:
    """Raises ``UsageError`` for what could not be written in the end: better now than then."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {folder}: {describe(error)}") from error
    if report is not None and (report.is_dir() or not report.absolute().parent.is_dir()):
        raise UsageError(f"cannot write {report}: it must be a file in a folder that exists")


def _written(front: Front, folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    files = []
    for number, point in enumerate(front, 1):
        for ending in point.subject.endings:
            files.append(folder / f"{front.subject.name}-{number}{ending}")
            point.save(files[-1])
    return files


def _cut(line: str) -> str:
    """The page, JSON and the files have all of what is cut: a function's head may be very long."""
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def _print(front: Front, files: list[Path], report: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "name": front.subject.name,
                "points": [point.to_json() for point in front],
                "evaluations": front.evaluations,
                "earlier_evaluations": front.earlier,
                "seconds": front.seconds,
                "stopped": front.stopped,
                "outcomes": dict(front.outcomes),
                "doubts": list(front.doubts),
                "files": [str(path) for path in files],
                "report": None if report is None else str(report),
            }
        )
        return
    from tunesmith.evolve.reporting import report_of
    from tunesmith.reports.evolve.page import headline
    from tunesmith.reports.evolve.tables import front_table

    shown = report_of(front, exact=False)
    print_text(f"{front.subject.name}: {headline(shown)}")
    if front:
        console().print(front_table(shown.programs))
        for number, program in enumerate(shown.programs, 1):
            print_text(f"edits of program {number}:")
            for words in (*program.edits, *program.remarks):
                print_text(_cut(f"  {words}"))
        for line in front[0].difference:
            print_text(_cut(line))
    else:
        remark("allow a larger --error, or more --seconds: what was found so far is kept")
    for doubt in front.doubts:
        remark(doubt)
    for path in files:
        print_text(f"program: {path}")
    if report is not None:
        print_text(f"report: {report}")
