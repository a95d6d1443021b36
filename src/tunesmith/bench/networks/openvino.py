"""Networks by OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.peers.numpy_operators import aligned_copy
from tunesmith.bench.timing.fastest import Fastest


def openvino_call(model: ComparedModel, cores: int) -> Fastest:
    """Calls of the network read from ONNX, and converted from PyTorch's module, as far as there
    are such. Raises what OpenVINO raises if there is neither."""
    import openvino

    sources: dict[str, Callable[[], Any]] = {}
    if model.onnx is not None:
        sources["ONNX"] = lambda: openvino.Core().read_model(model.onnx)
    if model.is_torch:
        sources["PyTorch"] = lambda: _of_torch(model)
    return Fastest({name: _Call(source, model, cores) for name, source in sources.items()})


def _of_torch(model: ComparedModel) -> Any:
    import openvino
    import torch

    tensors = tuple(torch.from_numpy(array) for array in model.arrays().values())
    shapes = [list(tensor.shape) for tensor in tensors]
    return openvino.convert_model(model.torch_module(), example_input=tensors, input=shapes)


class _Call:
    """A call of a model, which is compiled in the first one."""

    def __init__(self, source: Callable[[], Any], model: ComparedModel, cores: int) -> None:
        self._source = source
        self._model = model
        self._cores = cores
        self._request: Any = None

    def __call__(self) -> None:
        if self._request is None:
            self._request = self._compiled().create_infer_request()
            for index, array in enumerate(self._arrays):
                self._request.set_input_tensor(index, self._tensor(array))
        self._request.infer()

    def _compiled(self) -> Any:
        import openvino

        model = self._source()
        # OpenVINO does not keep the memory of these alive.
        self._arrays = [aligned_copy(array) for array in self._model.arrays().values()]
        model.reshape({index: array.shape for index, array in enumerate(self._arrays)})
        # One call at a time on so many threads, and no number rounded to fewer bits than float32.
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": self._cores,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        return openvino.Core().compile_model(model, "CPU", settings)

    def _tensor(self, array: Any) -> Any:
        import openvino

        return openvino.Tensor(array, shared_memory=True)
