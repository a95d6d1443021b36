"""A comparison as one HTML file that needs nothing beside it, and as a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tunesmith.bench.compare.bars import (
    outcome_times_figure,
    outcomes_figure,
    score_figure,
    time_split_figure,
)
from tunesmith.bench.compare.compare import CompareSettings
from tunesmith.bench.compare.figures import speed_time_figure, speed_trials_figure, speed_up_figure
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.compare.tables import (
    Table,
    explanation,
    headline,
    problem_table,
    standings_table,
)
from tunesmith.bench.pages import markdown
from tunesmith.reports import format as fmt
from tunesmith.reports.page import style_sheet
from tunesmith.reports.palette import LIGHT

PAGE, HTML, DATA = "compare.md", "compare.html", "compare.json"

# Tables of Markdown are to fit 100 columns.
_WIDEST_LABEL = 12

# What a dark page draws in its own colours; series keep theirs.
_PAGE_COLOURS = ("page", "ink", "line", "muted")


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, and the name of its file."""

    file: str
    title: str
    about: str
    picture: str


def make_figures(summary: Summary) -> list[Figure]:
    """All figures that can be drawn of these runs."""
    drawn = [
        Figure(
            "compare-scores.svg",
            "Scores",
            "Of each tuner over all spaces, and on each.",
            score_figure(summary) or "",
        ),
        Figure(
            "compare-time.svg",
            "Best speed over time",
            "As a share of the optimum: the mean over repeats, in a band of one standard error.",
            speed_time_figure(summary),
        ),
        Figure(
            "compare-trials.svg",
            "Best speed over trials",
            "The same by the number of trials, which takes no account of how long they and the "
            "tuner's thinking last.",
            speed_trials_figure(summary),
        ),
        Figure(
            "compare-speed-up.svg",
            "Speed-up at each time",
            "The best so far over that of the reference, the mean over problems, from when every "
            "run of both has found something; in a band of one standard error, from bootstrap "
            "replicas of the repeats of both.",
            speed_up_figure(summary) or "",
        ),
        Figure(
            "compare-time-split.svg",
            "Time split",
            "What the time of tuning went to, in the mean over problems.",
            time_split_figure(summary),
        ),
        Figure(
            "compare-outcomes.svg",
            "Outcomes",
            "Trials of each class, in the mean over problems.",
            outcomes_figure(summary),
        ),
        Figure(
            "compare-outcome-times.svg",
            "Time by outcome",
            "What trials of each class cost, in the mean over problems.",
            outcome_times_figure(summary),
        ),
    ]
    return [figure for figure in drawn if figure.picture]


def compare_page(
    summary: Summary,
    settings: CompareSettings,
    about: Mapping[str, Any],
    figures: Sequence[Figure],
) -> str:
    """Markdown. ``about`` has ``machine``, ``versions`` and ``date``."""
    lines = [
        "# Tuners compared",
        "",
        *markdown.paragraph(f"{headline(summary)}."),
        "",
        f"Written by `tunesmith compare`; the same figures as data: `{DATA}`, as a page: `{HTML}`.",
        "",
        *markdown.circumstances(about),
        *markdown.item(_limits(settings)),
        "",
    ]
    short = _short_names(summary.labels)
    lines += [line for name, label in short.items() for line in markdown.item(f"{label}: {name}")]
    lines += [""] if short else []
    lines += _table(standings_table(summary), short)
    for figure in figures:
        lines += [f"![{figure.title}]({figure.file})", ""]
    for problem in summary.problems:
        lines += _table(problem_table(summary, problem), short)
    lines += ["## What the figures mean", ""]
    for text in explanation(summary, settings):
        lines += [*markdown.paragraph(text), ""]
    return "\n".join(lines)


def compare_html(
    summary: Summary,
    settings: CompareSettings,
    about: Mapping[str, Any],
    figures: Sequence[Figure],
    command: str = "",
) -> str:
    """The page, with all pictures in it. Whatever text it shows is shown as text."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("tunesmith.bench.compare").joinpath("compare.html").read_text("utf-8")
    shown = [
        {
            "title": figure.title,
            "about": figure.about,
            "picture": Markup(_with_page_colours(figure.picture)),
        }
        for figure in figures
    ]
    return environment.from_string(source).render(
        title=", ".join(summary.labels),
        headline=headline(summary),
        facts=_facts(summary, settings, about),
        standings=standings_table(summary),
        figures=shown,
        tables=[problem_table(summary, problem) for problem in summary.problems],
        explanation=[Markup(_emphasised(text)) for text in explanation(summary, settings)],
        style=Markup(style_sheet()),
        command=command,
    )


def _facts(
    summary: Summary, settings: CompareSettings, about: Mapping[str, Any]
) -> list[tuple[str, str]]:
    machine = about["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return [
        ("Problems", ", ".join(problem.label for problem in summary.problems)),
        ("Runs", _limits(settings)),
        ("Machine", f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB"),
        ("Software", versions),
        ("Date", about["date"]),
    ]


def _limits(settings: CompareSettings) -> str:
    limits = [] if settings.seconds is None else [f"{settings.seconds:g} s of tuning"]
    limits += [] if settings.trials is None else [fmt.counted(settings.trials, "trial")]
    each = " or ".join(limits) or "as long as the score says"
    seed = f"seeds from {settings.seed} on"
    return (
        f"{fmt.counted(settings.repeats, 'repeat')} of each tuner on each problem, {each}; {seed}"
    )


def _short_names(labels: Sequence[str]) -> dict[str, str]:
    """What tables call the tuners whose labels would make them too wide."""
    long = [label for label in labels if len(label) > _WIDEST_LABEL]
    return {label: f"{label.partition(':')[0]} [{n}]" for n, label in enumerate(long, start=1)}


def _table(table: Table, short: Mapping[str, str]) -> list[str]:
    lines = [f"## {table.title}", "", *markdown.paragraph(table.about), ""]
    lines += markdown.head(*table.head)
    lines += [markdown.row(short.get(name, name), *cells) for name, *cells in table.rows]
    for remark in table.remarks:
        lines += ["", *markdown.item(remark)]
    return [*lines, ""]


def _with_page_colours(picture: str) -> str:
    """A picture that follows the page's colours, light or dark."""
    for name in _PAGE_COLOURS:
        picture = picture.replace(f'"{LIGHT[name]}"', f'"var(--{name})"')
    return picture


def _emphasised(text: str) -> str:
    from html import escape

    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
