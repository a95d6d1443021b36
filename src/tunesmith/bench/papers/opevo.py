"""``tunesmith bench opevo``: the experiments of the OpEvo paper, on the CPU.

Three matmuls, three batch matmuls and two convolutions (appendix B), five runs of 512 trials: OpEvo
against other tuners (sections 5.1 to 5.3). OpEvo with other q and λ (section 5.5) is told of where
these take part; by default that is left to ``bench replay``. The batches, 960 matrices and 512
images, are made for GPUs; those of ours fit two cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tunesmith.bench.compare.report.curve_charts import speed_time_chart, speed_trials_chart
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.operators.workloads import BATCHED, OPEVO
from tunesmith.bench.pages.charts import Draw
from tunesmith.bench.pages.templates import table
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.data import of_tuners
from tunesmith.bench.papers.experiment import SearchExperiment, SearchSettings
from tunesmith.operators import BatchMatmul, Conv2d, Operator, workload
from tunesmith.reports import format as fmt
from tunesmith.tuners.opevo import OpEvo

MATRICES, IMAGES = 60, 2
"""The batch of a batch matmul and of a convolution, in place of 960 and 512."""

Q, PARENTS = "q", "parents"
"""The options whose values the paper varies: q, and λ."""

_SYMBOLS = {Q: "q", PARENTS: "λ"}


def _scaled() -> dict[str, Operator]:
    """The batch matmuls and convolutions with smaller batches."""
    scaled: dict[str, Operator] = {}
    for name in (*BATCHED, "opevo.C1", "opevo.C2"):
        operator = workload(name)
        if isinstance(operator, BatchMatmul):
            scaled[f"{name}.b{MATRICES}"] = replace(operator, b=MATRICES)
        elif isinstance(operator, Conv2d):
            scaled[f"{name}.n{IMAGES}"] = replace(operator, n=IMAGES)
    return scaled


_FULL = SearchSettings(
    workloads=(*OPEVO, *_scaled()),
    tuners=("opevo", "gbfs", "na2c", "autotvm"),
    sketch="cpu_tiled",
    repeats=5,
    trials=512,
)
# One product, and no other q and λ; enough runs to show a difference, enough trials to evolve.
_QUICK = replace(
    _FULL, workloads=("opevo.MM1",), tuners=("opevo", "gbfs", "na2c"), repeats=4, seconds=50.0
)


def rivals(tuners: Sequence[str]) -> list[str]:
    """Those that are compared: not OpEvo with other options."""
    return [label for label in tuners if not label.startswith("opevo:")]


def variants(tuners: Sequence[str], option: str) -> dict[str, str]:
    """By value of an option OpEvo with that value and its other options as they are, in order."""
    prefix = f"opevo:{option}="
    values = {label.removeprefix(prefix): label for label in tuners if label.startswith(prefix)}
    values = {value: label for value, label in values.items() if "," not in value}
    if values and "opevo" in tuners:
        values[f"{getattr(OpEvo(), option):g}"] = "opevo"
    return dict(sorted(values.items(), key=lambda item: float(item[0])))


def _charts(summary: Summary, _settings: SearchSettings) -> dict[str, Draw]:
    drawn: dict[str, Draw] = {}
    compared = rivals(summary.labels)
    if compared:
        drawn["trials"] = lambda: speed_trials_chart(of_tuners(summary, compared))
        drawn["time"] = lambda: speed_time_chart(of_tuners(summary, compared))
    for option in (Q, PARENTS):
        labels = list(variants(summary.labels, option).values())
        if labels:
            drawn[option] = partial(speed_trials_chart, of_tuners(summary, labels))
    return drawn


EXPERIMENT = SearchExperiment(
    name="opevo",
    knows={**{name: workload(name) for name in OPEVO}, **_scaled()},
    full=_FULL,
    quick=_QUICK,
    charts=_charts,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    compared = rivals(data["tuners"])
    others = {
        (symbol, value): label
        for option, symbol in _SYMBOLS.items()
        for value, label in variants(data["tuners"], option).items()
    }
    head = ("OpEvo with", "best, %", "std, %", "least", "which is on", "runs", "trials")
    lines = [
        [f"{symbol} = {value}", *_variant(data, label)] for (symbol, value), label in others.items()
    ]
    return parts.experiment_section(
        "papers/opevo.md.jinja",
        data,
        compared,
        by_kind=_by_kind(data, compared),
        shares=parts.shares(data, compared),
        sensitivity=table(head, lines) if lines else "",
        # Its own values are in the table once an option.
        variants_within_start=parts.starts(data, dict.fromkeys(others.values())),
    )


def _kind(name: str) -> str:
    """What a workload is, of which the paper has a figure of its own."""
    operator = EXPERIMENT.knows.get(name)
    if isinstance(operator, BatchMatmul):
        return "batch products"
    return "convolutions" if isinstance(operator, Conv2d) else "products"


def _is_of(kind: str, name: str) -> bool:
    return _kind(name) == kind


def _by_kind(data: Mapping[str, Any], tuners: Sequence[str]) -> str:
    """A table of the mean best over the workloads of each kind; empty where there is one alone."""
    kinds = list(dict.fromkeys(_kind(each["problem"]) for each in data["problems"]))
    if len(kinds) < 2:
        return ""
    lines = []
    for tuner in tuners:
        bests = [parts.mean_best(data, tuner, partial(_is_of, kind)) for kind in kinds]
        lines.append([tuner, *map(parts.with_error, bests)])
    return table(["best of", *kinds], lines)


def _variant(data: Mapping[str, Any], label: str) -> list[str]:
    rows = list(parts.rows_of(data, label).values())
    if not rows:
        return [fmt.NOTHING] * 6
    worst = min(rows, key=lambda row: float(row["best_share"]))
    return [
        parts.with_error(parts.mean_best(data, label)),
        parts.with_error(parts.mean_deviation(rows)),
        fmt.percent(worst["best_share"]),
        worst["problem"],
        str(sum(row["repeats"] for row in rows)),
        parts.trials_of(rows),
    ]
