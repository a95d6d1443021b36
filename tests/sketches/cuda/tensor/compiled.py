"""What nvcc makes of the programs of a sketch."""

from __future__ import annotations

import numpy as np

from tunesmith.cuda.compiler import Resources, compile_cuda
from tunesmith.cuda.lowering import cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target


def resources(sketch: Sketch, operator: Operator, arch: str) -> list[Resources]:
    """What the default takes, and the first of some random configs that is not refused."""
    target = Target("cuda", arch=arch)
    found: list[Resources] = []
    random = sketch.space(operator, target).sample_many(9, np.random.default_rng(1))
    for config in [sketch.default(operator, target), *random]:
        try:
            program = sketch.program(operator, target, config)
        except InstantiationError:
            continue
        found += compile_cuda(cuda_source(program, target.to_tvm()), arch).resources.values()
        if len(found) == 2:
            break
    return found
