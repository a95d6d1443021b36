"""The page of models, ``models.md``, its data ``models.json`` and pictures.

Each part of ``tunesmith bench autotvm`` adds its figures to what the folder has, and the page is
made anew of all of them.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.bench.autotvm.experiments import BATCH, PARTS
from tunesmith.bench.autotvm.lines import FROM_NOTHING
from tunesmith.bench.autotvm.product import of_most_trials, size_of
from tunesmith.bench.autotvm.product_row import ALONE, SHARES
from tunesmith.bench.autotvm.speed import CANDIDATES, FEATURES_WANTED
from tunesmith.bench.autotvm.wanted import wanted_rows
from tunesmith.bench.compare.recorded_task import TAUGHT
from tunesmith.bench.pages.figure_files import (
    WAY_OUT,
    make_folder,
    read_figures,
    write_figures,
    write_texts,
)
from tunesmith.bench.pages.provenance import by_machine, caveat, in_words, together
from tunesmith.bench.pages.templates import markdown
from tunesmith.errors import TunesmithError
from tunesmith.machine import machine_for
from tunesmith.networks.reporting.brief import brief
from tunesmith.operators import parse_operator
from tunesmith.reports.format import NOTHING, percent, percent_with_error
from tunesmith.target import KINDS, Target
from tunesmith.transfer.held_out import LEAST_TRIALS
from tunesmith.transfer.shipped import shipped_model
from tunesmith.tuners.autotvm import AutoTVM

NAME = "models"
FORMAT = 1

Figures = dict[str, Any]

# Speeds that differ by less are as good as equal.
_APART = 1.02

# How the page calls the figures of ``summary``.
_FIGURE_NAMES = {"median": "median", "error": "standard error", "least": "lowest"}


def read_models(folder: Path) -> Figures:
    """What a folder has; empty figures if it has none.

    Raises ``TunesmithError`` for a file that holds something else.
    """
    make_folder(folder)
    path = folder / f"{NAME}.json"
    found = read_figures(path, lambda it: it.keys() >= {"format", "parts", "product", "speed"})
    if found is None:
        return {"format": FORMAT, "parts": {}, "product": [], "speed": []}
    if found["format"] != FORMAT:
        raise TunesmithError(f"{path} holds figures of another version: {WAY_OUT}")
    return found


def write_models(folder: Path, figures: Figures, pictures: Mapping[str, str]) -> str:
    """Write the data, the pictures and the page; returns the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    shipped = {kind: model for kind in KINDS if (model := shipped_model(Target(kind)))}
    written = {
        **figures,
        "summary": summary(of_most_trials(figures["product"])),
        "shipped": {kind: _shipped(model.origin, model) for kind, model in shipped.items()},
    }
    write_figures(folder, NAME, written)
    write_texts(folder, pictures)
    return write_models_page(folder, written)


def write_models_page(folder: Path, figures: Mapping[str, Any]) -> str:
    """Write the page of the figures in the JSON file; returns it.

    Raises ``TunesmithError`` where that is impossible.
    """
    parts, programs = figures["parts"], _on_each_machine(figures.get("program", ()))
    product = of_most_trials(figures["product"])
    page = markdown(
        "autotvm/page.md.jinja",
        figures=figures,
        parts=[(part, parts[name]) for name, part in PARTS.items() if name in parts],
        machines={
            name: by_machine(it.get("machines", {}), it["origin"]["machine"])
            for name, it in parts.items()
        },
        circumstances={name: together([it["origin"]]) for name, it in parts.items()},
        product=product,
        summary=summary(product),
        product_trials=size_of(product[0])[0] if product else 0,
        product_planned=_planned(figures, product),
        product_circumstances=together([row["origin"] for row in product]) if product else None,
        speeds={
            machine: (together([row["origin"] for row in rows]), rows, programs.get(machine, ()))
            for machine, rows in _on_each_machine(figures["speed"]).items()
        },
        affordable=2 * FEATURES_WANTED / CANDIDATES,
        shares=SHARES,
        operators=max(Counter(row["network"] for row in product).values(), default=0),
        worth=_worth(product),
        taught=TAUGHT,
        few=LEAST_TRIALS,
        batch=BATCH,
        planner=AutoTVM(),
        brief=_brief,
        caught_up=_caught_up,
        wanted=wanted_rows(parts),
        best=percent_with_error,
        runs_on_each=_runs_on_each,
        ratio=_ratio,
        sooner=_sooner,
        caveat=caveat,
    )
    write_texts(folder, {f"{NAME}.md": page})
    return page


