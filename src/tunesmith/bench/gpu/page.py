"""The figures of ``tunesmith bench gpu`` as a page for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tunesmith.bench.gpu.summary import GpuFigure, gpu_summary
from tunesmith.bench.pages import markdown
from tunesmith.bench.timing.rotation import DISTURBED
from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt

Row = Mapping[str, Any]

_MARK = "!"
_TYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_PREFIXES = ("resnet18.", "opevo.")
_TUNING = ("workload", "sketch", "trials", "valid", "all/s", "valid/s", "idle", "start", "took")
# As many failures of sketches are shown.
_MOST_FAILURES = 10


def gpu_page(figures: Mapping[str, Any]) -> str:
    """Markdown. ``figures`` are what the JSON file holds."""
    return "\n".join(
        [
            "# Operators on a GPU",
            "",
            "Written by `tunesmith bench gpu`; the same figures as data: `gpu.json`.",
            "",
            *_circumstances(figures),
            *_parts(figures["parts"]),
            *_summary(gpu_summary(figures)),
            *_speeds(figures),
            *_tuning(figures["rows"]),
            *_sketches(figures["sketches"]),
            *_recording(figures["recording"]),
        ]
    )


def _circumstances(figures: Mapping[str, Any]) -> list[str]:
    gpu = figures["gpu"]
    count = "" if gpu["count"] == 1 else f"{gpu['count']} × "
    return [
        f"- GPU: {count}{gpu['name']} ({gpu['arch']}), {gpu['multiprocessors']} multiprocessors, "
        f"{gpu['memory_gib']} GiB, L2 {gpu['l2_mib']} MiB",
        f"- driver {gpu['driver'] or 'unknown'}, for CUDA {gpu['cuda']}; nvcc {gpu['nvcc']}",
        *([f"- at the start: {_clocks(gpu['clocks'])}"] if gpu["clocks"] else []),
        *markdown.circumstances(
            {**figures, "versions": {**figures["versions"], **figures["libraries"]["versions"]}}
        ),
    ]


def _clocks(clocks: Mapping[str, int]) -> str:
    units = {"sm_mhz": "multiprocessors at {} MHz", "memory_mhz": "memory at {} MHz",
             "celsius": "{} °C"}  # fmt: skip
    return ", ".join(text.format(clocks[name]) for name, text in units.items() if name in clocks)


def _parts(parts: Mapping[str, Row]) -> list[str]:
    """How long each took, and which failed."""
    took = ", ".join(
        f"{name} {fmt.duration(part['seconds'])}"
        for name, part in parts.items()
        if part["seconds"] is not None
    )
    lines = [f"- time: {took}"] if took else []
    for name, part in parts.items():
        if part["failed"]:
            lines += markdown.item(f"**{name}: {part['failed']}**")
    return [*lines, ""]


def _summary(figures: Iterable[GpuFigure]) -> list[str]:
    lines = markdown.head("figure (ratios: geometric means)", "measured", "wanted", "reached")
    for figure in figures:
        measured = _with_unit(figure.value, figure.unit)
        if 0 < figure.have < figure.of:
            measured += f" ({figure.have} of {figure.of})"
        wanted = ""
        if figure.wanted is not None:
            more = " or less" if figure.most else " or more"
            wanted = _with_unit(figure.wanted, figure.unit) + more if figure.wanted else "none"
        reached = {True: "yes", False: "no", None: ""}[figure.reached]
        lines.append(markdown.row(figure.name, measured, wanted, reached))
    return ["## Figures", "", *lines, ""]


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return fmt.NOTHING
    if unit == "%":
        return fmt.percent(value, 0)
    return {"×": f"{value:.2f}", "/s": f"{value:.1f}"}.get(unit, f"{value:g}")


def _speeds(figures: Mapping[str, Any]) -> list[str]:
    rows, missing = figures["rows"], figures["libraries"]["missing"]
    lines = ["## Speeds", ""]
    lines += [*markdown.paragraph(f"**Not compared: {missing}.**"), ""] if missing else _how(rows)
    if not rows:
        return [*lines, "No workload was measured.", ""]
    lines += markdown.head("workload", "ours", "TFLOP/s", "library", "its way", "×", "95 %")
    lines += [_speed_line(row) for row in rows]
    return [*lines, "", *_missing(rows, told=missing)]


def _how(rows: Sequence[Row]) -> list[str]:
    rounds = {row["comparison"]["rounds"] for row in rows if "ratio" in row["comparison"]}
    if not rounds:
        return []
    text = (
        "How it was measured: each side has a process and a context of its own, and only one is at "
        f"work at a time. They take turns for {' or '.join(map(str, sorted(rounds)))} rounds; × is "
        "the library's time over ours in the same round, the median, so above 1 ours is faster. "
        "Times are the GPU's own, on both sides: the calls of a round are recorded in CUDA graphs, "
        "which run between two events, twice, the second of which counts. Caches are warm. The "
        "library is called through PyTorch, in the fastest of its ways (cuDNN: the best of all of "
        "its algorithms, on images as they are and with their channels last; cuBLAS: also "
        "cuBLASLt), without TF32. Weights of layers are constant: what ours makes of them once is "
        f"not counted. `{_MARK}`: a side was more than {DISTURBED} times slower or faster than by "
        "itself."
    )
    return [*markdown.paragraph(text), ""]


def _speed_line(row: Row) -> str:
    compared, tuned = row["comparison"], row["tuning"]
    if "ratio" not in compared:
        seconds, gflops = tuned.get("best_seconds"), tuned.get("gflops")
        speed = fmt.NOTHING if gflops is None else fmt.number(gflops / 1e3)
        return markdown.row(_short(row), fmt.seconds(seconds), speed, *[fmt.NOTHING] * 4)
    library = compared["library"]
    mark = f" {_MARK}" if compared["disturbed"] or library["disturbed"] else ""
    return markdown.row(
        _short(row) + mark,
        fmt.seconds(compared["seconds"]),
        fmt.number(compared["gflops"] / 1e3),
        library["name"],
        library["way"] or fmt.NOTHING,
        f"{compared['ratio']:.2f}",
        f"{compared['low']:.2f}–{compared['high']:.2f}",
    )


def _short(row: Row) -> str:
    name = str(row["workload"])
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name.replace("|", "/")


def _missing(rows: Sequence[Row], told: str | None) -> list[str]:
    """Which rows lack something, and why; what is ``told`` already is left out."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for part, words in (("tuning", "not tuned"), ("comparison", "not compared")):
            reason = row[part].get("missing")
            if reason and reason != told:
                reasons.setdefault((words, reason), []).append(_short(row))
    lines: list[str] = []
    for (words, reason), names in reasons.items():
        lines += markdown.item(f"{words}: {', '.join(names)}: {reason}")
    return [*lines, ""] if lines else []


