"""The page of the papers' experiments, ``search.md``, and the files that it is made of.

Each ``tunesmith bench`` command of an experiment writes its figures to ``search-NAME.json`` and its
pictures to ``search-NAME-*.svg``; the page is made anew of the figures of all experiments that are
in the folder. An experiment takes part with a line in ``EXPERIMENTS``, and a module that has

    def section(data: dict[str, Any]) -> str

which returns its part of the page, in Markdown without a heading, of the figures that
``write_search`` was given. Its own headings are of the third level. What stands above it, the
machine, versions, date and command, the page adds. Before it measures anything a command calls
``open_folder``.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunesmith.bench.pages import markdown
from tunesmith.bench.pages.figure_files import make_folder, write_texts
from tunesmith.bench.papers.claims import ERRORS, FEWEST
from tunesmith.errors import TunesmithError, system_reason
from tunesmith.store import library_versions, this_machine

PAGE = "search.md"

_ABOUT = (
    "The experiments of the papers whose search algorithms are among our tuners, repeated on this "
    "machine. Absolute speeds of a paper's machine say nothing here; who is ahead of whom, and by "
    f"how much, can be compared. A difference is told only where it is more than {ERRORS:g} times "
    f"its standard error, to which both sides add, and both have {FEWEST} runs or more."
)


FORMAT = 2
"""Changes when figures that were written before lack what the page is made of."""

_OF_PAGE = ("machine", "versions", "date", "command")
_OF_RUNS = ("settings", "runs", "problems", "tuners", "left_out", "rows", "crashes", "pictures")


@dataclass(frozen=True)
class Experiment:
    """An experiment by the ``name`` of its command, the module that has its ``section``, and the
    names of the figures that this needs."""

    name: str
    title: str
    module: str
    figures: tuple[str, ...]

    @property
    def data_file(self) -> str:
        """The name of the file that holds its figures."""
        return f"search-{self.name}.json"

    def section(self, data: Mapping[str, Any]) -> str:
        """Its part of the page."""
        return "\n".join(
            [
                f"## {self.title}",
                "",
                *markdown.paragraph(
                    f"Written by `{data['command']}`; as data: `{self.data_file}`."
                ),
                "",
                *markdown.circumstances(data),
                "",
                str(importlib.import_module(self.module).section(data)).strip("\n"),
                "",
            ]
        )

    def read(self, place: Path) -> dict[str, Any]:
        """The figures in a file. Raises ``TunesmithError`` where it holds none, or old ones."""
        what = f"figures of 'tunesmith bench {self.name}'"
        way_out = "remove it, or name another folder"
        try:
            data = json.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            raise TunesmithError(f"cannot read {place}: {system_reason(error)}") from error
        except ValueError as error:
            raise TunesmithError(f"{place} holds no {what}, nor any JSON: {way_out}") from error
        if not isinstance(data, dict) or not data.keys() >= set(_OF_PAGE):
            raise TunesmithError(f"{place} holds no {what}: {way_out}")
        if data.get("format") != FORMAT:
            raise TunesmithError(f"{place} holds {what} of another version: {way_out}")
        lacks = [name for name in self.figures if name not in data]
        if lacks:
            raise TunesmithError(f"{place} lacks '{lacks[0]}' of the {what}: {way_out}")
        return data


# In the order of the page.
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "space-analysis",
        "NoSE: recorded spaces",
        "tunesmith.bench.papers.space_analysis_page",
        ("spaces",),
    ),
    Experiment(
        "nose",
        "NoSE: layers of ResNet-18",
        "tunesmith.bench.papers.nose",
        (*_OF_RUNS, "ours", "theirs", "speed_ups"),
    ),
    Experiment(
        "opevo", "OpEvo: products and convolutions", "tunesmith.bench.papers.opevo", _OF_RUNS
    ),
    Experiment(
        "gbfs",
        "G-BFS and N-A2C: square matrices",
        "tunesmith.bench.papers.gbfs",
        (*_OF_RUNS, "moment", "found"),
    ),
)


def open_folder(folder: Path) -> None:
    """Make sure, before hours of measuring, that figures can be written and the page be made.

    Raises ``TunesmithError`` where the folder cannot be written to, or holds a broken file or one
    of another version.
    """
    make_folder(folder)
    _sections(folder)


def write_search(
    folder: Path,
    name: str,
    figures: Mapping[str, Any],
    pictures: Mapping[str, str],
    command: str,
) -> tuple[dict[str, Any], str]:
    """Write an experiment's figures, which are JSON-ready, and its pictures, by the names of their
    files; then the page. Returns the figures as written, and the experiment's part of the page.

    Raises ``TunesmithError`` where that is impossible, ``KeyError`` for an unknown experiment.
    """
    experiment = {each.name: each for each in EXPERIMENTS}[name]
    data = {
        "format": FORMAT,
        "machine": this_machine(),
        "versions": library_versions(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": command,
        **figures,
    }
    text = json.dumps(data, indent=1) + "\n"
    write_texts(folder, {**pictures, experiment.data_file: text})
    sections = _sections(folder)
    write_texts(folder, {PAGE: _page(sections)})
    return data, sections[name]


def _page(sections: Mapping[str, str]) -> str:
    lines = ["# The papers' experiments", "", *markdown.paragraph(_ABOUT), ""]
    return "\n".join([*lines, "\n".join(sections.values())])


def _sections(folder: Path) -> dict[str, str]:
    """The parts of the page by experiment, of those that have figures in the folder."""
    sections = {}
    for experiment in EXPERIMENTS:
        place = folder / experiment.data_file
        if place.exists():
            sections[experiment.name] = experiment.section(experiment.read(place))
    return sections
