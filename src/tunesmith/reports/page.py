"""The page about the runs of a task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import speed_unit
from tunesmith.reports.figures import make_figures
from tunesmith.reports.html import filled_in, write_page
from tunesmith.reports.model import BEST_NAME, MeasuredConfig, RunReport


def write_report(report: RunReport, path: str | Path) -> Path:
    """Write the report's page: see ``write_page``."""
    return write_page(render(report), path)


def render(report: RunReport) -> str:
    """The page: see ``filled_in``."""
    from markupsafe import Markup

    return filled_in(
        "page.html",
        make_figures(report),
        title=report.title,
        headline=headline(report),
        cards=_cards(report),
        facts=_facts(report),
        report=report,
        unit=speed_unit(report),
        best_name=BEST_NAME,
        configs=_configs(report),
        program=Markup(_coloured(report.program)),
    )


def headline(report: RunReport) -> str:
    """The result of the run in one line."""
    if report.best is None:
        trials = fmt.counted(len(report.trials), "trial")
        return f"No valid program in {trials}" if report.trials else "No trial was measured"
    found = fmt.speed(report.best.seconds, report.flops)
    if report.default is None:
        return f"{found}, {fmt.seconds(report.best.seconds)} a call"
    name = f"the {report.default_name}"
    compared = fmt.faster_than(report.default.seconds, report.best.seconds, name)
    return f"{compared[0].upper()}{compared[1:]}, {found}"


def _cards(report: RunReport) -> list[tuple[str, str, str]]:
    cards = []
    if report.best is not None:
        best = report.best.seconds
        slower, slow = "", ""
        if report.default is not None:
            slower = f"from {fmt.seconds(report.default.seconds)}"
            slow = f"from {fmt.speed(report.default.seconds, report.flops)}"
        cards.append(("Time a call", fmt.seconds(best), slower))
        cards.append(("Speed", fmt.speed(best, report.flops), slow))
        if report.peers:
            time, name = min((time, name) for name, time in report.peers.items())
            note = f"{name}: {fmt.seconds(time)}"
            cards.append((f"Against {name}", fmt.gain(time, best), note))
    total, valid = len(report.trials), len(report.valid)
    note = f"{fmt.count(valid)} valid ({fmt.share(valid, total)})" if total else ""
    cards.append(("Trials", fmt.count(total), note))
    cards.append(("Wall clock", fmt.duration(report.elapsed), f"budget: {report.budget}"))
    return cards


def _facts(report: RunReport) -> list[tuple[str, str]]:
    return [
        ("Target", report.target),
        ("Machine", report.machine),
        ("GPU", _gpu(report)),
        ("Tuner", report.tuner),
        ("Started", report.started.strftime("%Y-%m-%d %H:%M:%S %Z").strip()),
        ("Stopped", report.stopped),
        ("Software", ", ".join(map(" ".join, report.versions.items()))),
    ]


def _gpu(report: RunReport) -> str:
    """The GPU's name, and the ranges of its clock and temperature right after the trials."""
    states = [trial.device_state for trial in report.trials if trial.device_state is not None]
    parts = [report.gpu]
    for figures, unit in (
        ([state.sm_mhz for state in states], "MHz"),
        ([state.celsius for state in states], "°C"),
    ):
        known = [figure for figure in figures if figure is not None]
        if known:
            bounds = dict.fromkeys(map(fmt.count, (min(known), max(known))))
            parts.append(f"{'–'.join(bounds)} {unit}")
    return ", ".join(filter(None, parts))


def _configs(report: RunReport) -> list[dict[str, Any]]:
    """A row for the sketch and for each parameter of either config, in their order."""
    best, default = _with_sketch(report.best), _with_sketch(report.default)
    both = report.best is not None and report.default is not None
    return [
        {
            "name": name,
            "best": fmt.config_value(best[name]) if name in best else fmt.NOTHING,
            "default": fmt.config_value(default[name]) if name in default else fmt.NOTHING,
            "differs": both and best.get(name) != default.get(name),
        }
        for name in dict.fromkeys([*best, *default])
    ]


def _with_sketch(measured: MeasuredConfig | None) -> Mapping[str, Any]:
    if measured is None:
        return {}
    return {**({"sketch": measured.sketch} if measured.sketch else {}), **measured.config}


def _coloured(program: str) -> str:
    """The program as escaped HTML with syntax highlighting."""
    if not program:
        return ""
    from pygments import formatters, highlight, lexers  # type: ignore[import-untyped]

    formatter = formatters.HtmlFormatter(nowrap=True)
    return str(highlight(program, lexers.PythonLexer(), formatter)).rstrip("\n")
