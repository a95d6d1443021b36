"""Networks by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.peers.onnx_operators import own_value


def onnxruntime_call(model: ComparedModel, cores: int) -> Callable[[], Any]:
    """A call on inputs and outputs in ONNX Runtime's own memory. Raises what it raises."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors alone
    session = onnxruntime.InferenceSession(
        str(model.onnx), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for place, array in zip(session.get_inputs(), model.arrays().values(), strict=True):
        binding.bind_ortvalue_input(place.name, own_value(array))
    for place in session.get_outputs():
        binding.bind_output(place.name)
    return lambda: session.run_with_iobinding(binding)
