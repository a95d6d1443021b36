"""``tunesmith bench replay``: what papers claim of searches, on spaces that are on record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.compare import carry_out_and_write
from tunesmith.cli.output import command_line, print_page
from tunesmith.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from tunesmith.bench.compare.runs import Results
    from tunesmith.bench.papers.replayed.parts import ReplayPart


def replay(
    *,
    part: Annotated[
        str,
        Option(
            help="surrogate, surrogate-template, opevo, opevo-template, walks, walks-template, "
            "visited, or plane."
        ),
    ],
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for search.md, its data and figures.")
    ] = opt.FIGURES,
    data: Annotated[Path | None, Option(help="Folder of recorded spaces.")] = None,
    quick: Annotated[bool, Option("--quick", help="One space, two runs of each line.")] = False,
    repeats: Annotated[int | None, Option(help="Runs of each line on each space.")] = None,
    trials: Annotated[int | None, Option(help="Trials of a run.")] = None,
    seed: Annotated[int, Option(help="Seed of the first run; the next has one more.")] = 0,
    fresh: opt.FreshRuns = False,
    as_json: opt.Json = False,
) -> None:
    """Settle what papers claim of searches by replaying recorded spaces."""
    from tunesmith.bench.compare.problems import RECORDED
    from tunesmith.bench.papers.replayed.parts import PARTS
    from tunesmith.bench.papers.replayed.plane import PART as PLANE

    if part not in {*PARTS, PLANE}:
        raise unknown_name("part", part, [*PARTS, PLANE])
    if quick:
        opt.check_quick(output)
    for name, value in (("repeats", repeats), ("trials", trials)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be 1 or more, not {value}")
    if part == PLANE:
        if data is not None or fresh:
            raise UsageError(
                "plane searches functions of its own, and keeps no runs: leave out --data and "
                "--fresh"
            )
        _plane(output, repeats, trials, seed, quick=quick, as_json=as_json)
        return
    chosen = PARTS[part].quick() if quick else PARTS[part]
    chosen = replace(chosen, repeats=repeats or chosen.repeats, trials=trials or chosen.trials)
    _replay(chosen, data or RECORDED, output, seed, quick=quick, fresh=fresh, as_json=as_json)


def _replay(
    part: ReplayPart,
    data: Path,
    output: Path,
    seed: int,
    *,
    quick: bool,
    fresh: bool,
    as_json: bool,
) -> None:
    """Do the runs, or what is left of them, and write their part of the page."""
    from tunesmith.bench.papers.experiment import RUNS
    from tunesmith.bench.papers.page import PAGE, figures_of, open_folder, write_search
    from tunesmith.bench.papers.replayed.figures import replay_data

    kept = output / RUNS / f"replay-{part.name}{'-quick' if quick else ''}"
    comparison = part.comparison(data, kept, seed)
    open_folder(output)

    def write(results: Results) -> tuple[dict[str, Any], str]:
        figures, pictures = replay_data(part, comparison, results)
        return write_search(output, f"replay-{part.name}", figures, pictures, command_line())

    before = figures_of(output, f"replay-{part.name}")
    written, section = carry_out_and_write(comparison, write, fresh=fresh, before=before)
    print_page(written, section, as_json=as_json, written=output / PAGE)


def _plane(
    output: Path,
    repeats: int | None,
    trials: int | None,
    seed: int,
    *,
    quick: bool,
    as_json: bool,
) -> None:
    from tunesmith.bench.papers.page import PAGE, figures_of, open_folder, write_search
    from tunesmith.bench.papers.replayed.plane import PART, PlaneSettings, plane_data

    settings = PlaneSettings(seed=seed)
    given: dict[str, Any] = {"functions": repeats or (2 if quick else None), "trials": trials}
    settings = replace(settings, **{name: value for name, value in given.items() if value})
    open_folder(output)
    before = figures_of(output, f"replay-{PART}")
    if before and before["settings"]["functions"] > settings.functions:
        raise UsageError(
            f"the figures there are of {before['settings']['functions']} functions, and these "
            f"would be of {settings.functions}: name another folder by -o"
        )
    figures, pictures = plane_data(settings)
    written, section = write_search(output, f"replay-{PART}", figures, pictures, command_line())
    print_page(written, section, as_json=as_json, written=output / PAGE)
