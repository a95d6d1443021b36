"""``tunesmith compare``: tuners against each other, on recorded spaces and measured workloads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import command_line, print_page, remark, remarks
from tunesmith.errors import TunesmithError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tunesmith.bench.compare.compare import Comparison
    from tunesmith.bench.compare.runs import CompareSettings, Results, Run


T = TypeVar("T")


def compare(
    problems: Annotated[
        list[str] | None,
        Option(
            help="A T4 file beside its space.T1.json, a layer such as resnet18.C7, a synthetic "
            "space, or a pattern of them; repeatable."
        ),
    ] = None,
    *,
    tuners: Annotated[
        list[str] | None,
        Option(
            help="A tuner, with options: genetic:population=50,elites=2; repeatable. random*2 has "
            "twice the trials and seconds."
        ),
    ] = None,
    repeats: Annotated[int, Option(help="Runs of each tuner on each problem.")] = 25,
    seconds: Annotated[
        float | None,
        Option(help="Seconds of tuning a run; default for a T4 file: as long as its score takes."),
    ] = None,
    trials: Annotated[int | None, Option(help="Trials of a run.")] = None,
    seed: Annotated[int, Option(help="Seed of the first repeat; the next has one more.")] = 0,
    workers: Annotated[
        int | None, Option(help="T4 files searched at a time; default: one a processor.")
    ] = None,
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for pages, figures and runs.")
    ] = Path("comparison"),
    store: Annotated[
        str | None, Option(help="Where measured trials go; default: in the output folder.")
    ] = None,
    fresh: opt.FreshRuns = False,
    as_json: opt.Json = False,
) -> None:
    """Compare tuners on recorded spaces and measured workloads, and score them."""
    from tunesmith.bench.compare.compare import Comparison
    from tunesmith.bench.compare.problems import choose_problems
    from tunesmith.bench.compare.report.files import write_comparison
    from tunesmith.bench.compare.runs import CompareSettings
    from tunesmith.bench.compare.summary import summarise
    from tunesmith.bench.compare.tuners import choose_tuners
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.store.place import locate
    from tunesmith.tuners.short_runs import short_run

    command = command_line(store, "" if store is None else locate(store, make_folder=False).name)
    settings = CompareSettings(repeats, seconds, trials, seed, workers)
    chosen = choose_tuners(tuners or ())
    comparison = Comparison(choose_problems(problems or ()), chosen, settings, output, store)
    for each in chosen:
        short = short_run(each.tuner, trials and trials * each.multiplier)
        if short:
            remark(short)
    make_folder(output)
    if fresh:
        comparison.forget()
    results = comparison.saved()
    try:
        carry_out(comparison, results)
    finally:  # Ctrl-C included
        if results.traces or results.crashes:
            figures, page = write_comparison(
                output, summarise(results), settings, command, results.origin()
            )
    print_page(figures, page, as_json=as_json, written=output / "compare.html")
    if not results.traces:
        raise TunesmithError(f"every run crashed: {results.crashes[0].why}")


def carry_out_and_write(
    comparison: Comparison,
    write: Callable[[Results], T],
    *,
    fresh: bool,
    asked: Collection[Run] | None = None,
    before: Mapping[str, Any] | None = None,
) -> T:
    """Do what is left to do of the runs ``asked`` for, by default all, after Ctrl-C too write what
    there is, and return what that gives.

    ``fresh`` forgets the runs of before. Otherwise the figures of ``before`` stay until there are
    as many runs. Raises ``UsageError`` where there never would be, or shorter ones, what
    ``Comparison.go`` does, and ``TunesmithError`` where every run crashed, or too many.
    """
    replaced = before["runs"]["done"] if before else 0
    if fresh:
        comparison.forget(asked)
    results = comparison.saved(asked)
    there = len({*results.traces, *(comparison.runs() if asked is None else asked)})
    if before and not fresh:
        _check_better(before, there, comparison.settings)
    try:
        carry_out(comparison, results, asked)
    except BaseException:
        if len(results.traces) >= (1 if fresh else max(replaced, 1)):
            write(results)
        raise
    if not results.traces:
        raise TunesmithError(f"every run crashed: {results.crashes[0].why}")
    if len(results.traces) < replaced and not fresh:
        raise TunesmithError(
            f"some runs crashed, so the figures there stay, which are of {replaced} runs: "
            f"{results.crashes[0].why}"
        )
    return write(results)


def _check_better(before: Mapping[str, Any], runs: int, settings: CompareSettings) -> None:
    """Raises ``UsageError`` where figures of fewer or shorter runs would take the place of those of
    ``before``."""
    compared = {
        "{} runs": (before["runs"]["done"], runs),
        "runs of {} s": (before["settings"]["seconds"], settings.seconds),
        "runs of {} trials": (before["settings"]["trials"], settings.trials),
    }
    for words, (old, new) in compared.items():
        if new is not None and (old is None or new < old):
            was = words.format("any number of" if old is None else f"{old:g}")
            raise UsageError(
                f"the figures there are of {was}, and these would be of {words.format(f'{new:g}')}"
                ": name another folder by -o, or replace them with --fresh"
            )


def carry_out(
    comparison: Comparison, results: Results, asked: Collection[Run] | None = None
) -> None:
    """Do what is left to do of the runs ``asked`` for, by default all, and show how far it is.
    Raises what ``Comparison.go`` does."""
    from tunesmith.bench.compare.progress import CompareProgress

    others = 0 if asked is None else len(results.traces.keys() - set(asked))
    total = len(comparison.runs() if asked is None else asked)
    saved = len(results.traces) - others
    with CompareProgress(remarks(), total, saved) as shown:

        def watch(results: Results, words: str, share: float) -> None:
            done = len(results.traces) - others + len(results.crashes) + share
            shown.update(done, len(results.crashes), words)

        comparison.go(results, watch, asked)
