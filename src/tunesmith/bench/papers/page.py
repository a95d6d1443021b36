"""The page of the papers' experiments, ``search.md``, and the files that it is made of.

Each ``tunesmith bench`` command of an experiment writes its figures to ``search-NAME.json`` and its
charts to ``search-NAME-*.svg``; the page is made anew of the figures of all experiments that are in
the folder. An experiment takes part with a line in ``EXPERIMENTS``, and a module that has

    def section(data: dict[str, Any]) -> str

which returns its part of the page, in Markdown without a heading, of the figures that
``write_search`` was given. Its own headings are of the third level. What stands above it, the
machine, versions, date and command, the page adds. Before it measures anything a command calls
``open_folder``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.bench.pages.figure_files import (
    WAY_OUT,
    make_folder,
    read_figures,
    write_figures,
    write_texts,
)
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.papers.replayed.parts import PARTS
from tunesmith.errors import TunesmithError

PAGE = "search.md"

FORMAT = 2
"""Changes when figures that were written before lack what the page is made of."""

_OF_PAGE = {"machine", "versions", "date", "command"}
_OF_REPLAY = ("settings", "part", "runs", "problems", "lines", "moments", "found", "pairs")
_OF_RUNS = ("settings", "runs", "problems", "tuners", "left_out", "rows", "crashes", "pictures")


@dataclass(frozen=True)
class Experiment:
    """An experiment by the ``name`` of its file, the module that has its ``section``, and the names
    of the figures that this needs; ``command`` where that of ``tunesmith bench`` is not the name.
    """

    name: str
    title: str
    module: str
    figures: tuple[str, ...]
    command: str = ""

    @property
    def data_file(self) -> str:
        """The name of the file that holds its figures."""
        return f"search-{self.name}.json"

    def section(self, data: Mapping[str, Any]) -> str:
        """Its part of the page."""
        section = importlib.import_module(self.module).section(data)
        return markdown(
            "papers/part.md.jinja",
            title=self.title,
            data=data,
            file=self.data_file,
            section=section,
        )

    def read(self, folder: Path) -> dict[str, Any] | None:
        """Its figures; None where it has none yet.

        Raises ``TunesmithError`` where there are none in its file, or old ones.
        """
        place = folder / self.data_file
        what = f"figures of 'tunesmith bench {self.command or self.name}'"
        data = read_figures(place, lambda found: found.keys() >= _OF_PAGE, what)
        if data is None:
            return None
        if data.get("format") != FORMAT:
            raise TunesmithError(f"{place} holds {what} of another version: {WAY_OUT}")
        lacks = [name for name in self.figures if name not in data]
        if lacks:
            raise TunesmithError(f"{place} lacks '{lacks[0]}' of the {what}: {WAY_OUT}")
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
    *(
        Experiment(
            f"replay-{part.name}",
            part.title,
            "tunesmith.bench.papers.replayed.page",
            _OF_REPLAY,
            f"replay --part {part.name}",
        )
        for part in PARTS.values()
    ),
    Experiment(
        "replay-plane",
        "G-BFS and N-A2C: what they visit",
        "tunesmith.bench.papers.replayed.plane",
        ("settings", "tuners", "pictures"),
        "replay --part plane",
    ),
)


def open_folder(folder: Path) -> None:
    """Make sure, before hours of measuring, that figures can be written and the page be made.

    Raises ``TunesmithError`` where the folder cannot be written to, or holds a broken file or one
    of another version.
    """
    make_folder(folder)
    _sections(folder)


def figures_of(folder: Path, name: str) -> Mapping[str, Any] | None:
    """The figures of an experiment in a folder; None where it has none.

    Raises ``TunesmithError`` for a broken file, or one of another version.
    """
    experiment = next(each for each in EXPERIMENTS if each.name == name)
    return experiment.read(folder)


def write_search(
    folder: Path,
    name: str,
    figures: Mapping[str, Any],
    pictures: Mapping[str, str],
    command: str,
) -> tuple[dict[str, Any], str]:
    """Write an experiment's figures, which are JSON-ready, and its charts, by the names of their
    files; then the page. Returns the figures as written, and the experiment's part of the page.

    Raises ``TunesmithError`` where that is impossible, ``KeyError`` for an unknown experiment.
    """
    if name not in {each.name for each in EXPERIMENTS}:
        raise KeyError(name)
    data = {
        "format": FORMAT,
        **together([origin_now()]),
        "command": command,
        "pictures": list(pictures),
        **figures,
    }
    write_figures(folder, f"search-{name}", data)
    write_texts(folder, pictures)
    return data, _write_page(folder)[name]


def write_search_page(folder: Path) -> None:
    """Write what needs no more than the figures in a folder: the page, and some charts.

    Charts of curves need the runs, and stay as they are.
    """
    for experiment in EXPERIMENTS:
        data, module = experiment.read(folder), importlib.import_module(experiment.module)
        if data is not None and hasattr(module, "charts"):
            write_texts(folder, module.charts(data))
    _write_page(folder)


def _write_page(folder: Path) -> dict[str, str]:
    """Returns its parts by experiment."""
    sections = _sections(folder)
    page = markdown("papers/search.md.jinja", sections=list(sections.values()))
    write_texts(folder, {PAGE: page})
    return sections


def _sections(folder: Path) -> dict[str, str]:
    """The parts of the page by experiment, of those that have figures in the folder."""
    found = {experiment: experiment.read(folder) for experiment in EXPERIMENTS}
    return {each.name: each.section(data) for each, data in found.items() if data is not None}
