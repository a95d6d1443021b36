"""Tables of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.reports import format as fmt

_LABEL = 52


def layers_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Tasks with their share of a call's time, the dearest first; those without a time last.

    Each row has ``label``, ``layers``, and ``seconds`` of a call, ``gflops`` and ``sketch``, None
    where nothing is known.
    """
    total = sum(row["layers"] * (row["seconds"] or 0.0) for row in rows)
    dearest = sorted(rows, key=lambda row: -row["layers"] * (row["seconds"] or 0.0))
    lines = [f"{'task':{_LABEL}} calls      time  share  GFLOP/s  sketch"]
    for row in dearest:
        label = _shortened(row["label"])
        if row["seconds"] is None:
            lines.append(f"{label:{_LABEL}} {row['layers']:5}         –      –        –  –")
            continue
        spent = row["layers"] * row["seconds"]
        lines.append(
            f"{label:{_LABEL}} {row['layers']:5} {fmt.seconds(spent):>9} {spent / total:6.1%} "
            f"{row['gflops']:8.1f}  {row['sketch']}"
        )
    known = sum(row["seconds"] is not None for row in rows)
    lines.append(f"{known} of {len(rows)} tasks have a time: {fmt.seconds(total)} in all")
    return "\n".join(lines)


def tuned_table(result: Any) -> str:
    """What tuning has brought each task of a network (a ``NetworkResult``)."""
    lines = [f"{'task':{_LABEL}} calls    before     after  trials  seconds"]
    for each in sorted(result.tasks, key=lambda each: -each.layers * each.after):
        label = _shortened(each.task.operator.label)
        lines.append(
            f"{label:{_LABEL}} {each.layers:5} {_time(each.before):>9} {_time(each.after):>9} "
            f"{each.trials:7} {each.seconds:8.1f}"
        )
    lines.append(
        f"{_time(result.call_seconds)} a call in all, after {fmt.duration(result.seconds)} "
        f"({result.stopped.meaning})"
    )
    return "\n".join(lines)


def _shortened(label: str) -> str:
    """A label without what every layer has, cut to the width of the column."""
    label = label.replace(", constant_weights=true", "").replace("=true", "")
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"


def _time(seconds: float) -> str:
    return "–" if seconds == float("inf") else fmt.seconds(seconds)
