"""Shuffles name all threads of a warp."""

from __future__ import annotations

import re

import pytest

from tunesmith.cuda.lowering import cuda_source
from tunesmith.operators import Operator, layer_norm, softmax
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")


@pytest.mark.parametrize(
    "operator",
    [softmax(m=4, n=100), softmax(m=4, n=5000), layer_norm(m=8, n=768)],
    ids=lambda it: it.key,
)
def test_no_shuffle_asks_who_is_there(operator: Operator) -> None:
    sketch = sketch_for(operator, TARGET)
    program = sketch.program(operator, TARGET, sketch.default(operator, TARGET))
    source = cuda_source(program, TARGET.to_tvm())
    assert "__shfl_down_sync(mask" in source
    assert "__activemask()" not in source
    assert len(re.findall(r"mask_ptr\w*\[0\] = \(uint\)4294967295;", source)) >= 2
