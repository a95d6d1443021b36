"""The figures of ``tunesmith bench operators`` as a page for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tunesmith.bench.operators.shapes import SHAPES
from tunesmith.bench.operators.summary import (
    Figure,
    behind,
    is_disturbed,
    lag_of_mkl,
    summary,
    unheld,
)
from tunesmith.bench.operators.workloads import FUSED, Suite
from tunesmith.bench.pages import markdown
from tunesmith.bench.pages.provenance import span
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.bench.timing.rotation import DISTURBED, ROTATIONS
from tunesmith.reports import format as fmt

Row = Mapping[str, Any]
# Titles that fit the head of a narrow column.
_HEADS = {
    "pytorch": "PyTorch",
    "onednn": "oneDNN",
    "onednn-blocked": "blocked",
    "torch-compile": "compile",
    "onnxruntime": "ORT",
    "openvino": "OV",
    "numpy": "NumPy",
}
_RIVAL = ("its rounds", "its trials", "its trials/s", "ours/s", "×")
_MARK = "!"
# So many rounds, or more, has a comparison whose figures count.
_ENOUGH_PAIRS = 25
# By how much the best other library is ahead of MKL where the page says so.
_FAR = 1.3


def operators_page(
    figures: Mapping[str, Any],
    charts: Sequence[str] = (),
    *,
    name: str = "operators",
    starts: bool = False,
) -> str:
    """Markdown. ``figures`` are what the JSON file holds, ``charts`` the names of its pictures.

    ``name`` is that of the files, without its end; ``starts`` says that the page of ``tunesmith
    bench starts`` lies beside it.
    """
    rows: list[Row] = figures["rows"]
    suite = Suite(figures.get("suite", Suite.LAYERS.value))
    lines = [
        f"# {_TITLES[suite]}",
        "",
        f"Written by `tunesmith bench operators`; the same figures as data: `{name}.json`.",
        "",
        *markdown.circumstances(figures),
        *([f"- compiled for {figures['compiled_for']}"] if "compiled_for" in figures else []),
        "- float32, layers of batch 1; every side has as many threads as the machine has cores",
        *_how(rows),
        *_summary(suite, summary(rows, suite)),
        *_behind(rows, suite),
        *_unheld(rows),
        *_lag(rows),
    ]
    for chart, title in zip(charts, _CHARTS, strict=False):
        lines += [f"![{title}]({chart})", ""]
    if starts:
        lines += ["What the first trials find without the model: [starts](starts.md).", ""]
    plain = [row for row in rows if not row["workload"].endswith(FUSED)]
    fused = [row for row in rows if row["workload"].endswith(FUSED)]
    if plain:
        lines += ["## Plain operators", "", *_speeds(plain)]
    if fused:
        lines += ["## With bias and ReLU", "", *_speeds(fused)]
    lines += _metaschedule(rows)
    lines += ["## What tuning found", "", *_tuning(rows, name)]
    lines += ["## The peers", "", *_peers(rows), *_missing(rows)]
    return "\n".join(lines)


_TITLES = {
    Suite.LAYERS: "Operators against other libraries",
    Suite.SHAPES: "Shapes of other kinds against other libraries",
}
_CHARTS = (
    "How many times as fast as each peer, by workload",
    "Best so far as a share of the final speed, over trials",
)


def _how(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [""]
    settings = [row["origin"]["settings"] for row in rows]
    pairs, turn, seconds = (
        span(factor * each[name] for each in settings)
        for name, factor in (("pairs", 1), ("turn_seconds", 1000), ("seconds", 1))
    )
    text = (
        "How it was measured: every side has a process of its own; all but one are stopped. In "
        f"each of {pairs} rounds every side runs once, for {turn} ms; a ratio is the peer's time "
        "over ours in the same round, so above 1 ours is faster. Tables show the median of the "
        "ratios, for the best peer its 95 % interval too; the best peer is the one with the least "
        "ratio, in bold. Before and after, each side ran alone: where one differs from that by "
        f"more than a factor of {DISTURBED}, it was disturbed, and all was done again, up to "
        f"{ROTATIONS} times; where that did not help the row is marked with `{_MARK}`. GFLOP/s "
        "count the operations of the plain sums; an algorithm that needs fewer, Winograd's, can "
        "exceed what the cores can do."
    )
    return [
        f"- tuning by the last run of a workload: {seconds} s, as it was asked for",
        "",
        *markdown.paragraph(text),
        "",
        *_few([each["pairs"] for each in settings]),
    ]


def _few(pairs: Sequence[int]) -> list[str]:
    """Says so where rounds were too few for figures that are to be relied on."""
    few = sum(number < _ENOUGH_PAIRS for number in pairs)
    if not few:
        return []
    text = (
        f"**These figures are a trial only: {few} of {fmt.counted(len(pairs), 'row')} had fewer "
        f"than {_ENOUGH_PAIRS} rounds.**"
    )
    return [*markdown.paragraph(text), ""]


def _summary(suite: Suite, figures: Iterable[Figure]) -> list[str]:
    means = "figure (geometric means)"
    first = means if suite is Suite.LAYERS else "ratio to the best peer"
    columns = (first, "measured", "wanted", "reached", "undisturbed rows")
    lines = markdown.head(*columns)
    for figure in figures:
        measured = "–" if figure.value is None else f"{figure.value:.2f}"
        if 0 < figure.have < figure.of:
            measured += f" ({figure.have} of {figure.of})"
        wanted = "" if figure.wanted is None else f"{figure.wanted:g} or more"
        told = figure.wanted is not None and figure.have == figure.of
        reached = ("yes" if figure.reached else "no") if told else ""
        calm = figure.undisturbed
        undisturbed = "" if calm is None or not figure.have else f"{calm} of {figure.have}"
        lines.append(markdown.row(figure.name, measured, wanted, reached, undisturbed))
    return ["## Figures", "", *lines, ""]


def _behind(rows: Sequence[Row], suite: Suite) -> list[str]:
    """Which shapes a peer computes faster."""
    if suite is not Suite.SHAPES or not rows:
        return []
    slower = [row["workload"] for row in behind(rows)]
    names = f": {', '.join(slower)}" if slower else ""
    compared = sum(row["best_peer"] is not None for row in rows)
    return [*markdown.paragraph(f"Under 1.0 are {len(slower)} of {compared} rows{names}."), ""]


def _unheld(rows: Sequence[Row]) -> list[str]:
    """Says to what peers were held, and how often the best one was not."""
    levels = sorted({row["held_to"] for row in rows if row.get("held_to")})
    if not levels:
        return []
    names = unheld(rows)
    text = (
        f"This machine has more than {' and '.join(levels)}: other libraries were held to that, by "
        "their own switches or by hiding newer instructions from their processes."
    )
    if names:
        told = ", ".join(f"{library_peers()[name].title} {count}" for name, count in names.items())
        text += (
            f" In {sum(names.values())} of {fmt.counted(len(rows), 'row')} the best peer could not "
            f"be held; it is stronger there than on a machine of that kind ({told})."
        )
    return [*markdown.paragraph(text), ""]


def _lag(rows: Sequence[Row]) -> list[str]:
    """Says so where MKL is not what a matmul has to be compared with."""
    lag = lag_of_mkl(rows)
    if lag is None or lag.factor <= _FAR:
        return []
    titles = [library_peers()[name].title for name in lag.libraries.values()]
    text = (
        f"PyTorch (MKL) is far behind on this machine: on {', '.join(lag.libraries)} the best "
        f"other library ({', '.join(dict.fromkeys(titles))}) is {lag.factor:.2f} times as fast. "
        "What counts there is the ratio to the best peer."
    )
    return [*markdown.paragraph(text), ""]


def _speeds(rows: Sequence[Row]) -> list[str]:
    lines = markdown.head("workload", "GFLOP/s", "× best", "95 %", *_HEADS.values())
    for row in rows:
        name = _short_name(row) + (f" {_MARK}" if is_disturbed(row) else "")
        best, interval = "–", ""
        if row["best_peer"] is not None:
            found = row["peers"][row["best_peer"]]
            best = f"{found['ratio']:.2f}"
            interval = f"{found['low']:.2f}–{found['high']:.2f}"
        cells = [_ratio(row, peer) for peer in _HEADS]
        lines.append(markdown.row(name, f"{row['gflops']:.0f}", best, interval, *cells))
    return [*lines, ""]


def _short_name(row: Row) -> str:
    """Without what all names of a table share."""
    name: str = row["workload"]
    return name.removesuffix(FUSED).removeprefix(SHAPES)


def _ratio(row: Row, peer: str) -> str:
    found = row["peers"].get(peer)
    if found is None:
        return "–"
    text = _short(found["ratio"])
    return f"**{text}**" if peer == row["best_peer"] else text


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _metaschedule(rows: Sequence[Row]) -> list[str]:
    compared = [row for row in rows if "metaschedule" in row]
    if not compared:
        return []
    lines = [
        "## TVM's MetaSchedule",
        "",
        "Tuned for as long as ours, then compared in pairs. The round that is under way when the",
        "time is up is finished and counted. Importing what its workers need is not counted as its",
        "time; it may lay out constant weights beforehand, as ours does.",
        "",
        *markdown.head("workload", "× its kernel", "95 %", *_RIVAL),
    ]
    for row in compared:
        found = row["metaschedule"]
        if "ratio" not in found:
            empty = [""] * (1 + len(_RIVAL))
            lines.append(markdown.row(row["workload"], found["missing"][:60], *empty))
            continue
        ours, theirs = found["our_trials_per_second"], found["trials_per_second"]
        cells = [
            f"{found['ratio']:.2f}",
            f"{found['low']:.2f}–{found['high']:.2f}",
            str(found.get("rounds", "–")),
            f"{found['trials']}",
            f"{theirs:.2f}",
            f"{ours:.1f}",
            f"{ours / theirs:.0f}" if theirs else "–",
        ]
        lines.append(markdown.row(row["workload"], *cells))
    return [*lines, ""]


def _tuning(rows: Sequence[Row], name: str) -> list[str]:
    lines = markdown.head("workload", "sketch", "trials", "valid", "tuned for", "first 20")
    for row in rows:
        share = row.get("start_share")
        cells = [
            row["sketch"],
            fmt.count(row["trials"]),
            fmt.share(row["valid"], row["trials"]),
            fmt.duration(row["tuning_seconds"]),
            "–" if share is None else fmt.share(share, 1.0),
        ]
        lines.append(markdown.row(row["workload"], *cells))
    return [
        *lines,
        "",
        "First 20: the best speed of the first 20 trials, as a share of the best of all. The",
        f"configs are in `{name}.json`.",
        "",
    ]


def _peers(rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    for peer in library_peers().values():
        title = "" if _HEADS[peer.name] == peer.title else f"{peer.title}; "
        ways = _ways(rows, peer.name) + _held(rows, peer.name)
        lines += markdown.item(f"{_HEADS[peer.name]}: {title}{peer.how}{ways}")
    return [*lines, ""]


def _ways(rows: Sequence[Row], peer: str) -> str:
    """Of a peer's several ways, how often each was the fastest."""
    found = Counter(way for row in rows if (way := row["peers"].get(peer, {}).get("way")))
    if not found:
        return ""
    return "; fastest: " + ", ".join(f"{way} ({count})" for way, count in found.most_common())


def _held(rows: Sequence[Row], peer: str) -> str:
    """How a peer was held to our instruction set, and in how many rows."""
    found = [row["peers"].get(peer, {}).get("held") for row in rows]
    known = Counter(held["how"] for held in found if held)
    return "".join(f"; {how} ({fmt.counted(count, 'row')})" for how, count in known.items())


def _missing(rows: Sequence[Row]) -> list[str]:
    """Which peers some rows lack, and why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer, reason in row["missing"].items():
            reasons.setdefault((peer, reason), []).append(row["workload"])
    if not reasons:
        return []
    lines = ["Not compared:", ""]
    for (peer, reason), names in reasons.items():
        many = len(names) > 4
        where = fmt.counted(len(names), "workload") if many else ", ".join(names)
        lines += markdown.item(f"{library_peers()[peer].title}: {reason} ({where})")
    return [*lines, ""]
