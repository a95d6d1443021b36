"""Our operators by ``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.bench.torch_operators import product_call, use_threads
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.operators import Operator, ProductOperator


def compiled_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call of the operator that TorchInductor compiled; it is compiled at the first one.

    Constant weights, and bias with them, are frozen into the program. Raises ``UsageError`` for an
    operator that is not of products, ``MissingDependencyError`` without a C++ compiler.
    """
    import shutil

    import torch
    import torch._inductor.config as inductor

    if not isinstance(operator, ProductOperator):
        raise UsageError(f"torch.compile is not compared for {operator.name}")
    if not any(map(shutil.which, ("g++", "clang++"))):
        raise MissingDependencyError("torch.compile needs a C++ compiler: install g++")
    use_threads(cores)
    inductor.compile_threads = 1  # without helpers, which would outlive the compilation
    inductor.freezing = operator.constant_weights
    data, *others = map(torch.from_numpy, inputs)
    layer = operator

    class Layer(torch.nn.Module):  # type: ignore[misc] # which PyTorch does not declare
        """Its parameters are what freezing makes constants of."""

        def __init__(self) -> None:
            super().__init__()
            self.others = torch.nn.ParameterList(
                torch.nn.Parameter(other, requires_grad=False) for other in others
            )

        def forward(self, value: Any) -> Any:
            return product_call(layer, [value, *self.others])()

    compiled = torch.compile(Layer().eval(), fullgraph=True, dynamic=False)
    return lambda: compiled(data)
