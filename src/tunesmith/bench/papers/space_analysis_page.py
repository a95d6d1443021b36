"""What ``tunesmith bench space-analysis`` adds to the page of the papers' experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.pages import markdown
from tunesmith.bench.papers.space_analysis import CHANCE, TOP
from tunesmith.bench.papers.space_analysis_figures import OUTCOMES, SPEEDS
from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt

_ABOUT = (
    "The first experiment of the NoSE paper: what a space is like whose configs are all measured. "
    "The paper measured ResNet-18's C12 on a GPU, in the space of an AutoTVM template: over 75 % "
    "of the configs were invalid, these took 30 % of the time, and the speeds of the valid ones "
    "fell off like an exponential distribution. What is recorded here is **another kind of "
    "space**: our sketches' constraints rule out beforehand most of what cannot work, and where it "
    "says so below only a part of a sketch's space was recorded, chosen by hand. How many configs "
    "are invalid can therefore not be compared with the paper's share. Speeds are shares of the "
    "best speed on record; a config that fails has none."
)


def section(data: dict[str, Any]) -> str:
    """The part of the page, of what ``analyse`` found of each space."""
    spaces = data["spaces"]
    lines = [
        *markdown.paragraph(_ABOUT),
        "",
        f"![Configs and time by class]({OUTCOMES})",
        "",
        *markdown.head("space", "class", "configs", "share", "time of trials", "share"),
        *[line for space in spaces for line in _outcome_lines(space)],
        "",
        f"![Distribution of speeds]({SPEEDS})",
        "",
        "How many configs have so much of the best speed:",
        "",
        *_within_table(spaces),
        "",
        *markdown.paragraph(
            "What is expected of a random search, which never draws a config twice: the best speed "
            "after so many trials, and the trials that it takes to so much of the best speed."
        ),
        "",
        *_random_table(spaces),
        "",
        *_to_share_table(spaces),
    ]
    for space in spaces:
        lines += ["", *_space_lines(space)]
    return "\n".join(lines)


def _outcome_lines(space: Mapping[str, Any]) -> list[str]:
    classes = space["outcomes"].items()
    return [
        markdown.row(
            space["name"],
            fmt.outcome_name(Outcome[name]),
            fmt.count(of["configs"]),
            fmt.share(of["configs"], space["configs"]),
            fmt.duration(of["seconds"]),
            fmt.share(of["seconds"], space["seconds"]),
        )
        for name, of in classes
    ]


def _within_table(spaces: list[Mapping[str, Any]]) -> list[str]:
    closes = [fmt.share(close, 1.0) for close, _ in spaces[0]["within"]]
    lines = markdown.head("space", *closes, "median")
    for space in spaces:
        cells = [f"{fmt.count(n)} ({_percent(n / space['configs'])})" for _, n in space["within"]]
        median = fmt.share(space["best_seconds"], space["median_seconds"])
        lines.append(markdown.row(space["name"], *cells, median))
    return lines


def _random_table(spaces: list[Mapping[str, Any]]) -> list[str]:
    longest = max((space["random"] for space in spaces), key=len)
    lines = markdown.head("space", *(fmt.counted(draws, "trial") for draws, _ in longest))
    for space in spaces:
        reached = [f"{100 * share:.1f} %" for _, share in space["random"]]
        lines.append(
            markdown.row(space["name"], *reached, *[fmt.NOTHING] * (len(longest) - len(reached)))
        )
    return lines


def _to_share_table(spaces: list[Mapping[str, Any]]) -> list[str]:
    closes = [f"to {fmt.share(close, 1.0)}" for close, _ in spaces[0]["to_share"]]
    lines = markdown.head("space", *closes)
    for space in spaces:
        trial = space["seconds"] / space["configs"]
        cells = [
            f"{fmt.number(draws)} trials, {fmt.duration(draws * trial)}"
            for _, draws in space["to_share"]
        ]
        lines.append(markdown.row(space["name"], *cells))
    return lines


def _space_lines(space: Mapping[str, Any]) -> list[str]:
    unit = fmt.SpeedUnit.suiting(space["flops"], [space["best_seconds"]])
    names = list(space["best"][0]["config"])
    best = space["best"]
    return [
        f"### {space['name']}",
        "",
        *markdown.paragraph(_what(space)),
        "",
        *_restrictions(space),
        f"The {TOP} best configs:",
        "",
        *markdown.head("", *map(str, range(1, len(best) + 1))),
        markdown.row("time of a call", *(fmt.seconds(each["seconds"]) for each in best)),
        markdown.row(unit.name, *(unit.amount(each["seconds"]) for each in best)),
        *(
            markdown.row(f"`{name}`", *(fmt.config_value(each["config"][name]) for each in best))
            for name in names
        ),
        "",
        *_telling_lines(space),
    ]


def _telling_lines(space: Mapping[str, Any]) -> list[str]:
    best = fmt.counted(space["best_count"], "config")
    chance = f"{CHANCE:g} standard errors above chance"
    if not space["telling"]:
        return markdown.paragraph(f"No value is among the best {best} more than {chance}.")
    text = (
        f"Of each choice the value that is most over-represented among the best {best}, with its "
        f"share there and among all, if that is more than {chance}; the most telling choices first."
    )
    return [
        *markdown.paragraph(text),
        "",
        *markdown.head("choice", "value", "among the best", "among all"),
        *(
            markdown.row(
                f"`{row['choice']}`",
                row["value"],
                fmt.share(row["of_best"], 1.0),
                fmt.share(row["of_all"], 1.0),
            )
            for row in space["telling"]
        ),
    ]


def _what(space: Mapping[str, Any]) -> str:
    """What was recorded, and where."""
    size, configs, sketch = space["size"], fmt.count(space["configs"]), space["sketch"]
    of = f" for `{space['task']}`" if space["task"] else ""
    of = f" of the sketch `{sketch['name']}` {sketch['version']}{of}" if sketch else of
    known = "too many to count" if size is None else fmt.count(size)
    extent = f"All {configs}" if size == space["configs"] else f"{configs} of {known}"
    part = "the space" if space["where"] == [] else "a part of the space"
    if space["where"] is None:
        part = "the space on record"
    where = f", measured on {space['machine']['cpu']}" if space["machine"] else ""
    each = fmt.seconds(space["seconds"] / space["configs"])
    spent = fmt.duration(space["seconds"])
    return f"{extent} configs of {part}{of}{where}. Their trials took {spent}, {each} each."


def _restrictions(space: Mapping[str, Any]) -> list[str]:
    """Which part of the sketch's space was recorded, where it is one."""
    where, whole = space["where"], space["whole_size"]
    if where is None:
        text = "It is not on record whether that is all of the sketch's space."
        return [*markdown.paragraph(text), ""] if space["sketch"] else []
    if not where:
        return []
    count = "too many configs to count" if whole is None else f"{fmt.count(whole)} configs"
    text = f"The sketch's space has {count}; this part is those of which all of this holds:"
    items = [line for each in where for line in markdown.item(f"`{each}`")]
    return [*markdown.paragraph(text), "", *items, ""]


def _percent(share: float) -> str:
    """Two digits of small shares, which these are."""
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
