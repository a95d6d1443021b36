"""Pages of our reports: one self-contained HTML file each, with style, figures and scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, system_reason
from tunesmith.reports import format as fmt
from tunesmith.reports.figures import Figure
from tunesmith.reports.palette import DARK, LIGHT
from tunesmith.whole_file import write_whole


def write_page(page: str, path: str | Path) -> Path:
    """Write a page to ``path``, whole or not at all, and return the path.

    Creates the folder if needed. Raises TunesmithError if the file cannot be written.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page)
    except OSError as error:
        raise TunesmithError(
            f"cannot write the report to {path}: {system_reason(error)}: name a file in a "
            "folder that you may write to"
        ) from error
    return path


def filled_in(template: str, figures: Sequence[Figure], **values: Any) -> str:
    """A template of this package that extends ``base.html``, filled in: about 2 MB of HTML.

    All text is escaped. As a second defence, the page's Content-Security-Policy allows no other
    scripts and no requests.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    plotly, bundle = _plotly_bundle()
    script = _source("page.js")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_source),
    )
    return environment.get_template(template).render(
        fmt=fmt,
        figures=figures,
        policy=_policy([plotly, script]),
        style=Markup(style_sheet()),
        figure_data=Markup(_figure_data(figures)),
        bundle=bundle,
        script=Markup(script),
        **values,
    )


def _figure_data(figures: Sequence[Figure]) -> str:
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
