"""Our operators by OpenVINO: a model of each alone, the one that ONNX Runtime is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.bench.fastest import Fastest
from tunesmith.bench.numpy_operators import aligned, aligned_copy
from tunesmith.bench.onnx_operators import onnx_model
from tunesmith.operators import Operator


def openvino_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Fastest:
    """Calls on copies of these float32 arrays in aligned memory, in which the result lies, too.

    Every call writes and returns the same array. Raises ``UsageError`` like ``onnx_model``.
    """
    import openvino

    model, given = onnx_model(operator, inputs)
    compiled = openvino.Core().compile_model(
        openvino.Core().read_model(model=model), "CPU", _settings(cores)
    )
    request = compiled.create_infer_request()
    for name, array in given.items():
        request.set_tensor(name, openvino.Tensor(aligned_copy(array), shared_memory=True))
    result = aligned(operator.result.shape, inputs[0].dtype)
    request.set_tensor("output", openvino.Tensor(result, shared_memory=True))

    def infer() -> Any:
        request.infer()
        return result

    def start_and_wait() -> Any:
        request.start_async()
        request.wait()
        return result

    return Fastest({"infer": infer, "start and wait": start_and_wait})


def primitives(operator: Operator, inputs: Sequence[Any], cores: int) -> list[str]:
    """What OpenVINO says it computes with, such as ``brgconv_avx2_f32``, a name a step."""
    import openvino

    model, _ = onnx_model(operator, inputs)
    compiled = openvino.Core().compile_model(
        openvino.Core().read_model(model=model), "CPU", _settings(cores)
    )
    steps = compiled.get_runtime_model().get_ordered_ops()
    names = [str(step.get_rt_info()["primitiveType"].astype(str)) for step in steps]
    return [name for name in names if not name.startswith("unknown")]


def _settings(cores: int) -> dict[str, Any]:
    """One call at a time on so many threads, and no number rounded to fewer bits than float32."""
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": cores,
        "INFERENCE_PRECISION_HINT": "f32",
    }
