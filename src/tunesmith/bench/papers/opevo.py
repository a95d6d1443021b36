"""``tunesmith bench opevo``: the experiments of the OpEvo paper, on the CPU.

Three matmuls, three batch matmuls and two convolutions (appendix B), five runs of 512 trials: OpEvo
against other tuners (sections 5.1 to 5.3), and OpEvo with other q and λ (section 5.5). The batches,
960 matrices and 512 images, are made for GPUs; those of ours fit two cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tunesmith.bench.compare.figures import speed_time_figure, speed_trials_figure
from tunesmith.bench.compare.summary import Summary, mean
from tunesmith.bench.operators.workloads import BATCHED, OPEVO
from tunesmith.bench.pages import markdown
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.claims import NO_DIFFERENCE, Estimate, too_few
from tunesmith.bench.papers.data import of_tuners
from tunesmith.bench.papers.experiment import MODEL_TUNER, SearchExperiment, SearchSettings
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
    trials=512,
)
# One product, and no other q and λ; enough runs to show a difference, enough trials to evolve.
_QUICK = replace(
    _FULL, workloads=("opevo.MM1",), tuners=("opevo", "gbfs", "random"), repeats=4, seconds=50.0
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
            *parts.pictures(data, ("trials", "time"), compared),
            *parts.shares(data, compared),
            *_sensitivity(data),
        ]
    )


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claims."""
    told = [_against(data, label) for label in rivals(data["tuners"]) if label != "opevo"]
    told = [text for text in told if text] or ["OpEvo has not been run against another tuner yet"]
    told += [_range(data, option) for option in _SYMBOLS if variants(data["tuners"], option)]
    return ". ".join(f"{text[0].upper()}{text[1:]}" for text in told) + "."


def _against(data: Mapping[str, Any], other: str) -> str:
    """On how many workloads OpEvo is better than another tuner, in mean and variance; nothing where
    they have no runs of the same workload."""
    ours, theirs = parts.rows_of(data, "opevo"), parts.rows_of(data, other)
    both = [(ours[problem], theirs[problem]) for problem in ours if problem in theirs]
    if not both:
        return ""
    if parts.at_start(row for pair in both for row in pair):
        return f"against {other} it is too short to tell: runs ended within their random start"
    few = too_few(min(row["repeats"] for pair in both for row in pair))
    if few:
        return f"against {other} {few}"
    means = [(parts.best_of(one), parts.best_of(two)) for one, two in both]
    spreads = [(_spread(one), _spread(two)) for one, two in both]
    better, worse = _ahead(means), _ahead([(two, one) for one, two in means])
    wider, steadier = _ahead(spreads), _ahead([(two, one) for one, two in spreads])
    if not any((better, worse, wider, steadier)):
        return f"against {other} {NO_DIFFERENCE} on any of {fmt.counted(len(both), 'workload')}"
    return (
        f"against {other}, of {fmt.counted(len(both), 'workload')}, OpEvo has the better mean on "
        f"{better} and the worse on {worse}, the lower variance on {steadier} and the higher on "
        f"{wider}; on the others {NO_DIFFERENCE}"
    )


def _spread(row: parts.Row) -> Estimate:
    return Estimate.of_deviation(parts.deviation(row), row["repeats"])


def _ahead(pairs: Sequence[tuple[Estimate, Estimate]]) -> int:
    """In how many pairs the first is larger."""
    return sum(first.above(second) for first, second in pairs)


def _range(data: Mapping[str, Any], option: str) -> str:
    """How far the mean over the workloads goes apart with an option, of those values whose runs got
    past the random start."""
    symbol, means = _SYMBOLS[option], {}
    for value, label in variants(data["tuners"], option).items():
        mean_best = parts.mean_best(data, label)
        if mean_best is not None and not parts.at_start(parts.rows_of(data, label).values()):
            means[value] = mean_best
    if len(means) < 2:
        return f"of {symbol} it is too short to tell: runs ended within their random start"
    few = too_few(min(each.runs for each in means.values()))
    if few:
        return f"of {symbol}, {few}"
    worst, best = (choose(means, key=lambda each: means[each].value) for choose in (min, max))
    if not means[best].above(means[worst]):
        return f"of {symbol} = {', '.join(means)} {NO_DIFFERENCE}"
    return (
        f"with {symbol} the mean over the workloads goes from "
        f"{fmt.percent(means[worst].value)} ({symbol} = {worst}) to "
        f"{fmt.percent(means[best].value)} ({symbol} = {best})"
    )


def _sensitivity(data: Mapping[str, Any]) -> list[str]:
    """A table of what OpEvo finds with other values of its options."""
    lines, labels = [], []
    for option, symbol in _SYMBOLS.items():
        for value, label in variants(data["tuners"], option).items():
            lines.append(_variant(data, label, f"{symbol} = {value}"))
            labels.append(label)
    if not lines:
        return []
    columns = ("OpEvo with", "best", "its std", "least", "which is on", "runs", "trials")
    labels = list(dict.fromkeys(labels))  # its own values are in the table once an option
    return [
        *("### Sensitivity", ""),
        *markdown.head(*columns),
        *(*lines, ""),
        *parts.starts(data, labels),
        *parts.pictures(data, (Q, PARENTS), labels),
    ]


def _variant(data: Mapping[str, Any], label: str, name: str) -> str:
    rows = list(parts.rows_of(data, label).values())
    if not rows:
        return markdown.row(name, *[fmt.NOTHING] * 6)
    found, worst = parts.mean_best(data, label), min(rows, key=lambda row: row["best_share"])
    return markdown.row(
        name,
        fmt.NOTHING if found is None else parts.with_error(found),
        fmt.percent(mean(parts.deviation(row) for row in rows)),
        fmt.percent(worst["best_share"]),
        worst["problem"],
        str(sum(row["repeats"] for row in rows)),
        parts.trials_of(rows),
    )