def on_other_machines(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that were not measured on a machine like this one."""
    mine = in_words(machine_for("cpu"))
    return [row for row in rows if in_words(row["origin"]["machine"]) != mine]


def _on_each_machine(
    rows: Sequence[Mapping[str, Any]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Rows by the machine that they were measured on."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(in_words(row["origin"]["machine"]), []).append(row)
    return found


def _planned(figures: Mapping[str, Any], product: Sequence[Mapping[str, Any]]) -> int:
    """How many rows of this size there are to be; files of old do not say."""
    planned = figures.get("product_planned")
    if planned is None or not product or tuple(planned["size"]) != size_of(product[0]):
        return 0
    return int(planned["rows"])


def _worth(product: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How the model does beside the estimates alone, over the rows that have both."""
    rows = [row for row in product if ALONE in row]
    if not rows:
        return None
    without = [{**row, **row[ALONE]} for row in rows]
    arms = {"with the model": _of_shares(rows), "with the estimates alone": _of_shares(without)}
    one_network = len({row["network"] for row in rows}) == 1
    found = {}
    for figure, name in _FIGURE_NAMES.items():
        for arm, of_share in arms.items():
            unknown = figure == "error" and one_network
            found[f"{arm}, {name}"] = [
                NOTHING if unknown else percent(of_share[it][figure], 0) for it in SHARES
            ]
    pairs = [[(row[it], row[ALONE][it]) for row in rows] for it in SHARES]
    least = percent(_APART - 1.0, 0)
    found[f"operators at least {least} faster with the model"] = [
        str(sum(own > 0.0 and own >= _APART * alone for own, alone in each)) for each in pairs
    ]
    found[f"operators at least {least} slower with the model"] = [
        str(sum(alone > 0.0 and alone >= _APART * own for own, alone in each)) for each in pairs
    ]
    return {"operators": len(rows), "rows": found}


def _brief(row: Mapping[str, Any]) -> str:
    described = row["operator"]
    return brief(parse_operator(described["operator"], described["options"]))


def _caught_up(lines: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """How soon each line comes as far as a run from nothing: the cells of a table."""
    found = []
    for row in lines:
        share, of_all, never, trials, between = (
            row.get(name, {}).get(FROM_NOTHING)
            for name in (
                "catches_up",
                "catches_up_of_all",
                "never_catches_up",
                "mean_catches_up",
                "mean_catches_up_between",
            )
        )
        if never is not None:
            low, high = map(_or_never, between or (None, None))
            means = f"{_or_never(trials)} ({low} to {high})" if between else _or_never(trials)
            shares = ["never" if it is None else percent(it, 0) for it in (share, of_all)]
            to_95 = _ratio(row["ratios"], FROM_NOTHING)
            found.append([row["line"], to_95, means, *shares, percent(never, 0)])
    return found


def _runs_on_each(part: Mapping[str, Any], line: str) -> int:
    """The least number of runs of a line on a problem that it has any of."""
    found = (cell["repeats"] for cell in part["cells"] if cell["tuner"] == line)
    return min((runs for runs in found if runs), default=0)


def _ratio(ratios: Mapping[str, float | None], reference: str) -> str:
    """Of the trials of a line to those of another; the reference has none to itself."""
    if reference not in ratios:
        return NOTHING
    ratio = ratios[reference]
    return "never" if ratio is None else f"{ratio:.2f}"


def _sooner(row: Mapping[str, Any], rival: str) -> str:
    """Of pairs with a rival, in how many it comes sooner to 95 %, and in how many later."""
    shares = [row.get(name, {}).get(rival) for name in ("sooner", "later")]
    return NOTHING if None in shares else "{} ({})".format(*(percent(it, 0) for it in shares))


def _or_never(trials: int | None) -> str:
    return "never" if trials is None else str(trials)


def _shipped(origin: Mapping[str, Any], model: Any) -> dict[str, Any]:
    return {
        "trials": model.trials,
        "tasks": model.tasks,
        "date": origin.get("date"),
        "networks": origin.get("networks"),
        "held_out": origin.get("held_out"),
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median, its standard error, and the least share of each kind over the rows of the
    product; those of the estimates alone are of the rows that have them."""
    if not rows:
        return {}
    alone = [{**row, **row[ALONE]} for row in rows if ALONE in row]
    found = _of_shares(rows)
    return {**found, ALONE: _of_shares(alone)} if alone else found


def _of_shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        share: {
            "median": statistics.median(row[share] for row in rows),
            "error": _error_of_median(rows, share),
            "least": min(row[share] for row in rows),
        }
        for share in SHARES
    }


def _error_of_median(rows: Sequence[Mapping[str, Any]], share: str) -> float:
    """The standard error of a median, by bootstrap: as if there had been other networks. One less
    than there are, as with as many the error would come out too small."""
    of_networks: dict[str, list[float]] = {}
    for row in rows:
        of_networks.setdefault(row["network"], []).append(row[share])
    shares, rng = list(of_networks.values()), np.random.default_rng(0)
    drawn = rng.integers(len(shares), size=(1000, max(1, len(shares) - 1)))
    medians = [np.median(np.concatenate([shares[it] for it in sample])) for sample in drawn]
    return float(np.std(medians).round(12))
