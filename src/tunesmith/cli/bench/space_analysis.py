"""``tunesmith bench space-analysis``: what recorded spaces are like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import command_line, print_page, remark, shown_progress
from tunesmith.errors import UsageError

RECORDED = Path("data/replay"), Path("data/samples")
"""Where a checkout has the recordings that it ships: of parts of spaces, and samples of spaces."""

_PLACES = "*/*.json.gz", "template/*/*.json.gz"
"""Where recordings are in these: many of a template's configs fail, unlike those of ``layers``."""


def space_analysis(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for search.md and its data.")
    ] = opt.FIGURES,
    *,
    space: Annotated[
        list[str] | None,
        Option(
            help="A T4 file beside its space.T1.json, or a pattern; repeatable; "
            "default: those in data/replay, of the template too, and in data/samples."
        ),
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Record nothing: look at what is recorded.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Look at recorded spaces: outcomes, what they cost, how speeds are distributed."""
    from tunesmith.bench.papers.page import open_folder, write_search
    from tunesmith.bench.papers.space_analysis import analyse, choose_recordings
    from tunesmith.bench.papers.space_analysis_figures import pictures

    chosen = choose_recordings(space or _shipped())
    open_folder(output)
    if not quick:
        chosen = choose_recordings([*(str(each.path) for each in chosen), str(_recorded(output))])
    spaces = [analyse(each) for each in chosen]
    figures, section = write_search(
        output, "space-analysis", {"spaces": spaces}, pictures(spaces), command_line()
    )
    print_page(figures, section, as_json=as_json)


def _shipped() -> list[str]:
    """Patterns of the recordings of this checkout. Raises ``UsageError`` where there are none."""
    places = [(folder, place) for folder in RECORDED for place in _PLACES]
    patterns = [f"{folder}/{place}" for folder, place in places if any(folder.glob(place))]
    if not patterns:
        raise UsageError(
            f"there are no recordings in {RECORDED[0]}: run this at the top of a checkout, or name "
            "T4 files with --space"
        )
    return patterns


def _recorded(output: Path) -> Path:
    """The recording that takes hours, made or completed now."""
    from tunesmith.bench.papers.experiment import RUNS
    from tunesmith.bench.papers.space_analysis_record import (
        LAYER,
        configs_to_record,
        record_whole,
        whole,
    )

    part, folder = whole(), output / RUNS / "space-analysis"
    count = configs_to_record(part)
    remark(f"recording {count:,} configs of {LAYER}, which goes on where it was stopped ...")
    with shown_progress(count, None, part.flops) as progress:
        return record_whole(part, folder, progress)
