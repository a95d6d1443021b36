"""``tunesmith bench nose``: experiment 2 of the NoSE paper (Gatopoulos et al.), on the CPU.

The eight test layers of ResNet-18 (table II; the four others chose its hyperparameters), NoSE
against AutoTVM's genetic algorithm and simulated annealing, four runs, by the wall clock (section
V-D, figures 5 to 8). Its layers are those of "Learning to Optimize Tensor Programs", too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.bench.compare.bars import outcome_times_figure, outcomes_figure, time_split_figure
from tunesmith.bench.compare.curves import time_limit
from tunesmith.bench.compare.figures import speed_time_figure, speed_trials_figure, speed_up_figure
from tunesmith.bench.compare.summary import Cell, Summary, mean, speeds
from tunesmith.bench.compare.tuners import reference_of
from tunesmith.bench.operators.workloads import RESNET
from tunesmith.bench.pages import markdown
from tunesmith.bench.papers import tables as parts
from tunesmith.bench.papers.claims import NO_DIFFERENCE, Estimate, mean_over, too_few
from tunesmith.bench.papers.experiment import MODEL_TUNER, SearchExperiment, SearchSettings
from tunesmith.bench.papers.start import past_start, random_start
from tunesmith.operators import workload
from tunesmith.reports import format as fmt

TEST_LAYERS = tuple(f"resnet18.C{number}" for number in range(3, 11))

MOMENTS = {"a sixth": 1 / 6, "a third": 1 / 3, "half": 1 / 2, "all": 1.0}
"""The shares of a run's time at which speed-ups are looked at, in words: the first is the paper's
first 10 of 60 minutes. They are set beforehand, for the largest speed-up at any time is chance."""

OURS, THEIRS = "nose", "genetic"

# Its space is of the kind of the paper's template: tiles of all loops, and unrolling.
_FULL = SearchSettings(
    workloads=TEST_LAYERS,
    tuners=("nose", "genetic", "annealing", MODEL_TUNER),
    sketch="cpu_tiled",
    repeats=4,
    seconds=120.0,
)
# One layer, two tuners, so that both come far further than their first hundred random configs.
_QUICK = replace(_FULL, workloads=("resnet18.C5",), tuners=(OURS, THEIRS), repeats=4, seconds=70.0)

_PAPER = (
    "in the mean over the layers NoSE's best is up to 1.4 times as fast as the GA's within the "
    "first 10 of 60 minutes, and about as fast at the end; NoSE thinks no longer than the GA "
    "(section V-D, figures 5 and 6, on a GPU)."
)


def _pictures(summary: Summary) -> dict[str, str]:
    return {
        "time": speed_time_figure(summary),
        "trials": speed_trials_figure(summary),
        "speed-up": _speed_up_picture(summary),
        "time-split": time_split_figure(summary),
        "outcomes": outcomes_figure(summary),
        "outcome-times": outcome_times_figure(summary),
    }


def _speed_up_picture(summary: Summary) -> str:
    """Nothing where it would be over another tuner than the table is, or of random starts alone."""
    theirs = _labelled(summary.labels, THEIRS)
    if theirs is None or theirs != reference_of(summary.labels):
        return ""
    told = any(each["points"] for each in _speed_ups(summary, theirs))
    return (speed_up_figure(summary) or "") if told else ""


def _told(summary: Summary, _settings: SearchSettings) -> dict[str, Any]:
    """``ours`` and ``theirs``, the labels of NoSE and of the GA, null where they took no part; and
    ``speed_ups`` over the GA, for each other tuner that has runs of all problems that have any:
    ``since`` what share of the time every run of both is past its random start, null where one
    never is, and at which ``points``, later shares of the time, it is how many ``times`` as fast,
    with the ``error``, from so many ``runs``."""
    theirs = _labelled(summary.labels, THEIRS)
    return {
        "ours": _labelled(summary.labels, OURS),
        "theirs": theirs,
        "speed_ups": [] if theirs is None else _speed_ups(summary, theirs),
    }


def _labelled(labels: Sequence[str], name: str) -> str | None:
    """The first label of a tuner of that name, whatever its options."""
    return next((label for label in labels if label.partition(":")[0] == name), None)


def _speed_ups(summary: Summary, theirs: str) -> list[dict[str, Any]]:
    cells = {(each.tuner.label, each.problem): each for each in summary.cells}
    told = []
    for label in summary.labels:
        pairs = [(cells[label, each], cells[theirs, each]) for each in summary.problems]
        if label != theirs and all(cell.traces for pair in pairs for cell in pair):
            limits = [time_limit(summary.on(problem)) for problem in summary.problems]
            told.append({"tuner": label, **_speed_up(pairs, limits)})
    return told


def _speed_up(pairs: Sequence[tuple[Cell, Cell]], limits: Sequence[float]) -> dict[str, Any]:
    """Of pairs of cells, a tuner's and the GA's on the same problem, whose runs last so long."""
    since = _since(pairs, limits)
    points = []
    for share in [each for each in MOMENTS.values() if since is not None and each >= since]:
        found = mean_over(
            _speed_at(ours, share * limit).over(_speed_at(theirs, share * limit))
            for (ours, theirs), limit in zip(pairs, limits, strict=True)
        )
        point = {"at": share, "times": found.value, "error": found.error, "runs": found.runs}
        points.append(point)
    return {"since": since, "points": points}


def _since(pairs: Sequence[tuple[Cell, Cell]], limits: Sequence[float]) -> float | None:
    """The share of the time at which every run is past its random start; None: one never is."""
    latest = 0.0
    for cells, limit in zip(pairs, limits, strict=True):
        for cell in cells:
            for trace in cell.traces:
                past = past_start(trace, random_start(cell.tuner.tuner))
                if past is None:
                    return None
                latest = max(latest, past / limit)
    return latest


def _speed_at(cell: Cell, seconds: float) -> Estimate:
    """The best after so many seconds as a share of the best known."""
    found = np.array([trace.best_at(np.array([seconds]))[0] for trace in cell.traces])
    return Estimate.mean(speeds(found, cell.optimum).tolist())


EXPERIMENT = SearchExperiment(
    name="nose",
    knows={name: workload(name) for name in RESNET},
    full=_FULL,
    quick=_QUICK,
    pictures=_pictures,
    told=_told,
)


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    tuners = data["tuners"]
    return "\n".join(
        [
            *parts.setup(data),
            *parts.claim(_PAPER, _ours(data)),
            *parts.standings(data, tuners),
            *parts.explained(parts.STANDINGS),
            *parts.remarks(data),
            *parts.pictures(data, ("time",), tuners),
            *_speed_up_table(data),
            *parts.pictures(data, ("speed-up",), tuners),
            *parts.shares(data, tuners),
            *parts.pictures(data, ("trials", "time-split", "outcomes", "outcome-times"), tuners),
        ]
    )


def _speed_up_table(data: Mapping[str, Any]) -> list[str]:
    """How many times as fast as the GA's each tuner's best is, past the random start."""
    if not any(each["points"] for each in data["speed_ups"]):
        return []
    lines = markdown.head("times as fast after", "random starts end", *MOMENTS)
    for each in data["speed_ups"]:
        at = {point["at"]: point for point in each["points"]}
        since = fmt.NOTHING if each["since"] is None else f"at {fmt.percent(each['since'], 0)}"
        cells = [_times(at[share]) if share in at else fmt.NOTHING for share in MOMENTS.values()]
        lines.append(markdown.row(each["tuner"], since, *cells))
    about = (
        f"How many times as fast as {data['theirs']}'s a tuner's best is after so much of the "
        "time, the mean over the workloads ± its standard error. Nothing is told of times at which "
        "a run of either tuner is within its random start, which is the same for both if it is as "
        "long, or has no valid trial: until then differences are chance, in the picture too. "
        f"{parts.extent(data, data['tuners'])}"
    )
    return [*lines, "", *parts.explained(about)]


def _times(point: Mapping[str, Any]) -> str:
    return f"{point['times']:.2f} ± {point['error']:.2f}"


def _ours(data: Mapping[str, Any]) -> str:
    """What became of the paper's claim."""
    ours, theirs = data["ours"], data["theirs"]
    found = next((each for each in data["speed_ups"] if each["tuner"] == ours), None)
    if ours is None or found is None:
        return "nose and genetic have not both been run on all of these workloads."
    told = _compared(found["points"]) if found["points"] else _too_short(data, (ours, theirs))
    return (
        f"{told} NoSE thinks for {_thinking(data, ours)} of its time, the GA for "
        f"{_thinking(data, theirs)}."
    )


