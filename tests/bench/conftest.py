"""What tests of benchmarks share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _torch_as_it_was() -> Iterator[None]:
    """Peers set PyTorch up for a process of their own."""
    yield
    torch = sys.modules.get("torch")
    inductor: Any = sys.modules.get("torch._inductor.config")
    if torch is not None:
        torch.set_grad_enabled(True)
    if inductor is not None:
        inductor.freezing = False
