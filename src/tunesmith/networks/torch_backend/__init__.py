"""``torch.compile(model, backend="tunesmith")``: what TorchDynamo captures runs on our kernels.

PyTorch finds ``backend`` by the entry point in ``pyproject.toml``.
"""

from tunesmith.networks.torch_backend.backend import backend

__all__ = ["backend"]