def _compared(points: Sequence[Mapping[str, Any]]) -> str:
    """At which of the times NoSE and the GA differ, by how much, and at which they do not."""
    words = {share: f"{word} of the time" for word, share in MOMENTS.items()}
    few = too_few(min(point["runs"] for point in points))
    if few:
        return f"{few}."
    one, differ, same = Estimate.exactly(1.0), [], []
    for point in points:
        found = Estimate(point["times"], point["error"], point["runs"])
        if found.differs(one):
            differ.append(f"{_times(point)} times as fast as the GA's after {words[point['at']]}")
        else:
            same.append(words[point["at"]])
    sentences = [f"NoSE's best is {_listed(differ)}."] if differ else []
    if same:
        told = f"{NO_DIFFERENCE} between NoSE's best and the GA's after {_listed(same)}."
        sentences.append(told[0].upper() + told[1:] if differ else told)
    return " ".join(sentences)


def _too_short(data: Mapping[str, Any], tuners: Iterable[str]) -> str:
    """Why nothing can be told of these tuners' speeds."""
    rows = [row for tuner in tuners for row in parts.rows_of(data, tuner).values()]
    ended, runs = parts.at_start(rows), sum(len(row["run_trials"]) for row in rows)
    if not ended:
        return "too short to tell: some runs found nothing valid."
    how_many = "all" if ended == runs else f"{ended} of {runs}"
    return f"too short to tell: {how_many} runs ended within the random start."


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _thinking(data: Mapping[str, Any], tuner: str) -> str:
    """The share of a tuner's time that is thinking, the mean over workloads."""
    times = [row["time"] for row in parts.rows_of(data, tuner).values()]
    found = mean(time["search"] / sum(time.values()) for time in times if any(time.values()))
    return fmt.percent(found)
