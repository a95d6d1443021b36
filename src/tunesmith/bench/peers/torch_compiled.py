"""Our operators by ``torch.compile``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tunesmith.bench.peers.torch_operators import own_tensor, tensor_call, use_threads
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import MissingDependencyError
from tunesmith.operators import Operator, ProductOperator

# No further mode is compiled after so many seconds.
_PATIENCE = 60.0
# Besides the default one. Of C++ templates there may be none for an operator, which is an error
# then; libraries are what the default takes, so they are left out: we time both ourselves, while
# nothing else runs, which Inductor could not.
_MODES: Mapping[str, Mapping[str, Any]] = {
    "max-autotune": {"max_autotune": True, "max_autotune_gemm_backends": "CPP"},
    "C++ wrapper": {"cpp_wrapper": True},
}


def compiled_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Fastest:
    """Calls of the operator that TorchInductor compiled, by the name of the mode.

    Constant weights, and bias with them, are frozen into the program. Raises
    ``MissingDependencyError`` without a C++ compiler.
    """
    import shutil

    import torch._inductor.config as inductor

    if not any(map(shutil.which, ("g++", "clang++"))):
        raise MissingDependencyError("torch.compile needs a C++ compiler: install g++")
    use_threads(cores)
    inductor.compile_threads = 1  # without helpers, which would outlive the compilation
    inductor.freezing = isinstance(operator, ProductOperator) and operator.constant_weights
    tensors = [own_tensor(array) for array in inputs]
    start = time.monotonic()
    ways = {"default": _compiled(operator, tensors, {})}
    for mode, options in _MODES.items():
        if time.monotonic() - start > _PATIENCE:
            break
        with contextlib.suppress(Exception):  # the default one is enough
            ways[mode] = _compiled(operator, tensors, options)
    return Fastest(ways)


def _compiled(
    operator: Operator, tensors: Sequence[Any], options: Mapping[str, Any]
) -> Callable[[], Any]:
    """A call in a mode, which has been made once. Raises whatever TorchInductor does."""
    import torch

    data, *others = tensors

    class Layer(torch.nn.Module):  # type: ignore[misc] # which PyTorch does not declare
        """Its parameters are what freezing makes constants of."""

        def __init__(self) -> None:
            super().__init__()
            self.others = torch.nn.ParameterList(
                torch.nn.Parameter(other, requires_grad=False) for other in others
            )

        def forward(self, value: Any) -> Any:
            return tensor_call(operator, [value, *self.others])()

    compiled = torch.compile(Layer().eval(), fullgraph=True, dynamic=False, options=dict(options))
    call = partial(compiled, data)
    call()
    return call
