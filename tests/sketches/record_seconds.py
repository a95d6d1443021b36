"""Records how long random configs take on this machine, for the tests of the analytic model.

    TVM_NUM_THREADS=1 python -m tests.sketches.record_seconds FOLDER CONFIGS SKETCH TASK...

where a task is the name of a layer (``resnet18.C8``) or an operator such as ``matmul:m=96,n=64``.
Writes one JSON file a task. Each figure is the least of many calls on one core, in the processor's
time: what else the machine does matters little then.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.errors import TunesmithError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Operator, operator, workload
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

# Calls of a config: for so many seconds, but at least and at most so often.
_SECONDS, _LEAST, _MOST = 0.08, 5, 300


def record(task: str, sketch_name: str, count: int) -> dict[str, Any]:
    """JSON-ready: the operator, the sketch, its target, and ``rows`` of config and seconds."""
    wanted, target = _operator(task), Target(cores=1)
    sketch = sketch_for(wanted, target, sketch_name)
    space = sketch.space(wanted, target)
    configs = space.sample_many(count, np.random.default_rng(0))
    inputs = wanted.make_inputs(0)
    rows = []
    for config in [sketch.default(wanted, target), *configs]:
        try:
            program = sketch.program(wanted, target, config)
            kernel = Kernel.build(wanted, target, program, config)
        except TunesmithError:
            continue
        rows.append([config.to_json(), _least_seconds(wanted, kernel, inputs)])
    return {
        **wanted.to_json(),
        "sketch": sketch.name,
        "version": sketch.version,
        "mcpu": target.processor,
        "cores": target.core_count,
        "rows": rows,
    }


def _least_seconds(wanted: Operator, kernel: Kernel, inputs: list[Any]) -> float:
    if getattr(wanted, "constant_weights", False):
        prepared = kernel.prepare(inputs[1])
        call = prepared.bind(inputs[0], *inputs[2:])
    else:
        call = kernel.bind(*inputs)
    best, started, calls = float("inf"), time.perf_counter(), 0
    while calls < _LEAST or (calls < _MOST and time.perf_counter() - started < _SECONDS):
        begun = time.process_time()
        call()
        best = min(best, time.process_time() - begun)
        calls += 1
    return float(f"{best:.4g}")


def _operator(text: str) -> Operator:
    if ":" not in text:
        return workload(text)
    name, _, options = text.partition(":")
    pairs = (option.split("=") for option in options.split(",") if option)
    return operator(name, **{key: json.loads(value) for key, value in pairs})


def _file_name(task: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in task)


def main(folder: str, count: str, sketch: str, *tasks: str) -> None:
    """Record each task."""
    for task in tasks:
        recorded = record(task, sketch, int(count))
        path = Path(folder) / f"{recorded['sketch']}-{_file_name(task)}.json"
        rows = ",\n".join(json.dumps(row) for row in recorded.pop("rows"))
        head = json.dumps(recorded)[:-1]
        path.write_text(f'{head}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        print(path, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
