"""The files of ``tunesmith bench gpu``: written after each thing that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tunesmith.bench.gpu.page import gpu_page
from tunesmith.bench.gpu.summary import gpu_summary
from tunesmith.bench.gpu.workloads import gpu_workloads
from tunesmith.bench.pages.figure_files import in_order, read_figures, write_figures, write_texts

NAME = "gpu"
DATA, PAGE = f"{NAME}.json", f"{NAME}.md"

Figures = dict[str, Any]

# Without these nothing can be told of the figures.
_KINDS = {
    **dict.fromkeys(("gpu", "machine", "versions", "settings", "parts", "libraries"), dict),
    **dict.fromkeys(("sketches", "rows"), list),
}


def read_gpu(folder: Path) -> Figures | None:
    """The figures of an earlier run; None where there is no file.

    Raises ``TunesmithError`` for a file that holds none.
    """
    return read_figures(
        folder / DATA,
        lambda found: all(isinstance(found.get(name), kind) for name, kind in _KINDS.items()),
    )


def write_gpu(folder: Path, figures: Mapping[str, Any]) -> tuple[Figures, str]:
    """Write both files anew, each as a whole, with a summary of what the figures hold so far.

    Returns what was written. Raises ``TunesmithError`` where that is impossible.
    """
    listed = {**figures, "rows": in_order(figures["rows"], gpu_workloads())}
    summed = [{**asdict(figure), "reached": figure.reached} for figure in gpu_summary(listed)]
    written = {**listed, "figures": summed}
    write_figures(folder, NAME, written)
    page = gpu_page(written)
    write_texts(folder, {PAGE: page})
    return written, page
