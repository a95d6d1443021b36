"""Our operators by OpenVINO: a model of each alone, the one that ONNX Runtime is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.bench.peers.numpy_operators import aligned, aligned_copy
from tunesmith.bench.peers.onnx_operators import onnx_model
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.operators import Operator


def openvino_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Fastest:
    """Calls on copies of these arrays in aligned memory, in which the float32 result lies, too.

    Every call writes and returns the same array. Raises ``UsageError`` like ``onnx_model``.
    """
    import openvino

    compiled, given = compiled_model(operator, inputs, cores)
    request = compiled.create_infer_request()
    # OpenVINO does not keep the memory of these alive: the calls do.
    arrays = {name: aligned_copy(array) for name, array in given.items()}
    arrays["output"] = aligned(operator.result.shape, operator.result.numpy_dtype)
    for name, array in arrays.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def infer() -> Any:
        request.infer()
        return arrays["output"]

    def start_and_wait() -> Any:
        request.start_async()
        request.wait()
        return arrays["output"]

    return Fastest({"infer": infer, "start and wait": start_and_wait})


def compiled_model(
    operator: Operator, inputs: Sequence[Any], cores: int
) -> tuple[Any, dict[str, Any]]:
    """The operator as a compiled model, and the inputs that it is given by name."""
    import openvino

    model, given = onnx_model(operator, inputs)
    core = openvino.Core()
    # One call at a time on so many threads, and no number rounded to fewer bits than float32.
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": cores,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    return core.compile_model(core.read_model(model=model), "CPU", settings), given
