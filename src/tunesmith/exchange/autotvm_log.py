"""Logs of AutoTVM, which TVM had up to v0.19, as records of what was tried there.

A log has a JSON object a line: the task's name and arguments, the config, and the result. Tasks
become those of our operators, configs keep their names, and sizes that are not written (-1) are
computed where the axis is known. Their programs are TVM's, not those of our sketches: so a record's
sketch is the task's name, such as ``autotvm:conv2d_nchw.cuda``, and its machine the log's target.
They are for comparison, and as data; a run begins with none of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunesmith.errors import StoreError, TunesmithError, UsageError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import Operator
from tunesmith.operators import operator as operator_by_name
from tunesmith.space import Config
from tunesmith.store import Record, Session
from tunesmith.target import Target
from tunesmith.task import Task

_LOGGER = logging.getLogger("tunesmith")

# What its entities are called, by kind: splits, annotations, reorderings and other values.
_KINDS = {"sp", "an", "re", "ot"}

# What tasks, targets and configs raise that nobody here knows.
_ODD = (
    TunesmithError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ZeroDivisionError,
)

Arguments = Sequence[Any]


def is_log(path: Path) -> bool:
    """Whether a file's first line is one of such a log. Raises ``OSError``."""
    with path.open("rb") as file:
        first = file.readline(1 << 20)
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.keys() >= {"input", "config", "result"}


def read(path: Path) -> Iterator[Record]:
    """The records of a log. What is not known here is left out, which a warning says.

    A log is known by its first line: one that has grown has the same sessions as before.

    Raises ``OSError``, and ``StoreError`` for a line that is none of such a log.
    """
    lines = path.read_bytes().splitlines()
    digest = hashlib.sha256(lines[0] if lines else b"").hexdigest()[:16]
    sessions: dict[tuple[str, str], Session] = {}
    left_out: Counter[str] = Counter()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            words, name, arguments = entry["input"][:3]
            costs, error, seconds, ended = entry["result"]
            entities = entry["config"]["entity"]
            created = datetime.fromtimestamp(ended, UTC)
            outcome = Outcome(error)
            times = tuple(map(float, costs)) if outcome is Outcome.NO_ERROR else ()
            lasted = float(seconds)
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            OverflowError,
            RecursionError,
        ) as fault:
            raise StoreError(f"line {number} of {path} is none of an AutoTVM log") from fault
        try:
            task = Task(_operator(name, arguments), _target(words))
            config = _config(entities, task.operator)
        except _ODD as fault:
            left_out[str(fault) if isinstance(fault, UsageError) else f"task {name}"] += 1
            continue
        known = sessions.get((words, task.key))
        if known is None:
            versions = {"apache-tvm": str(entry["tvm_version"])} if "tvm_version" in entry else {}
            known = replace(_session(task, words, name, created), versions=versions)
            uid = hashlib.sha256(f"{digest} {task.key} {words}".encode()).hexdigest()[:32]
            known = sessions[words, task.key] = replace(known, uid=uid)
        measurement = Measurement(config, outcome, times, run_time=lasted)
        yield Record(known, measurement, created)
    for why, count in left_out.most_common():
        _LOGGER.warning("tunesmith: %s: %d trials are left out: %s", path, count, why)


def _session(task: Task, words: str, name: str, started: datetime) -> Session:
    """That of a task in a log, for a target in TVM's words; it has neither uid nor versions yet."""
    of_target = hashlib.sha256(words.encode()).hexdigest()[:16]
    device = {"device": words} if task.target.kind == "cuda" else {}
    return Session(
        uid="",
        task_key=task.key,
        description={"operator": task.operator.to_json(), "target": task.target.to_json()},
        sketch=f"autotvm:{name}",
        sketch_version=0,
        target=task.target.to_json(),
        machine={"fingerprint": of_target, "cpu": words, **device},
        versions={},
        tuner="autotvm-log",
        tuner_settings={},
        seed=0,
        budget={},
        started=started,
        stopped="imported",
    )


# -- tasks -----------------------------------------------------------------------------------------


def _target(words: str) -> Target:
    """That of TVM's text, such as ``llvm -keys=cpu -mcpu=skylake-avx512``."""
    kind, *rest = words.split()
    options = dict(option.lstrip("-").split("=", 1) for option in rest if "=" in option)
    if kind == "cuda":
        return Target("cuda", arch=options.get("arch"))
    if kind == "llvm" and "x86_64" in options.get("mtriple", "x86_64"):
        return Target("cpu", mcpu=options.get("mcpu"))
    raise UsageError(f"target {kind} is not known here")


def _operator(name: str, arguments: Arguments) -> Operator:
    """That of a task by its name and arguments. Raises ``UsageError`` for one that is not known."""
    base = name.partition(".")[0]
    for start, make in _TASKS.items():
        if base == start:
            return make(arguments)
    raise UsageError(f"task {name} is not known here")


def _shape(tensor: Sequence[Any]) -> tuple[list[int], str]:
    """The shape and the type of a tensor, as logs have it: ["TENSOR", [1, 64], "float32"]."""
    kind, shape, dtype = tensor
    if kind != "TENSOR":
        raise UsageError("a tensor is expected")
    return [int(each) for each in shape], str(dtype)


