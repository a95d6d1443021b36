"""The building blocks of figures: a plot in the page's style, its marks, its legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tunesmith.reports import format as fmt
from tunesmith.reports.model import BEST_NAME, RunReport, TrialPoint
from tunesmith.reports.palette import LIGHT, PEERS

Mark = Literal["dot", "ring", "cross", "line", "block"]

_SYMBOLS: Final = {"dot": "circle", "ring": "circle-open", "cross": "x-thin"}
_DEFAULT_DASH: Final = "8px,5px"
_PEER_DASHES: Final = ("2px,3px", "9px,3px,2px,3px", "14px,5px", "5px,2px")
_MANY: Final = 1000
_CLEAR: Final = "rgba(0,0,0,0)"


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: a mark with a colour of the palette and a dash, and its name."""

    name: str
    colour: str
    mark: Mark
    dash: str = ""


class Plot:
    """An empty Plotly figure, ``height`` CSS pixels high, and its legend.

    The page shows the legend, not Plotly: so it wraps with the page's text and takes no height from
    a narrow figure.
    """

    def __init__(self, height: int, x_title: str, y_title: str) -> None:
        import plotly.graph_objects as go

        self.legend: list[Key] = []
        self.height = height
        self.figure: Any = go.Figure(
            layout={
                "template": {},
                "height": height,
                "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
                "paper_bgcolor": _CLEAR,
                "plot_bgcolor": _CLEAR,
                "font": {"family": "system-ui, sans-serif", "size": 13, "color": LIGHT["ink"]},
                "hoverlabel": {
                    "bgcolor": LIGHT["card"],
                    "bordercolor": LIGHT["line"],
                    "font": {"color": LIGHT["ink"]},
                    "align": "left",
                },
                "modebar": {
                    "bgcolor": _CLEAR,
                    "color": LIGHT["muted"],
                    "activecolor": LIGHT["accent"],
                },
                "showlegend": False,
                "hovermode": "closest",
                "xaxis": {**_axis(x_title), "showgrid": False},
                "yaxis": _axis(y_title),
            }
        )

    def explain(self, name: str, colour: str, mark: Mark, dash: str = "") -> None:
        """Add a mark to the legend, once."""
        key = Key(name, colour, mark, dash)
        if key not in self.legend:
            self.legend.append(key)


