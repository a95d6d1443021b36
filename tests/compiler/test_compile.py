"""Programs written loop by loop are compiled with fewer passes, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.compiler.compile import compiled
from tunesmith.operators import Operator, conv2d, depthwise_conv2d, matmul
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

TARGET = Target()
IMAGE: dict[str, Any] = {"ci": 16, "h": 9, "w": 11, "kernel": 3, "padding": 1}
LOOPS = {
    "cpu_direct": conv2d(**IMAGE, co=24),
    "cpu_winograd": conv2d(**IMAGE, co=24, bias=True, relu=True),
    "cpu_im2col": conv2d(**IMAGE, co=24),
    "cpu_gemm": matmul(m=17, n=33, k=29),
    "cpu_depthwise": depthwise_conv2d(c=16, h=9, w=11, kernel=3, padding=1),
}
WHAT_LLVM_DOES_AGAIN = "tirx.CommonSubexprElim"


def _passes(build: Any) -> list[str]:
    """The names of TVM's passes while something is built."""
    import tvm
    from tvm.ir.instrument import pass_instrument

    seen: list[str] = []

    @pass_instrument
    class Names:
        def run_before_pass(self, _module: Any, info: Any) -> None:
            seen.append(str(info.name))

    with tvm.transform.PassContext(instruments=[Names()]):
        build()
    return seen


def _run(executable: Any, operator: Operator) -> Any:
    import tvm

    inputs = operator.make_inputs(seed=0)
    output = tvm.runtime.empty(operator.result.shape, operator.result.dtype)
    executable["main"](*map(tvm.runtime.tensor, inputs), output)
    return output.numpy()


def _default(name: str, operator: Operator) -> Any:
    sketch = sketch_for(operator, TARGET, name)
    return sketch.program(operator, TARGET, sketch.default(operator, TARGET))


@pytest.mark.parametrize("name", LOOPS)
def test_loops_need_few_passes_and_compute_the_same(name: str) -> None:
    import tvm

    operator, target = LOOPS[name], TARGET.to_tvm()
    program = _default(name, operator)
    outputs: list[Any] = []
    passes = _passes(lambda: outputs.append(_run(compiled(program, target), operator)))
    all_passes = _passes(
        lambda: outputs.append(_run(tvm.compile(program, target=target), operator))
    )
    assert WHAT_LLVM_DOES_AGAIN in all_passes
    assert WHAT_LLVM_DOES_AGAIN not in passes
    assert len(passes) < len(all_passes) / 2
    relative, absolute = operator.tolerance
    np.testing.assert_allclose(outputs[0], outputs[1], relative, absolute)
    np.testing.assert_allclose(
        outputs[0], operator.reference(*operator.make_inputs(seed=0)), relative, absolute
    )


def test_blocks_are_lowered() -> None:
    operator = matmul(m=8, n=16, k=12)
    program = _default("cpu_tiled", operator)
    passes = _passes(lambda: compiled(program, TARGET.to_tvm()))
    assert "s_tir.LowerOpaqueBlock" in passes
    output = _run(compiled(program, TARGET.to_tvm()), operator)
    relative, absolute = operator.tolerance
    expected = operator.reference(*operator.make_inputs(seed=0))
    np.testing.assert_allclose(output, expected, relative, absolute)
