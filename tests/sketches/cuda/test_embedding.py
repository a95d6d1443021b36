"""Look-ups on GPUs."""

from __future__ import annotations

import numpy as np

from tests.emulated import needs_compiler
from tunesmith.operators import embedding
from tunesmith.sketches.cuda.embedding import CudaEmbedding
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda
from tunesmith.testing.sketch import SketchConformance

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaEmbedding()


@needs_compiler
class TestCudaEmbedding(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = (
        embedding(n=6, rows=10, width=48),
        embedding(n=1, rows=1, width=1, dtype="int8"),
        embedding(n=33, rows=7, width=38, dtype="bfloat16", index_dtype="int32"),
        embedding(n=5, rows=100, width=257, dtype="float64"),
    )


@needs_compiler
def test_indices_outside_of_the_table_read_its_first_or_last_row() -> None:
    operator = embedding(n=4, rows=5, width=8)
    _, table = operator.make_inputs(0)
    indices = np.array([-(1 << 62), -1, 5, 1 << 62])
    program = SKETCH.program(operator, TARGET, SKETCH.default(operator, TARGET))
    found = run_cuda(program, TARGET, [indices, table, np.zeros((4, 8), np.float32)])
    np.testing.assert_array_equal(found, table[[0, 0, 4, 4]])
