"""The figures of an experiment, which are JSON-ready, and its pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tunesmith.bench.autotvm.lines import lines
from tunesmith.bench.autotvm.parts import Part
from tunesmith.bench.autotvm.two_for_one import TWICE, two_for_one, with_doubles
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.measured import EARLIER, TRIALS
from tunesmith.bench.compare.recorded_task import TAUGHT
from tunesmith.bench.compare.report.curve_charts import speed_trials_chart
from tunesmith.bench.compare.runs import Results
from tunesmith.bench.compare.summary import summarise
from tunesmith.bench.pages.charts import svg_texts


def part_figures(
    part: Part, comparison: Comparison, results: Results, command: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the pictures by the names of their files.

    Figures have the ``settings``, ``runs`` done and planned, the ``machines`` that problems were
    measured on, a row for each line, a ``cell`` for each line on each problem, ``crashes``,
    ``pictures``, the ``origin``, and ``earlier``, the runs that those which transfer learn from.
    ``two_for_one`` are the rows of lines and of those with two trials for one, after half of the
    trials, which pictures have, too; empty for parts that are replayed, as they have such lines
    themselves, and for those on transfer.
    Features of programs are ``without_estimates`` of the sketch, and thinking ``counts_programs``
    that are made: figures of old do not say so.
    """
    summary = summarise(results)
    limit = comparison.settings.trials or part.trials
    doubles = part.measured and not part.sources
    shown = summarise(with_doubles(results, limit)) if doubles else summary
    ends = dict.fromkeys(TWICE.values(), limit // 2) if doubles else {}
    name = f"models-{part.name}.svg"
    pictures = svg_texts({name: lambda: speed_trials_chart(shown, ends)}) if results.traces else {}
    figures = {
        "part": part.name,
        "origin": results.origin(),
        "command": command,
        "settings": asdict(comparison.settings),
        "runs": {"done": len(results.traces), "planned": len(comparison.runs())},
        "problems": [problem.label for problem in summary.problems],
        "machines": {each.label: results.machine(each) for each in summary.problems},
        "lines": lines(summary, limit),
        "two_for_one": two_for_one(results, limit) if doubles else [],
        "cells": [cell.row() for cell in summary.cells if cell.traces],
        "crashes": summary.crashes,
        "pictures": list(pictures),
        "earlier": _earlier(part, results),
        "without_estimates": True,
        "counts_programs": True,
    }
    return figures, pictures


def _earlier(part: Part, results: Results) -> dict[str, Any]:
    """What those that transfer learn from, of each source: so many ``trials`` of a run by each of
    ``tuners``, measured by ``versions`` of Tunesmith, as far as runs tell; or so many ``random``
    configs of a recorded space; empty where nobody does."""
    if not part.sources:
        return {}
    if part.recorded:
        return {"random": TAUGHT}
    versions = sorted({it for trace in results.traces.values() for it in trace.learned_from})
    return {"trials": TRIALS, "tuners": list(EARLIER), "versions": versions}
