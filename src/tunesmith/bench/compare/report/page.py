"""A comparison as one HTML file that needs nothing beside it, and as a Markdown page.

Both are made of the data that its JSON file holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tunesmith.bench.compare.report.tables import Data, problem_tables, standings_table
from tunesmith.bench.compare.score import REPEATS
from tunesmith.bench.pages.templates import markdown, render
from tunesmith.reports import format as fmt
from tunesmith.reports.html import style_sheet
from tunesmith.reports.palette import LIGHT

CHARTS: Mapping[str, tuple[str, str]] = {
    "compare-scores.svg": ("Scores", "Of each tuner over all spaces, and on each."),
    "compare-time.svg": (
        "Best speed over time",
        "As a share of the optimum: the mean over repeats, in a band of one standard error.",
    ),
    "compare-trials.svg": (
        "Best speed over trials",
        "The same by the number of trials, which takes no account of how long they and the tuner's "
        "thinking last.",
    ),
    "compare-speed-up.svg": (
        "Speed-up at each time",
        "The best so far over that of the reference, the mean over problems, from when every run "
        "of both has found something; in a band of one standard error, from bootstrap replicas of "
        "the repeats of both.",
    ),
    "compare-time-split.svg": (
        "Time split",
        "What the time of tuning went to, in the mean over problems.",
    ),
    "compare-outcomes.svg": ("Outcomes", "Trials of each class, in the mean over problems."),
    "compare-outcome-times.svg": (
        "Time by outcome",
        "What trials of each class cost, in the mean over problems.",
    ),
}
"""The files in the order of the page, each with a title and what it shows."""

# Tables of Markdown are to fit 100 columns.
_WIDEST_LABEL = 12

# What a dark page draws in its own colours; series keep theirs.
_PAGE_COLOURS = ("page", "ink", "line", "muted")


def compare_page(data: Data, charts: Sequence[str], *, has_html: bool = True) -> str:
    """Markdown. ``charts`` are the names of its charts; ``has_html`` says that the page of HTML
    lies beside it."""
    labels = [row["tuner"] for row in data["tuners"]]
    long = [label for label in labels if len(label) > _WIDEST_LABEL and ":" in label]
    return markdown(
        "compare/report/page.md.jinja",
        figures=data,
        has_html=has_html,
        limits=_runs(data),
        short={label: f"{label.partition(':')[0]} [{n}]" for n, label in enumerate(long, start=1)},
        standings=standings_table(data),
        tables=problem_tables(data),
        charts={name: CHARTS[name][0] for name in charts},
        explanation=_explanation(data),
    )


def compare_html(data: Data, charts: Mapping[str, str], command: str = "") -> str:
    """The page, with all charts in it. Whatever text it shows is shown as text."""
    from markupsafe import Markup, escape

    machine = data["machine"]
    facts = {
        "Problems": ", ".join(problem["problem"] for problem in data["problems"]),
        "Runs": _runs(data),
        "Machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB",
        "Software": ", ".join(f"{name} {version}" for name, version in data["versions"].items()),
        "Date": data["date"],
    }
    shown = [
        {**dict(zip(("title", "about"), CHARTS[name], strict=True)), "picture": Markup(_dark(svg))}
        for name, svg in charts.items()
    ]
    paragraphs = [str(escape(text)) for text in _explanation(data).split("\n\n")]
    return render(
        "compare/report/compare.html",
        title=", ".join(row["tuner"] for row in data["tuners"]),
        facts=facts,
        standings=standings_table(data),
        figures=shown,
        tables=problem_tables(data),
        explanation=[
            Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", p)) for p in paragraphs
        ],
        style=Markup(style_sheet()),
        command=command,
    )


def _explanation(data: Data) -> str:
    """What the figures are: paragraphs with an empty line between them."""
    labels = [row["tuner"].partition(":")[0] for row in data["tuners"]]
    multipliers = sorted({int(m) for label in labels if (m := label.partition("×")[2])})
    return markdown(
        "compare/report/explanation.md.jinja",
        settings=data["settings"],
        kinds={problem["kind"] for problem in data["problems"]},
        multipliers=[f"**×{multiplier}**" for multiplier in multipliers],
        enough=REPEATS,
    ).strip()


def _runs(data: Data) -> str:
    """How many runs there are, and how long they may take."""
    settings, rows = data["settings"], data["rows"]
    limits = [] if settings["seconds"] is None else [f"{settings['seconds']:g} s of tuning"]
    limits += [] if settings["trials"] is None else [fmt.counted(settings["trials"], "trial")]
    each = " or ".join(limits) or "as long as the score says"
    repeats = fmt.counted(settings["repeats"], "repeat")
    said = f"{repeats} of each tuner on each problem, {each}; seeds from {settings['seed']} on"
    done = sum(row["repeats"] + row["crashed"] for row in rows)
    planned = settings["repeats"] * len(rows)
    left = f"; only {done:,} of these {planned:,} runs are done yet" if done < planned else ""
    return said + left


def _dark(picture: str) -> str:
    """A chart that follows the page's colours, light or dark."""
    for name in _PAGE_COLOURS:
        picture = picture.replace(LIGHT[name], f"var(--{name})")
    return picture