def _tuning(rows: Sequence[Row]) -> list[str]:
    tuned = [row for row in rows if "sketch" in row["tuning"]]
    if not tuned:
        return []
    lines = markdown.head(*_TUNING)
    for row in tuned:
        found = row["tuning"]
        pace, trials = found["pace"], sum(found["outcomes"].values())
        lines.append(
            markdown.row(
                _short(row),
                found["sketch"].removeprefix("cuda_"),
                fmt.count(trials),
                fmt.share(found["outcomes"].get(Outcome.NO_ERROR.name, 0), trials),
                fmt.decimal(pace["trials_per_second"], 1),
                fmt.decimal(pace["valid_per_second"], 1),
                fmt.percent(pace["gpu_idle"], 0),
                fmt.NOTHING if pace["start_seconds"] is None else f"{pace['start_seconds']:.1f} s",
                f"{found['seconds']:.0f} s",
            )
        )
    failed = [markdown.item(f"{_short(row)}: {_failures(row)}") for row in tuned if _failures(row)]
    text = (
        "By `auto`, each for an equal share of the time. Trials are all that are in the store. How "
        "many end in a second (all/s), how many of them valid, and for which share of the time the "
        "GPU had nothing to run (idle), count from the end of this run's first trial (start). The "
        "configs are in `gpu.json`; failures are listed, but for configs that are refused."
    )
    told = [line for item in failed for line in item]
    return ["## Tuning", "", *lines, "", *markdown.paragraph(text), "", *told, *([""] * bool(told))]


def _failures(row: Row) -> str:
    """How many trials of tuning ended in which class, besides valid and refused ones."""
    return ", ".join(_others(row["tuning"]["outcomes"]))


def _others(outcomes: Mapping[str, int]) -> list[str]:
    fine = (Outcome.NO_ERROR.name, Outcome.INSTANTIATION_ERROR.name)
    return [
        f"{fmt.outcome_name(Outcome[name])} {count}"
        for name, count in outcomes.items()
        if name not in fine
    ]


def _sketches(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    columns = ("sketch", "types", "operators", "valid", "refused", "wrong", "other", "no time")
    lines = ["## Sketches", "", *markdown.head(*columns)]
    lines += [_sketch_line(row) for row in rows]
    text = (
        "Small operators, with the default and random configs of each sketch. Refused: what the "
        "sketch cannot make a program of (of random configs that is most); wrong: the result "
        "differs from the reference; other: another class of failure; no time: left out."
    )
    lines += ["", *markdown.paragraph(text), ""]
    failures = [(row["sketch"], failure) for row in rows for failure in row["failures"]]
    for sketch, failure in failures[:_MOST_FAILURES]:
        what = fmt.outcome_name(Outcome[failure["outcome"]])
        lines += markdown.item(f"{sketch}, {failure['operator']}: {what}: {failure['message']}")
    return [*lines, ""] if failures else lines


def _sketch_line(row: Row) -> str:
    counts = {Outcome[name]: count for name, count in row["outcomes"].items()}
    first = (Outcome.NO_ERROR, Outcome.INSTANTIATION_ERROR, Outcome.WRONG_ANSWER)
    others = _others({name: n for name, n in row["outcomes"].items() if Outcome[name] not in first})
    return markdown.row(
        row["sketch"].removeprefix("cuda_"),
        " ".join(_TYPES.get(dtype, dtype) for dtype in row["dtypes"]) or fmt.NOTHING,
        str(len(row["operators"])),
        *(str(counts.get(outcome, 0)) for outcome in first),
        ", ".join(others) or "0",
        str(row["unfinished"]),
    )


def _recording(recording: Row | None) -> list[str]:
    if recording is None:
        return []
    total = recording["configs"]
    shares = ", ".join(
        f"{fmt.outcome_name(Outcome[name])} {fmt.share(count, total)}"
        for name, count in recording["outcomes"].items()
    )
    text = (
        f"Of the {recording['space_size']:,} configs of `{recording['sketch']}` for "
        f"{recording['layer']} {fmt.counted(total, 'config')}, drawn uniformly, took "
        f"{fmt.duration(recording['seconds'])} of measuring: {shares}; the best takes "
        f"{fmt.seconds(recording['best_seconds'])}. They can be replayed: `{recording['file']}`."
    )
    return ["## A sample of a space", "", *markdown.paragraph(text), ""]
