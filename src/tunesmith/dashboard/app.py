"""The application: the frame of all pages, and which page an address has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update, set_props

from tunesmith.dashboard import parts
from tunesmith.dashboard.access import guard
from tunesmith.dashboard.network import WatchedNetwork
from tunesmith.dashboard.pages import machines, overview, task
from tunesmith.dashboard.pages.network import NetworkPage
from tunesmith.dashboard.watch import Watch
from tunesmith.errors import describe
from tunesmith.reports.html import style_sheet

REFRESH_SECONDS: Final = 2.0
"""How often an open page asks for news."""

_NAMES: Final = {"/": "Runs", "/network": "Network", "/machines": "Machines"}

_INDEX: Final = """<!doctype html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
<link rel="icon" href="data:,">
{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""


def make_app(
    watch: Watch, *, token: str | None = None, network: WatchedNetwork | None = None
) -> Dash:
    """The dashboard of a store, and of a ``network`` that is tuned into it; with a ``token`` for
    those alone who have it."""
    pages: dict[str, Any] = {"/": overview, "/task": task, "/machines": machines}
    if network is not None:
        pages["/network"] = NetworkPage(network)
    app = Dash(
        "tunesmith",
        assets_folder=str(resources.files("tunesmith.dashboard") / "assets"),
        index_string=_INDEX.replace("{%css%}", f"<style>{style_sheet()}</style>{{%css%}}"),
        title="Tunesmith",
        update_title="",
        serve_locally=True,
        suppress_callback_exceptions=True,  # most pages are not there at first
        add_log_handler=False,
        enable_mcp=False,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
        ],
        on_error=_tell,
    )
    app.layout = _frame(watch.store.name, pages)
    _register(app, watch, pages)
    for page in pages.values():
        page.register(app, watch)
    guard(app.server, token, _policy(app))
    return app


def _frame(store: str, pages: Iterable[str]) -> html.Div:
    links = [dcc.Link(name, href=path) for path, name in _NAMES.items() if path in pages]
    return html.Div(
        [
            dcc.Location(id="url"),
            dcc.Interval(id="clock", interval=1000 * REFRESH_SECONDS),
            dcc.Store(id="pulse"),
            dcc.Store(id="scheme"),
            html.Header(
                [
                    html.Span("Tunesmith", className="brand"),
                    html.Nav(links),
                    html.Span(parts.said(store, 80), className="store", title=store),
                ],
                className="top",
            ),
            html.P(id="failure", className="notice", hidden=True, role="alert"),
            html.Main(id="page"),
        ]
    )


def _register(app: Dash, watch: Watch, pages: Mapping[str, Any]) -> None:
    def open_page(path: str | None, search: str | None) -> Any:
        page = pages.get(path or "/")
        if page is None:
            return [html.H1("No such page"), html.P(dcc.Link("All runs", href="/"))]
        return page.layout(watch, parts.asked(search))

    app.callback(Output("page", "children"), Input("url", "pathname"), Input("url", "search"))(
        open_page
    )

    def beat(_: int | None, before: str | None) -> tuple[Any, bool]:
        known, now = watch.snapshot(), datetime.now(UTC)
        live = sum(run.is_live(now) for run in known.runs)
        pulse = f"{known.state} {live}"  # runs that fall silent store nothing
        return (no_update if pulse == before else pulse), True

    app.callback(
        Output("pulse", "data"),
        Output("failure", "hidden"),
        Input("clock", "n_intervals"),
        State("pulse", "data"),
    )(beat)

    app.clientside_callback(
        ClientsideFunction("tunesmith", "follow_scheme"),
        Output("scheme", "data"),
        Input("url", "pathname"),
        State("scheme", "data"),
    )


def _tell(error: Exception) -> None:
    """Show what went wrong on the page, which goes on trying."""
    set_props("failure", {"children": describe(error), "hidden": False})


def _policy(app: Dash) -> str:
    """Scripts of this server alone, and Dash's own lines of script in the page."""
    hashes = " ".join(app.csp_hashes())
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
