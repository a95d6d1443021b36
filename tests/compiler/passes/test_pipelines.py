"""Which passes lower which programs."""

from __future__ import annotations

import pytest

from tunesmith.compiler.passes.pipelines import lowering_for, pipeline_name, pipeline_of
from tunesmith.operators import matmul
from tunesmith.sketches import sketches
from tunesmith.target import Target

GPU = Target("cuda", arch="sm_90")


def passes_of(sketch: str, target: Target, dtype: str = "float32") -> list[str]:
    """The names of those that finish the functions of a GPU."""
    operator = matmul(m=64, n=64, k=64, dtype=dtype)
    chosen = sketches()[sketch]
    program = chosen.program(operator, target, chosen.default(operator, target))
    _, _, finish_device = pipeline_of(program, target.to_tvm())
    return [str(each.info.name) for each in finish_device().passes]


@pytest.mark.parametrize(
    ("sketch", "dtype"), [("cuda_tiled", "float32"), ("cuda_tensor_gemm", "float16")]
)
def test_gpus_have_passes_of_ours(sketch: str, dtype: str) -> None:
    names = passes_of(sketch, GPU, dtype)
    assert names[:2] == ["UnconditionalLoads", "WholeWarps"]
    assert len(names) == 3


def test_processors_have_those_of_tvm() -> None:
    names = passes_of("cpu_tiled", Target())
    assert names
    assert not {"UnconditionalLoads", "WholeWarps"} & {*names}


def test_a_name_is_the_same_passes_for_tvm() -> None:
    from tvm.tirx.compilation_pipeline import get_tir_pipeline

    operator = matmul(m=64, n=64, k=64)
    tiled = sketches()["cuda_tiled"]
    program = tiled.program(operator, GPU, tiled.default(operator, GPU))
    _, _, finish_device = get_tir_pipeline(pipeline_name(program, GPU.to_tvm()))
    names = [str(each.info.name) for each in finish_device().passes]
    assert names == passes_of("cuda_tiled", GPU)


def test_only_gpus_copy_asynchronously() -> None:
    from tvm.ir.transform import PassContext

    for target, expected in ((GPU, True), (Target(), None)):
        with lowering_for(target.to_tvm()):
            assert PassContext.current().config.get("tirx.use_async_copy") == expected
