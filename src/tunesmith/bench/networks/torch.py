"""Networks by PyTorch: eager, and by ``torch.compile``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.peers.torch_gpu import use_full_precision
from tunesmith.bench.peers.torch_operators import use_threads
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import MissingDependencyError

# No further way is compiled after so many seconds.
_PATIENCE = 120.0


def eager_call(model: ComparedModel, cores: int, device: str = "cpu") -> Fastest:
    """Calls of the module as it is, and with channels last where it has images.

    On a GPU (the ``device`` ``cuda``) a call waits for the result; TF32 is off.
    """
    use_threads(cores)
    return Fastest(
        {name: _call(module, inputs) for name, (module, inputs) in _layouts(model, device).items()}
    )


def compiled_call(model: ComparedModel, cores: int, device: str = "cpu") -> Fastest:
    """Calls of the module that TorchInductor compiled, its weights frozen; on a ``device`` as for
    ``eager_call``.

    Raises ``MissingDependencyError`` without a C++ compiler, and what PyTorch raises.
    """
    import shutil

    import torch
    import torch._inductor.config as inductor

    if not any(map(shutil.which, ("g++", "clang++"))):
        raise MissingDependencyError("torch.compile needs a C++ compiler: install g++")
    use_threads(cores)
    inductor.compile_threads = 1  # without helpers, which would outlive the compilation
    inductor.freezing = True
    start = time.monotonic()
    ways: dict[str, Callable[[], Any]] = {}
    for name, (module, inputs) in _layouts(model, device).items():
        if ways and time.monotonic() - start > _PATIENCE:
            break
        call = _call(torch.compile(module, dynamic=False), inputs)
        if not ways:
            call()
            ways[name] = call
            continue
        with contextlib.suppress(Exception):  # the first one is enough
            call()
            ways[name] = call
    return Fastest(ways)


def _layouts(model: ComparedModel, device: str) -> dict[str, tuple[Any, list[Any]]]:
    """The module and its inputs, with data in a plain layout, and with channels last."""
    import torch

    if device == "cuda":
        use_full_precision()
    last = torch.channels_last
    inputs = [torch.from_numpy(array).to(device) for array in model.arrays().values()]
    layouts = {"plain": (model.torch_module(device), inputs)}
    if any(tensor.dim() == 4 for tensor in inputs):
        turned = [it.to(memory_format=last) if it.dim() == 4 else it for it in inputs]
        layouts["channels last"] = (model.torch_module(device).to(memory_format=last), turned)
    return layouts


def _call(module: Any, inputs: list[Any]) -> Callable[[], Any]:
    import torch

    on_gpu = any(tensor.is_cuda for tensor in inputs)

    def call() -> Any:
        with torch.inference_mode():
            result = module(*inputs)
        if on_gpu:
            torch.cuda.synchronize()
        return result

    return call
