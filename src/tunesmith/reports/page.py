"""The report of a run as one self-contained HTML file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, system_reason
from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import speed_unit
from tunesmith.reports.figures import Figure, make_figures
from tunesmith.reports.model import BEST_NAME, MeasuredConfig, RunReport
from tunesmith.reports.palette import DARK, LIGHT
from tunesmith.whole_file import write_whole


def write_report(report: RunReport, path: str | Path) -> Path:
    """Write the report's page to ``path``, whole or not at all, and return the path.

    Creates the folder if needed. Raises TunesmithError if the file cannot be written.
    """
    path = Path(path)
    page = render(report)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page)
    except OSError as error:
        raise TunesmithError(
            f"cannot write the report to {path}: {system_reason(error)}: name a file in a "
            "folder that you may write to"
        ) from error
    return path


def render(report: RunReport) -> str:
    """The page with its data, figures, style and scripts: about 2 MB of HTML.

    All text of the report is escaped. As a second defence, the page's Content-Security-Policy
    allows no other scripts and no requests.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    figures = make_figures(report)
    plotly, bundle = _plotly_bundle()
    script = _source("page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_source("page.html")).render(
        report=report,
        headline=headline(report),
        cards=_cards(report),
        gpu=_gpu(report),
        fmt=fmt,
        unit=speed_unit(report),
        best_name=BEST_NAME,
        figures=figures,
        configs=_configs(report),
        program=Markup(_coloured(report.program)),
        policy=_policy([plotly, script]),
        style=Markup(style_sheet()),
        figure_data=Markup(_figure_data(figures)),
        bundle=bundle,
        script=Markup(script),
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


def _figure_data(figures: list[Figure]) -> str:
    """The figures as JSON without ``<``, so that it cannot close its HTML element."""
    data = {
        "plots": {
            figure.name: {
                "plot": json.loads(figure.plot.figure.to_json()),
                "explorable": figure.explorable,
            }
            for figure in figures
        },
        "darkColours": {LIGHT[name]: DARK[name] for name in LIGHT},
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _policy(scripts: Iterable[str]) -> str:
    """A Content-Security-Policy that allows only these scripts, inline style, and no requests.

    Plotly uses inline style, and saves figures through data images.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def style_sheet() -> str:
    """The pages' style sheet, with the palette as its variables; prints are always light."""
    light, dark = (
        "".join(f"--{name.replace(' ', '-')}: {colour}; " for name, colour in palette.items())
        for palette in (LIGHT, DARK)
    )
    return (
        f":root {{ {light}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
        f"{_source('page.css')}"
    )


@lru_cache(maxsize=1)
def _plotly_bundle() -> tuple[str, str]:
    """Plotly's source, and the same compressed as base64."""
    from plotly.offline import get_plotlyjs

    source = get_plotlyjs()
    return source, base64.b64encode(gzip.compress(source.encode(), mtime=0)).decode()


def _source(name: str) -> str:
    return resources.files("tunesmith.reports").joinpath(name).read_text(encoding="utf-8")
