"""A kernel called as its users call it: one way of ``tunesmith bench calls``, in its process."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

Call = Callable[[], object]

# Calls of each of two threads between two looks at the clock.
_TOGETHER = 500


def calling_side(described: Mapping[str, Any]) -> tuple[Call, int]:
    """A call in the way that is described, and for how many calls of the kernel it stands."""
    from tunesmith.bench.peers.numpy_operators import aligned_copy
    from tunesmith.kernel.kernel import Kernel
    from tunesmith.operators import operator_from_json
    from tunesmith.sketches import sketch_for
    from tunesmith.sketches.tir.weights import WEIGHT
    from tunesmith.target import Target

    way, target = described["way"], Target()
    operator: Any = operator_from_json(described["operator"])
    if way.startswith("prepared"):
        operator = dataclasses.replace(operator, constant_weights=True)
    sketch = sketch_for(operator, target)
    config = sketch.default(operator, target)
    kernel: Any = Kernel.build(operator, target, sketch.program(operator, target, config), config)
    offset = 4 if way == "unaligned" else 0
    inputs = [aligned_copy(array, offset) for array in operator.make_inputs(seed=0)]
    result = aligned_copy(operator.reference(*inputs))
    if way == "loaded":
        with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as folder:
            library, *_ = kernel.save(Path(folder) / "kernel.so")
            kernel = Kernel.load(library)
    if way.startswith("prepared"):
        kernel = kernel.prepare(inputs.pop(WEIGHT))
    if "torch" in way:
        import torch

        inputs = list(map(torch.from_numpy, inputs))
        result = torch.from_numpy(result)
    call = kernel.bind(*inputs) if way.endswith("bound") else partial(kernel, *inputs)
    if way.endswith("out"):
        call = partial(kernel, *inputs, out=result)
    return (_by_two_threads(call), 2 * _TOGETHER) if way.startswith("threads") else (call, 1)


def _by_two_threads(call: Call) -> Call:
    from tunesmith.kernel.calling import use_threads
    from tunesmith.target import Target

    pool = ThreadPoolExecutor(2, initializer=partial(use_threads, Target().core_count))

    def many() -> None:
        for _ in range(_TOGETHER):
            call()

    def both() -> None:
        for done in [pool.submit(many) for _ in range(2)]:
            done.result()

    return both
