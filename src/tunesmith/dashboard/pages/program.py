"""The program of the best config, which is built when someone wants to see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html, no_update

from tunesmith.dashboard import parts
from tunesmith.dashboard.programs import forms_of, text_of
from tunesmith.dashboard.runs import WatchedTask
from tunesmith.dashboard.text import clean
from tunesmith.dashboard.watch import Watch
from tunesmith.errors import TunesmithError
from tunesmith.reports import format as fmt

_NAMES: Final = {
    "tvmscript": "source (TVMScript)",
    "asm": "assembly of the hot loop",
    "llvm": "LLVM-IR",
    "cuda": "CUDA C++",
}
_MOST_CHARACTERS = 200_000

FindTask = Callable[[Watch, Mapping[str, str]], WatchedTask | None]


def section() -> html.Section:
    """The place of the program, which is filled once there is a record of one."""
    return parts.section(
        "program",
        "The best program",
        html.Div(id="program-choice"),
        dcc.Store(id="program-forms"),
        dcc.Loading(html.Div(id="program-text", className="program-box"), type="circle"),
    )


def choice(forms: Sequence[str]) -> list[Any]:
    """What chooses among the forms of a program; it says so if there is none."""
    if not forms:
        return [html.P("no record of a tensor program yet", className="summary")]
    return [
        html.P(
            "Building it takes seconds, and disturbs what this machine measures.",
            className="summary",
        ),
        html.Div(
            [
                dcc.RadioItems(
                    id="form",
                    options=[{"label": _NAMES[form], "value": form} for form in forms],
                    value=forms[0],
                    className="forms",
                ),
                html.Button("Show", id="show-program"),
            ],
            className="controls",
        ),
    ]


def register(app: Dash, watch: Watch, find: FindTask) -> None:
    def offer(_pulse: str, search: str | None, before: list[str] | None) -> tuple[Any, Any]:
        task = find(watch, parts.asked(search))
        best = None if task is None else watch.best(task)
        forms = [] if best is None else forms_of(best)
        # What the user has chosen stays until there are other forms to choose from.
        return (no_update, no_update) if forms == before else (choice(forms), forms)

    app.callback(
        Output("program-choice", "children"),
        Output("program-forms", "data"),
        Input("pulse", "data"),
        State("url", "search"),
        State("program-forms", "data"),
    )(offer)

    def show(clicks: int | None, form: str, search: str | None) -> Any:
        task = find(watch, parts.asked(search))
        best = None if task is None else watch.best(task)
        if not clicks or best is None:
            return []
        try:
            text = text_of(best, form)
        except TunesmithError as error:
            return html.P(clean(error, 400), className="notice")
        took = fmt.seconds(best.measurement.seconds)
        what = f"The program of the best config at this moment, {took} a call:"
        code = html.Pre(html.Code(text[:_MOST_CHARACTERS]), className="program", tabIndex=0)
        return [html.P(what, className="summary"), code]

    app.callback(
        Output("program-text", "children"),
        Input("show-program", "n_clicks"),
        State("form", "value"),
        State("url", "search"),
        prevent_initial_call=True,
    )(show)
