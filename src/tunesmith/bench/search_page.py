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

from tunesmith.bench import markdown
from tunesmith.bench.figure_files import make_folder, write_texts
from tunesmith.errors import TunesmithError, system_reason
from tunesmith.store import library_versions, this_machine

PAGE = "search.md"

_ABOUT = (
    "The experiments of the papers whose search algorithms are among our tuners, repeated on this "
    "machine. Absolute speeds of a paper's machine say nothing here; who is ahead of whom, and by "
    "how much, can be compared."
)


@dataclass(frozen=True)
class Experiment:
    """An experiment by the ``name`` of its command, and the module that has its ``section``."""

    name: str
    title: str
    module: str

    @property
    def data_file(self) -> str:
        """The name of the file that holds its figures."""
        return f"search-{self.name}.json"

    def section(self, data: Any, place: Path) -> str:
        """Its part of the page.

        Raises ``TunesmithError`` if figures, which come from ``place``, are not of it.
        """
        try:
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
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise TunesmithError(
                f"{place} holds no figures of 'tunesmith bench {self.name}': remove it, or name "
                "another folder"
            ) from error


# In the order of the page.
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("space-analysis", "NoSE: whole spaces", "tunesmith.bench.space_analysis_page"),
    Experiment("nose", "NoSE: layers of ResNet-18", "tunesmith.bench.search_nose"),
    Experiment("opevo", "OpEvo: products and convolutions", "tunesmith.bench.search_opevo"),
    Experiment("gbfs", "G-BFS and N-A2C: square matrices", "tunesmith.bench.search_gbfs"),
)


def open_folder(folder: Path) -> None:
    """Make sure, before hours of measuring, that figures can be written and the page be made.

    Raises ``TunesmithError`` where the folder cannot be written to, or holds a broken file.
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
            sections[experiment.name] = experiment.section(_read(place), place)
    return sections


def _read(place: Path) -> Any:
    """What a file of figures holds; None where that is no JSON."""
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise TunesmithError(f"cannot read {place}: {system_reason(error)}") from error
    except ValueError:
        return None
