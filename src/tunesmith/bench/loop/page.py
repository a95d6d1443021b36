"""The figures of ``tunesmith bench loop`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.reports import format as fmt

# A side that is slower than alone by more than this factor was disturbed.
_DISTURBED = 1.3


def loop_page(figures: Mapping[str, Any], machine: Mapping[str, Any], date: str) -> str:
    """Markdown. ``figures`` are those of ``measure_loop``."""
    random, tuned, store = figures["random"], figures["tuned"], figures["store"]
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    lines = [
        "# The tuning loop",
        "",
        "Written by `tunesmith bench loop`; the same figures as data: `loop.json`.",
        "",
        f"- machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB",
        f"- versions: {versions}",
        f"- date: {date}",
        f"- layer: {figures['layer']}, float32, batch 1",
        "",
        "| figure | measured | wanted |",
        "|---|---|---|",
        _row(
            f"valid trials a second, random tuner, {random['trials']} trials, start-up included",
            f"{random['valid_trials_per_second']:.1f}",
            "6 or more",
        ),
        _row(
            f"of these measured; {random['repeated']} made a program that had been measured",
            f"{random['measured_per_second']:.1f}",
            "",
        ),
        _row("search and record", f"{random['overhead_share']:.2%} of the time", "under 5 %"),
        _row("memory of the tuning process", f"{random['memory_mib']:.0f} MiB", "under 1.5 GB"),
        _row(
            "its growth from trial 100 to the last",
            f"{random['memory_growth_mib']:.1f} MiB",
            "none",
        ),
        _row("processes left behind", str(random["processes_left"]), "none"),
        *_tuned_rows(tuned),
        _row(
            f"best of a task among {store['records']:,.0f} records",
            f"{store['best_milliseconds']:.1f} ms",
            "under 10 ms",
        ),
        _row(
            "records stored a second, in batches",
            f"{store['records_per_second']:,.0f}",
            "2,000 or more",
        ),
        "",
        "Where the time of the random run went: " + _split(random["time"]) + ".",
        "",
    ]
    if "torch" in tuned:
        lines += _pairing(tuned["torch"])
    lines += ["The config found:", "", "```json", _config(tuned["best"]["config"]), "```", ""]
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _tuned_rows(tuned: Mapping[str, Any]) -> list[str]:
    seconds = f"{tuned['time']['total']:.0f} s of the genetic tuner"
    best = tuned["best"]
    rows = [
        _row(
            f"best kernel after {seconds} ({tuned['trials']} trials)",
            f"{fmt.seconds(best['seconds'])}, {best['gflops']:.0f} GFLOP/s",
            "",
        ),
        _row("the same against the default schedule", f"{tuned['gain']:.1f}×", ""),
    ]
    if "torch" in tuned:
        torch = tuned["torch"]
        interval = f"{torch['low']:.2f}–{torch['high']:.2f}"
        measured = f"{torch['ratio']:.2f}× (95 % interval {interval})"
        rows.append(_row("the same against PyTorch's conv2d (oneDNN)", measured, "2× or more"))
    return rows


def _pairing(torch: Mapping[str, Any]) -> list[str]:
    return [
        f"The comparison with PyTorch: {torch['pairs']} pairs of rounds in separate processes, "
        f"median {fmt.seconds(torch['first'])} against {fmt.seconds(torch['second'])} a call; "
        f"each alone: {fmt.seconds(torch['first_alone'])} and "
        f"{fmt.seconds(torch['second_alone'])}." + _doubts(torch),
        "",
    ]


def _doubts(torch: Mapping[str, Any]) -> str:
    """What to think of a comparison in which a side lost its solo speed."""
    slowed = max(torch[side] / torch[f"{side}_alone"] for side in ("first", "second"))
    if slowed <= _DISTURBED:
        return ""
    return f" A side was {slowed:.1f} times slower than alone: the machine was busy; measure again."


def _split(time: Mapping[str, float]) -> str:
    total = time["total"]
    return ", ".join(f"{name} {time[name] / total:.0%}" for name in time if name != "total")


def _config(config: Mapping[str, Any]) -> str:
    import json

    return json.dumps(config)
