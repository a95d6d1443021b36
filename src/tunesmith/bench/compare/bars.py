"""The figures of a comparison that have a bar for each tuner, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tunesmith.bench.compare.plot import block, block_mark, legend, linear, spot
from tunesmith.bench.compare.summary import Cell, Standing, Summary
from tunesmith.bench.pages import svg
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES
from tunesmith.reports import format as fmt
from tunesmith.reports.palette import LIGHT

_LEFT, _RIGHT = 170.0, svg.WIDTH - 30.0
_ROW = 26.0
_WORST_SCORE = -1.0

_PHASE_NAMES = {
    "search": "thinking",
    "build": "building",
    "run": "running",
    "record": "keeping records",
    "idle": "idle",
}
_CLASS_COLOURS = {
    Outcome.NO_ERROR: LIGHT["best"],
    Outcome.INSTANTIATION_ERROR: "#9aa5ae",
    Outcome.COMPILE_HOST: "#f0e442",
    Outcome.COMPILE_DEVICE: "#e69f00",
    Outcome.RUNTIME_DEVICE: "#d55e00",
    Outcome.WRONG_ANSWER: "#cc79a7",
    Outcome.BUILD_TIMEOUT: "#7a6500",
    Outcome.RUN_TIMEOUT: "#8f4f7d",
    Outcome.UNKNOWN_ERROR: "#17212b",
}

Shares = Mapping[str, float]


def score_figure(summary: Summary) -> str | None:
    """The mean score of each tuner as a bar, those of the problems as dots; None without any."""
    scored = [each for each in summary.standings if any(c.scores for c in each.cells)]
    if not scored:
        return None
    found = [c.scores.paper.mean for each in scored for c in each.cells if c.scores]
    axis = linear(max(_WORST_SCORE, min(0.0, *found)), 1.0, lambda score: f"{score:.1f}", count=6)
    top = 56.0
    bottom = top + _ROW * len(scored)
    title = "score (paper): 0 is random search, 1 the optimum; a dot a problem, a line ± 1 std"
    drawn = [svg.text((16, 18), title, bold=True)]
    for tick in axis.ticks:
        x = _LEFT + axis.share(tick) * (_RIGHT - _LEFT)
        colour = LIGHT["ink"] if abs(tick) < 1e-9 else LIGHT["line"]
        drawn.append(svg.line((x, top - 10), (x, bottom + 4), colour))
        beyond = tick == axis.low == _WORST_SCORE
        words = f"≤ {axis.words(tick)}" if beyond else axis.words(tick)
        drawn.append(svg.text((x, bottom + 20), words, anchor="middle"))
    for number, standing in enumerate(scored):
        y = top + _ROW * (number + 0.5)
        drawn += _score_row(standing, y, lambda s: _LEFT + axis.share(s) * (_RIGHT - _LEFT))
    return svg.picture(bottom + 34, drawn)


def _score_row(standing: Standing, y: float, place: Callable[[float], float]) -> list[str]:
    drawn = [svg.text((_LEFT - 10, y + 4), standing.tuner.label, anchor="end")]
    scores = standing.scores
    if scores is not None:
        mean, std = scores.paper.mean, scores.paper.std
        start, end = sorted((place(0.0), place(mean)))
        colour = LIGHT["best"] if mean >= 0 else LIGHT["default"]
        drawn.append(svg.bar((start, y - 7), (max(end, start + 0.5), y + 7), colour))
        low, high = place(mean - std), place(mean + std)
        drawn.append(svg.line((low, y), (high, y), LIGHT["ink"], 1.6))
    places = [place(cell.scores.paper.mean) for cell in standing.cells if cell.scores]
    return drawn + [spot((x, y), LIGHT["ink"]) for x in places]


def time_split_figure(summary: Summary) -> str:
    """What the time of tuning went to, in the mean over problems (NoSE, figure 6)."""
    names = {_PHASE_NAMES[phase]: LIGHT[phase] for phase in PHASES}
    rows = {each.tuner.label: _mean_shares(each, _time_shares) for each in summary.standings}
    return stacked("what the time went to", names, rows)


def outcomes_figure(summary: Summary) -> str:
    """Trials of each class, in the mean over problems (NoSE, figure 7A)."""
    rows = {each.tuner.label: _mean_shares(each, _count_shares) for each in summary.standings}
    return stacked("trials by outcome", classes(rows.values()), rows)


def outcome_times_figure(summary: Summary) -> str:
    """The time that trials of each class cost, in the mean over problems (NoSE, figure 7B)."""
    rows = {each.tuner.label: _mean_shares(each, _cost_shares) for each in summary.standings}
    return stacked("time of building and running by outcome", classes(rows.values()), rows)


def stacked(title: str, colours: Mapping[str, str], rows: Mapping[str, Shares]) -> str:
    """A picture of a bar a row, its shares side by side in the order and the ``colours`` given."""
    left = max(_LEFT, 26 + 6.8 * max(map(len, rows), default=0))
    drawn = [svg.text((16, 18), title, bold=True)]
    keys, top = legend(40.0, {name: block_mark(colour) for name, colour in colours.items()})
    drawn += keys
    for number, (label, shares) in enumerate(rows.items()):
        y = top + _ROW * (number + 0.5)
        drawn.append(svg.text((left - 10, y + 4), label, anchor="end"))
        drawn += _bar_of(shares, colours, left, y)
    bottom = top + _ROW * len(rows)
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + tick * (_RIGHT - left)
        drawn.append(svg.text((x, bottom + 16), f"{tick:.0%}", anchor="middle"))
    return svg.picture(bottom + 30, drawn)


def _bar_of(shares: Shares, colours: Mapping[str, str], left: float, y: float) -> list[str]:
    drawn, at = [], 0.0
    for name, colour in colours.items():
        share = shares.get(name, 0.0)
        if share > 0:
            start, end = (left + s * (_RIGHT - left) for s in (at, at + share))
            drawn.append(block((start, y - 9), (end, y + 9), colour))
        at += share
    return drawn


def classes(rows: Iterable[Shares]) -> dict[str, str]:
    """The classes that occur, with their colours."""
    there = {name for shares in rows for name in shares}
    named = {fmt.outcome_name(outcome): colour for outcome, colour in _CLASS_COLOURS.items()}
    return {name: colour for name, colour in named.items() if name in there}


def _mean_shares(standing: Standing, of_cell: Callable[[Cell], Shares]) -> Shares:
    """The mean over those problems that have any."""
    found = [shares for cell in standing.cells if (shares := of_cell(cell))]
    names = dict.fromkeys(name for shares in found for name in shares)
    return {name: sum(s.get(name, 0.0) for s in found) / len(found) for name in names}


def _time_shares(cell: Cell) -> Shares:
    return shares_of({_PHASE_NAMES[phase]: spent for phase, spent in cell.time.items()})


def _count_shares(cell: Cell) -> Shares:
    return shares_of({fmt.outcome_name(o): float(n) for o, n in cell.outcomes.items()})


def _cost_shares(cell: Cell) -> Shares:
    return shares_of({fmt.outcome_name(o): spent for o, spent in cell.costs.items()})


def shares_of(amounts: Mapping[str, float]) -> Shares:
    """Amounts as shares of their sum; none where that is 0."""
    total = sum(amounts.values())
    return {name: amount / total for name, amount in amounts.items()} if total > 0 else {}
