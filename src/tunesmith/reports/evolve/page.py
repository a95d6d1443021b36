"""The page about evolved programs."""

from __future__ import annotations

from pathlib import Path

from tunesmith.reports import format as fmt
from tunesmith.reports.evolve.figures import make_figures
from tunesmith.reports.evolve.model import EvolveReport
from tunesmith.reports.evolve.tables import error_text
from tunesmith.reports.html import filled_in, write_page


def write_evolve_report(report: EvolveReport, path: str | Path) -> Path:
    """Write the page of a run: see ``write_page``."""
    return write_page(render(report), path)


def render(report: EvolveReport) -> str:
    """The page: see ``filled_in``."""
    return filled_in(
        "evolve/evolve.html",
        make_figures(report),
        title=report.name,
        headline=headline(report),
        cards=_cards(report),
        facts=report.facts,
        report=report,
        error_text=error_text,
    )


def headline(report: EvolveReport) -> str:
    """The result in one line."""
    if not report.programs:
        return "nothing faster than the original was found"
    fastest = report.programs[0]
    gain = f"{fmt.number(fastest.speedup)}× faster than the original"
    if fastest.error == 0:
        return f"{gain}, with the same output"
    return f"{gain}, with an error of {error_text(fastest.error)}"


def _cards(report: EvolveReport) -> list[tuple[str, str, str]]:
    cards = []
    if report.programs:
        fastest = report.programs[0]
        cards.append(
            ("Speed-up", f"{fmt.number(fastest.speedup)}×", f"error {error_text(fastest.error)}")
        )
        cards.append(
            (
                "Held out",
                f"{fmt.number(fastest.heldout_speedup)}×",
                f"error {error_text(fastest.heldout_error)}",
            )
        )
    cards.append(("Programs", fmt.count(len(report.programs)), "on the front"))
    valid = fmt.percent(report.steps[-1].valid, 0) if report.steps else ""
    cards.append(("Evaluations", fmt.count(report.evaluations), f"{valid} valid" if valid else ""))
    cards.append(("Time", fmt.duration(report.seconds), ""))
    return cards
