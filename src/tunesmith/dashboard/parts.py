"""The pieces that pages are made of. Dash escapes all text; addresses are made here alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from dash import Output, dcc, html

from tunesmith.dashboard.charts import painted
from tunesmith.dashboard.described import ending_of
from tunesmith.dashboard.runs import WatchedRun
from tunesmith.dashboard.text import clean
from tunesmith.reports.figures import Figure

MOST_ROWS: Final = 40
"""A table has at most so many: a page of more is slow, and nobody reads it."""

# Named one by one: Plotly's own choice offers to send the figure to a server.
_BUTTONS: Final = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]]


def address(page: str, **given: str) -> str:
    """The address of a page about something."""
    return f"{page}?{urlencode(given)}" if given else page


def asked(search: str | None) -> dict[str, str]:
    """What the query of an address says; the last one of several values."""
    return dict(parse_qsl((search or "").removeprefix("?")))


def link(text: object, page: str, **given: str) -> dcc.Link:
    return dcc.Link(said(text), href=address(page, **given))


def said(text: object, longest: int = 200) -> html.Bdi:
    """Text of a record: letters that run from right to left turn nothing around them."""
    return html.Bdi(clean(text, longest))


def cards(*facts: tuple[str, object, object]) -> list[html.Li]:
    """Key figures: what it is, the figure, and a note."""
    return [
        html.Li(
            [
                html.Span(label, className="label"),
                html.Strong(value),
                html.Span(note, className="note"),
            ]
        )
        for label, value, note in facts
    ]


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    amounts: Sequence[int] = (),
    best: int | None = None,
    nothing: str = "nothing yet",
    name: str,
    total: int = 0,
) -> html.Div:
    """A table that scrolls by itself where it is too wide. ``amounts`` are the columns of numbers;
    the row ``best`` stands out. The rows may be the first ones of a ``total``."""
    if not rows:
        return html.Div(html.P(nothing, className="summary"))
    classes = dict.fromkeys(amounts, "amount")
    head = [
        html.Th(text, scope="col", className=classes.get(i, "")) for i, text in enumerate(heads)
    ]
    body = [
        html.Tr(
            [html.Td(cell, className=classes.get(i, "")) for i, cell in enumerate(row)],
            className="best" if number == best else "",
        )
        for number, row in enumerate(rows)
    ]
    parts: list[Any] = [
        html.Div(
            html.Table([html.Thead(html.Tr(head)), html.Tbody(body)]),
            className="scroll",
            tabIndex=0,
            role="region",
            **{"aria-label": name},
        )
    ]
    if total > len(rows):
        parts.append(html.P(f"and {total - len(rows):,} more", className="summary"))
    return html.Div(parts)


def state(run: WatchedRun, now: datetime) -> html.Span:
    """Whether a run goes on, and if not, why it ended."""
    if run.is_live(now):
        return html.Span("running", className="live")
    return html.Span(ending_of(run.session), className="ended")


def section(name: str, title: str, *children: Any) -> html.Section:
    return html.Section([html.H2(title, id=name), *children], **{"aria-labelledby": name})


def facts(given: Mapping[str, object]) -> html.Dl:
    """Names and what is known of them; those of which nothing is known are left out."""
    return html.Dl(
        [html.Div([html.Dt(name), html.Dd(it)]) for name, it in given.items() if it],
        className="facts",
    )


def instant(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


class Slot:
    """A place for a figure, whose content comes and changes while the page is open."""

    def __init__(
        self, name: str, title: str, *, wide: bool = False, explorable: bool = True, hint: str = ""
    ) -> None:
        self.name, self._title, self._wide, self._hint = name, title, wide, hint
        self._config = {
            "displaylogo": False,
            "displayModeBar": "hover" if explorable else False,
            "modeBarButtons": _BUTTONS,
        }

    def layout(self) -> html.Figure:
        """The place, still empty."""
        hint: list[Any] = []
        if self._hint:
            hint = [html.Details([html.Summary("what is this?"), html.P(self._hint)])]
        return html.Figure(
            [
                html.H2(self._title, id=f"{self.name}-title", title=self._hint),
                html.P(id=f"{self.name}-summary", className="summary"),
                *hint,
                html.Ul(id=f"{self.name}-legend", className="legend", **{"aria-label": "Legend"}),
                html.Div(
                    dcc.Graph(
                        id=f"{self.name}-plot",
                        responsive=True,
                        style={"height": "100%"},
                        config=self._config,
                    ),
                    id=f"{self.name}-box",
                    className="plot",
                ),
            ],
            id=self.name,
            className="wide" if self._wide else "",
            **{"aria-labelledby": f"{self.name}-title"},
        )

    def outputs(self) -> list[Output]:
        """What a callback fills, with what `filled` gives."""
        return [
            Output(f"{self.name}-summary", "children"),
            Output(f"{self.name}-legend", "children"),
            Output(f"{self.name}-plot", "figure"),
            Output(f"{self.name}-box", "style"),
        ]

    def filled(self, figure: Figure | None, dark: bool, nothing: str = "nothing yet") -> list[Any]:
        """The values of the `outputs`; None hides the plot and says that there is ``nothing``."""
        if figure is None:
            return [nothing, [], {"data": [], "layout": {}}, {"display": "none"}]
        keys = [
            html.Li(
                [
                    html.Span(
                        className=f"swatch {key.mark}",
                        style={"color": f"var(--{key.colour.replace(' ', '-')})"},
                    ),
                    said(key.name, 80),
                ]
            )
            for key in figure.plot.legend
        ]
        height = {"height": f"{figure.plot.height}px"}
        return [figure.summary, keys, painted(figure.plot, dark), height]