def _window(arguments: Arguments, kernel: Sequence[int]) -> dict[str, Any]:
    """What convolutions have in common: strides, padding, dilation."""
    strides, padding, dilation = arguments[2:5]
    top, left, *rest = padding if isinstance(padding, list) else [padding] * 2
    if rest and rest != [top, left]:
        raise UsageError("a convolution with uneven padding is not known here")
    pair = tuple(strides) if isinstance(strides, list) else (strides, strides)
    apart = tuple(dilation) if isinstance(dilation, list) else (dilation, dilation)
    return {"kernel": tuple(kernel), "stride": pair, "padding": (top, left), "dilation": apart}


def _conv2d(arguments: Arguments) -> Operator:
    (n, ci, h, w), dtype = _shape(arguments[0])
    (co, inner, *kernel), _ = _shape(arguments[1])
    sizes = {"n": n, "ci": ci, "h": h, "w": w, "co": co, "groups": ci // inner}
    return operator_by_name("conv2d", **sizes, **_window(arguments, kernel), dtype=dtype)


def _conv2d_nhwc(arguments: Arguments) -> Operator:
    (n, h, w, ci), dtype = _shape(arguments[0])
    (*kernel, inner, co), _ = _shape(arguments[1])
    sizes = {"n": n, "ci": ci, "h": h, "w": w, "co": co, "groups": ci // inner}
    options = {**_window(arguments, kernel), "layout": "NHWC", "dtype": dtype}
    return operator_by_name("conv2d", **sizes, **options)


def _depthwise(arguments: Arguments) -> Operator:
    (n, c, h, w), dtype = _shape(arguments[0])
    (_, multiplier, *kernel), _ = _shape(arguments[1])
    sizes = {"n": n, "c": c, "h": h, "w": w, "multiplier": multiplier}
    return operator_by_name("depthwise_conv2d", **sizes, **_window(arguments, kernel), dtype=dtype)


def _dense(arguments: Arguments) -> Operator:
    (m, k), dtype = _shape(arguments[0])
    (n, _), _ = _shape(arguments[1])
    return operator_by_name("dense", m=m, k=k, n=n, dtype=dtype)


def _batch_matmul(arguments: Arguments) -> Operator:
    """Which of a pair are transposed is said last; by default the second is, as in TVM."""
    flags = [each for each in arguments[2:] if isinstance(each, bool)] or [False, True]
    known: dict[tuple[bool, ...], str] = {
        (False, False): "NN",
        (False, True): "NT",
        (True, False): "TN",
    }
    which = known.get(tuple(flags))
    if which is None:
        raise UsageError("a product of a batch with both sides transposed is not known here")
    (b, *left), dtype = _shape(arguments[0])
    (_, *right), _ = _shape(arguments[1])
    m, k = left[::-1] if flags[0] else left
    n = right[0] if flags[1] else right[1]
    return operator_by_name("batch_matmul", b=b, m=m, k=k, n=n, transpose=which, dtype=dtype)


_TASKS: Mapping[str, Callable[[Arguments], Operator]] = {
    "conv2d_nchw": _conv2d,
    "conv2d_NCHWc": _conv2d,
    "conv2d_nchw_spatial_pack": _conv2d,
    "conv2d_nchw_winograd": _conv2d,
    "conv2d_nhwc": _conv2d_nhwc,
    "conv2d_nhwc_spatial_pack": _conv2d_nhwc,
    "conv2d_nhwc_winograd_direct": _conv2d_nhwc,
    "group_conv2d_nchw": _conv2d,
    "depthwise_conv2d_nchw": _depthwise,
    "depthwise_conv2d_NCHWc": _depthwise,
    "dense_pack": _dense,
    "dense_nopack": _dense,
    "dense_small_batch": _dense,
    "dense_large_batch": _dense,
    "batch_matmul": _batch_matmul,
}


# -- configs ---------------------------------------------------------------------------------------


def _config(entities: Sequence[Sequence[Any]], operator: Operator) -> Config:
    """A config of entities such as ["tile_x", "sp", [-1, 2, 14, 1]]."""
    values: dict[str, Any] = {}
    for name, kind, value in entities:
        if kind not in _KINDS:
            raise UsageError(f"a config with entities of kind {kind} is not known here")
        values[name] = _split(name, value, operator) if kind == "sp" else value
    return Config(values)


def _split(name: str, sizes: Sequence[int], operator: Operator) -> tuple[int, ...]:
    """The sizes of a split, whose first one may be left to compute."""
    if list(sizes).count(-1) != 1:
        return tuple(sizes)
    length = _axes(operator).get(name.removeprefix("tile_"))
    rest = math.prod(size for size in sizes if size != -1)
    if length is None or length % rest:
        return tuple(sizes)
    return tuple(length // rest if size == -1 else size for size in sizes)


def _axes(operator: Operator) -> Mapping[str, int]:
    """The lengths of the axes that templates split, by the names that these have there."""
    options = operator.to_json()["options"]
    found = {name: value for name, value in options.items() if isinstance(value, int)}
    if operator.name == "conv2d":
        height, width = getattr(operator, "output_image", (0, 0))
        kernel = getattr(operator, "kernel", (0, 0))
        found |= {"f": found["co"], "oc": found["co"], "ic": found["ci"], "rc": found["ci"]}
        found |= {"y": height, "oh": height, "x": width, "ow": width}
        found |= {"ry": kernel[0], "rx": kernel[1]}
    return found
