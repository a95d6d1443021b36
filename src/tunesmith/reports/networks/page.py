"""The page about a network."""

from __future__ import annotations

from pathlib import Path

from tunesmith.reports import format as fmt
from tunesmith.reports.html import filled_in, write_page
from tunesmith.reports.networks.figures import make_figures
from tunesmith.reports.networks.model import MODEL, STORE, NetworkReport, TaskRow
from tunesmith.reports.networks.tables import against, of_peak, uncovered_line

# What the column about the origin of a program says.
_ORIGINS = {STORE: "tuned", MODEL: "model's pick"}


def write_network_report(report: NetworkReport, path: str | Path) -> Path:
    """Write the page about a network: see ``write_page``."""
    return write_page(render(report), path)


def render(report: NetworkReport) -> str:
    """The page: see ``filled_in``."""
    return filled_in(
        "networks/network.html",
        make_figures(report),
        title=report.title,
        headline=headline(report),
        cards=_cards(report),
        facts=_facts(report),
        report=report,
        layers=_layers(report),
        compared=any(task.peers for task in report.tasks),
        estimated=[task for task in report.tasks if task.origin == MODEL],
        uncovered=uncovered_line(report.uncovered),
    )


def headline(report: NetworkReport) -> str:
    """The result of tuning in one line."""
    found = f"{fmt.seconds(report.seconds)} a call"
    gain = report.gain
    if gain is None:
        return found
    compared = fmt.faster_than(*gain, "default schedules")
    return f"{compared[0].upper()}{compared[1:]}, {found}"


def _cards(report: NetworkReport) -> list[tuple[str, str, str]]:
    timed = [task for task in report.tasks if task.seconds is not None]
    gain, total = report.gain, report.seconds
    slow = "" if gain is None else f"{fmt.seconds(gain[0])} with default schedules"
    cards = [("All layers", fmt.seconds(total), slow)]
    if report.call is not None:
        runtime = fmt.share(report.call.runtime, report.call.seconds)
        cards.append(("A call, measured", fmt.seconds(report.call.seconds), f"runtime: {runtime}"))
    flops = sum(task.layers * task.flops for task in timed)
    least = [task.layers * task.least_seconds for task in timed if task.least_seconds is not None]
    known = len(least) == len(timed) and total > 0
    peak = f"{fmt.percent(sum(least) / total, 0)} of peak" if known else ""
    cards.append(("Speed", fmt.speed(total, flops), peak))
    trials = fmt.counted(sum(task.trials for task in report.tasks), "trial")
    cards.append(("Tasks tuned", f"{len(report.tuned)} of {len(report.tasks)}", trials))
    cards.append(("Tuning", fmt.duration(report.tuning_seconds), ""))
    return cards


def _facts(report: NetworkReport) -> list[tuple[str, str]]:
    def shown(moment: object) -> str:
        return format(moment, "%Y-%m-%d %H:%M:%S %Z").strip() if moment is not None else ""

    return [
        ("Inputs", report.inputs),
        ("Target", report.target),
        ("Machine", report.machine),
        ("Tuner", report.tuner),
        ("First run", shown(report.started)),
        ("Last trial", shown(report.ended)),
        ("Software", ", ".join(map(" ".join, report.versions.items()))),
    ]


def _layers(report: NetworkReport) -> list[dict[str, str]]:
    """The cells of each layer's row, in the order of the network."""
    measured = _measured(report)
    return [
        {
            "number": fmt.count(number),
            "brief": task.brief,
            "label": task.label,
            "time": _time(task),
            "inside": fmt.seconds(inside),
            "share": fmt.share(task.seconds, report.seconds) if task.seconds else fmt.NOTHING,
            "speed": fmt.decimal(task.gflops, 1),
            "peak": of_peak(task.share_of_peak, task.limit),
            "sketch": task.sketch or fmt.NOTHING,
            "origin": _ORIGINS.get(task.origin, task.origin or fmt.NOTHING),
            "before": fmt.seconds(task.default_seconds),
            "gain": fmt.gain(task.default_seconds, task.seconds),
            "peer": against(task.best_peer),
        }
        for number, (task, inside) in enumerate(
            zip((report.tasks[each] for each in report.layers), measured, strict=True), start=1
        )
    ]


def _time(task: TaskRow) -> str:
    """A layer's time; an estimate is marked."""
    mark = "≈ " if task.origin == MODEL and task.seconds is not None else ""
    return mark + fmt.seconds(task.seconds)


def _measured(report: NetworkReport) -> list[float | None]:
    """Seconds of each layer inside of the network, None where that was not measured.

    Calls of one kernel come in the order of the layers.
    """
    waiting: dict[str, list[float]] = {}
    for part in report.call.parts if report.call is not None else ():
        waiting.setdefault(part.label, []).append(part.seconds)
    found: list[float | None] = []
    for number in report.layers:
        times = waiting.get(report.tasks[number].label)
        found.append(times.pop(0) if times else None)
    return found