class SpeedPlot(Plot):
    """A plot with speeds on one axis."""

    def __init__(self, report: RunReport, height: int, x_title: str, y_title: str) -> None:
        super().__init__(height, x_title, y_title)
        self.report = report
        self.unit = speed_unit(report)

    @property
    def top(self) -> float:
        """The highest speed in the report, 1 if there is none."""
        times = [time for _, time in self.report.results]
        times += [trial.seconds for trial in self.report.improvements if trial.seconds is not None]
        return max((speed for t in times if (speed := self.unit.value(t)) is not None), default=1.0)

    def add_trials(
        self,
        name: str,
        trials: Sequence[TrialPoint],
        at: Sequence[float],
        colour: str,
        mark: Mark = "dot",
    ) -> None:
        """A dot for each valid trial: its speed at its position on the x axis (``at``)."""
        if not trials:
            return
        self.explain(name, colour, mark)
        self.figure.add_scatter(
            mode="markers",
            x=list(at),
            y=[self.unit.value(trial.seconds) for trial in trials],
            marker={
                "size": _dot_size(trials),
                "symbol": _SYMBOLS[mark],
                "color": LIGHT[colour],
            },
            customdata=[
                [trial.index, fmt.seconds(trial.seconds), fmt.duration(trial.elapsed)]
                for trial in trials
            ],
            hovertemplate=f"trial %{{customdata[0]}}, {name}<br>%{{y:.4~g}} {self.unit.name}, "
            "%{customdata[1]} a call<br>after %{customdata[2]}<extra></extra>",
        )

    def add_invalid(self, height: float) -> None:
        """A cross for each invalid trial at its number, all at the same height."""
        invalid = [trial for trial in self.report.trials if trial.seconds is None]
        if not invalid:
            return
        self.explain("invalid", "invalid", "cross")
        line = {"width": 1.5, "color": LIGHT["invalid"]}
        self.figure.add_scatter(
            mode="markers",
            x=[trial.index for trial in invalid],
            y=[height] * len(invalid),
            marker={"size": _dot_size(invalid) + 1, "symbol": _SYMBOLS["cross"], "line": line},
            customdata=[
                [fmt.outcome_name(trial.outcome), trial.outcome.meaning] for trial in invalid
            ],
            hovertemplate="trial %{x}: %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )

    def add_best_line(self, at: Sequence[float], end: float) -> None:
        """The best speed so far: a step at each improvement (``at``), then level to ``end``."""
        if not at:
            return
        self.explain("best so far", "best", "line")
        speeds = [self.unit.value(trial.seconds) for trial in self.report.improvements]
        self.figure.add_scatter(
            mode="lines",
            x=[*at, max(end, at[-1])],
            y=[*speeds, speeds[-1]],
            line={"shape": "hv", "width": 2.5, "color": LIGHT["best"]},
            hoverinfo="skip",
        )

    def add_references(self, axis: Literal["x", "y"]) -> None:
        """A line at the speed of each reference program; ``axis`` is the one with speeds."""
        across = "y" if axis == "x" else "x"
        for name, time in self.report.results:
            if name == BEST_NAME:
                continue
            colour, dash = self._reference_style(name)
            self.explain(f"{name}, {self.unit.amount(time)} {self.unit.name}", colour, "line", dash)
            self.figure.add_shape(
                type="line",
                line={"color": LIGHT[colour], "width": 2, "dash": dash},
                **{f"{axis}0": self.unit.value(time), f"{axis}1": self.unit.value(time)},
                **{f"{across}0": 0, f"{across}1": 1, f"{across}ref": f"{across} domain"},
            )

    def _reference_style(self, name: str) -> tuple[str, str]:
        if name == self.report.default_name:
            return "default", _DEFAULT_DASH
        place = sorted(self.report.peers).index(name)
        return PEERS[place % len(PEERS)], _PEER_DASHES[place % len(_PEER_DASHES)]


def share_bar(parts: Sequence[tuple[str, str, float, str]]) -> Plot:
    """A bar of the whole width. A part has a name, its amount in words, its share of the whole from
    0 to 1, and a colour of the palette."""
    plot = Plot(110, "", "")
    for name, amount, share, colour in parts:
        part = fmt.share(share, 1.0)
        label = f"{name}: {amount}, {part}"
        plot.explain(label, colour, "block")
        plot.figure.add_bar(
            x=[share],
            y=[""],
            orientation="h",
            marker={"color": LIGHT[colour], "line": {"color": LIGHT["page"], "width": 1}},
            text=[f"<b>{name}</b><br>{part}"],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": LIGHT["on phase"]},
            hovertemplate=f"{label}<extra></extra>",
        )
    # A part that is too short for its label has none: the legend names it.
    plot.figure.update_layout(
        barmode="stack", bargap=0, uniformtext={"mode": "hide", "minsize": 11}, margin_l=0
    )
    plot.figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    plot.figure.update_yaxes(visible=False, fixedrange=True)
    return plot


def speed_unit(report: RunReport) -> fmt.SpeedUnit:
    """The unit of all speeds in a report's figures and tables."""
    return fmt.SpeedUnit.suiting(report.flops, [time for _, time in report.results])


def _dot_size(trials: Sequence[TrialPoint]) -> int:
    """The dot size in pixels, smaller if there are many."""
    return 6 if len(trials) <= _MANY else 4


def _axis(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 13, "color": LIGHT["muted"]}},
        "gridcolor": LIGHT["line"],
        "linecolor": LIGHT["line"],
        "zerolinecolor": LIGHT["line"],
        "ticks": "outside",
        "tickcolor": LIGHT["line"],
        "ticklen": 4,
        "separatethousands": True,
        "exponentformat": "none",
        "automargin": True,
    }
