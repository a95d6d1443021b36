"""Writes pages and charts anew from their files of figures, as after a change of a template.

``python -m tunesmith.bench.rewrite docs/benchmarks/*.json`` measures nothing. Charts of curves need
the runs of their comparison, and stay as they are; the command that measured draws those.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.bench.autotvm.page import write_models_page
from tunesmith.bench.calls.page import calls_page
from tunesmith.bench.compare.report.files import write_comparison_page
from tunesmith.bench.gevo.page import write_evolve_page
from tunesmith.bench.gpu.page import gpu_page
from tunesmith.bench.loop.page import loop_page
from tunesmith.bench.networks.files import kind_of_file, write_networks_page
from tunesmith.bench.operators.files import write_operators_page
from tunesmith.bench.pages.figure_files import read_figures, write_texts
from tunesmith.bench.papers.page import write_search_page
from tunesmith.bench.scale.page import write_scale_page
from tunesmith.bench.starts.files import write_starts_page
from tunesmith.bench.store.page import store_page
from tunesmith.errors import TunesmithError, UsageError


def rewrite(path: Path) -> None:
    """Write the page of a JSON file anew, beside it.

    Raises ``UsageError`` for a file that no ``tunesmith bench`` command writes, ``TunesmithError``
    for one that cannot be read, and where a page cannot be written.
    """
    figures = read_figures(path, bool)
    if figures is None:
        raise UsageError(f"there is no file {path}")
    try:
        _write(path.parent, path.stem, figures)
    except KeyError as error:
        raise UsageError(
            f"{path} has no {error}: it is of an older version, measure again"
        ) from error


def _write(folder: Path, name: str, figures: Mapping[str, Any]) -> None:
    if name.startswith("operators"):
        write_operators_page(folder, name, figures)
    elif name.startswith("search-"):
        write_search_page(folder)
    elif kind := kind_of_file(name):
        write_networks_page(folder, figures, kind)
    elif name == "starts":
        write_starts_page(folder, figures)
    elif name == "models":
        write_models_page(folder, figures)
    elif name == "evolve":
        write_evolve_page(folder, figures)
    elif name == "scale":
        write_scale_page(folder, figures)
    elif name == "compare":
        write_comparison_page(folder, figures)
    else:
        write_texts(folder, {f"{name}.md": _plain_page(name, figures)})


def _plain_page(name: str, figures: Mapping[str, Any]) -> str:
    """A page without charts."""
    if name == "calls":
        return calls_page(figures)
    if name == "gpu":
        return gpu_page(figures)
    if name == "loop":
        return loop_page(figures, figures["machine"], figures["date"])
    if name == "store":
        return store_page(figures)
    raise UsageError(f"{name}.json is none of the files of 'tunesmith bench'")


def main() -> None:
    try:
        for word in sys.argv[1:]:
            rewrite(Path(word))
    except TunesmithError as error:
        sys.exit(f"tunesmith: {error}")


if __name__ == "__main__":
    main()
