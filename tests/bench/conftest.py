"""What tests of benchmarks share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _torch_as_it_was() -> Iterator[None]:
    """Peers set PyTorch up for a process of their own."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_grad_enabled(True)
