"""The files of ``tunesmith bench gpu``: written after each thing that was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tunesmith.bench.gpu.page import gpu_page
from tunesmith.bench.gpu.summary import gpu_summary
from tunesmith.bench.gpu.workloads import gpu_workloads
from tunesmith.bench.pages.figure_files import write_texts
from tunesmith.errors import TunesmithError, system_reason

DATA, PAGE = "gpu.json", "gpu.md"

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
    path = folder / DATA
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TunesmithError(f"cannot read {path}: {system_reason(error)}") from error
    except ValueError:
        figures = None
    if isinstance(figures, dict) and all(
        isinstance(figures.get(name), kind) for name, kind in _KINDS.items()
    ):
        return figures
    raise TunesmithError(
        f"{path} holds no figures of an earlier run: remove it, or name another folder"
    )


def write_gpu(folder: Path, figures: Mapping[str, Any]) -> tuple[Figures, str]:
    """Write both files anew, each as a whole, with a summary of what the figures hold so far.

    Returns what was written. Raises ``TunesmithError`` where that is impossible.
    """
    listed = {**figures, "rows": _in_order(figures["rows"])}
    summed = [{**asdict(figure), "reached": figure.reached} for figure in gpu_summary(listed)]
    written = {**listed, "figures": summed}
    page = gpu_page(written)
    data = json.dumps(written, indent=1, allow_nan=False) + "\n"
    write_texts(folder, {PAGE: page, DATA: data})
    return written, page


def _in_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    order = {name: place for place, name in enumerate(gpu_workloads())}
    return sorted(rows, key=lambda row: order.get(row["workload"], len(order)))
