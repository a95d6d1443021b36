"""``tunesmith bench opevo``: the experiments of the OpEvo paper, on the CPU.

Three matmuls, three batch matmuls and two convolutions (appendix B), five runs of 512 trials: OpEvo
against other tuners (sections 5.1 to 5.3), and OpEvo with other q and λ (section 5.5). The batches,
960 matrices and 512 images, are made for GPUs; those of ours fit two cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tunesmith.bench import markdown
from tunesmith.bench import search_tables as parts
from tunesmith.bench.compare_figures import speed_time_figure, speed_trials_figure
from tunesmith.bench.compare_summary import Summary, mean
from tunesmith.bench.operator_workloads import BATCHED, OPEVO
from tunesmith.bench.search_data import of_tuners
from tunesmith.bench.search_experiment import MODEL_TUNER, SearchExperiment, SearchSettings
from tunesmith.operators import BatchMatmul, Conv2d, Operator, workload
from tunesmith.reports import format as fmt
from tunesmith.tuners.opevo import OpEvo

MATRICES, IMAGES = 60, 2
"""The batch of a batch matmul and of a convolution, in place of 960 and 512."""

Q, PARENTS = "q", "parents"
"""The options whose values the paper varies: q, and λ."""

_OTHERS = ("gbfs", "na2c", "controller", "genetic", "nose", "random")
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


_VARIANTS = tuple(
    f"opevo:{option}={value:g}"
    for option, values in {Q: (0.1, 0.9), PARENTS: (2, 32)}.items()
    for value in values
)

_FULL = SearchSettings(
    workloads=(*OPEVO, *_scaled()),
    tuners=("opevo", *_OTHERS, MODEL_TUNER, *_VARIANTS),
    sketch="cpu_tiled",
    repeats=5,
    seconds=60.0,
    trials=512,
)
_QUICK = replace(
    _FULL,
    workloads=(f"opevo.BMM.NN.b{MATRICES}", f"opevo.C1.n{IMAGES}"),
    tuners=("opevo", "gbfs", "random", *_VARIANTS),
    repeats=2,
    seconds=9.0,
)

_PAPER = (
    "OpEvo's best of 512 trials is better than that of G-BFS and N-A2C in most cases, in its mean "
    "and in its variance (section 5.1, figure 3, on GPUs), and in most cases hardly changes with q "
    "and λ (section 5.5, figures 7 and 8)."
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


def _pictures(summary: Summary) -> dict[str, str]:
    drawn = {}
    compared = rivals(summary.labels)
    if compared:
        drawn["trials"] = speed_trials_figure(of_tuners(summary, compared))
        drawn["time"] = speed_time_figure(of_tuners(summary, compared))
    for option in (Q, PARENTS):
        labels = list(variants(summary.labels, option).values())
        if labels:
            drawn[option] = speed_trials_figure(of_tuners(summary, labels))
    return drawn


EXPERIMENT = SearchExperiment(
    name="opevo",
    knows={**{name: workload(name) for name in OPEVO}, **_scaled()},
    full=_FULL,
    quick=_QUICK,
    pictures=_pictures,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    compared = rivals(data["tuners"])
    return "\n".join(
        [
            *parts.setup(data),
            *parts.claim(_PAPER, _ours(data)),
            *parts.standings(data, compared),
            *parts.explained(parts.STANDINGS),
            *parts.remarks(data),
            *parts.pictures(data, ("trials", "time")),
            *parts.shares(data, compared),
            *_sensitivity(data),
            *parts.pictures(data, (Q, PARENTS)),
        ]
    )


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claims."""
    told = [_against(data, label) for label in rivals(data["tuners"]) if label != "opevo"]
    told = [text for text in told if text]
    found = "; ".join(told) if told else "OpEvo has not been run against another tuner yet"
    return ". ".join([f"{found[0].upper()}{found[1:]}", *_ranges(data)]) + "."


def _against(data: Mapping[str, Any], other: str) -> str:
    """On how many workloads OpEvo's best is better than another tuner's, in mean and variance."""
    ours, theirs = parts.rows_of(data, "opevo"), parts.rows_of(data, other)
    both = [problem for problem in ours if problem in theirs]
    if not both:
        return ""
    mean = sum(ours[each]["best_share"] > theirs[each]["best_share"] for each in both)
    variance = "best_share_variance"
    steadier = sum(ours[each][variance] < theirs[each][variance] for each in both)
    return (
        f"against {other} OpEvo has the better mean on {mean} of {len(both)} and the lower "
        f"variance on {steadier}"
    )


def _ranges(data: Mapping[str, Any]) -> list[str]:
    """How far the mean over the workloads goes apart with each option."""
    lines = []
    for option, symbol in _SYMBOLS.items():
        means = {
            value: share
            for value, label in variants(data["tuners"], option).items()
            if (share := parts.mean_share(data, label)) is not None
        }
        if len(means) > 1:
            worst, best = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            lines.append(
                f"With {symbol} the mean over the workloads goes from "
                f"{fmt.percent(means[worst])} ({symbol} = {worst}) to "
                f"{fmt.percent(means[best])} ({symbol} = {best})"
            )
    return lines


def _sensitivity(data: Mapping[str, Any]) -> list[str]:
    """A table of what OpEvo finds with other values of its options."""
    lines: list[str] = []
    for option, symbol in _SYMBOLS.items():
        for value, label in variants(data["tuners"], option).items():
            rows = list(parts.rows_of(data, label).values())
            worst = min(rows, key=lambda row: row["best_share"], default=None)
            lines.append(
                markdown.row(
                    f"{symbol} = {value}",
                    fmt.percent(parts.mean_share(data, label)),
                    fmt.percent(mean(parts.deviation(row) for row in rows)),
                    fmt.percent(worst["best_share"] if worst else None),
                    worst["problem"] if worst else fmt.NOTHING,
                )
            )
    if not lines:
        return []
    head = markdown.head("OpEvo with", "best", "its std", "least", "which is on")
    return ["### Sensitivity", "", *head, *lines, ""]
