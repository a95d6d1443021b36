"""Imports TVM, all of it or its runtime, without PyTorch.

TVM imports PyTorch if it is installed. With it, importing and forking take three times as long, a
process takes 200 MB more, and few need it. A module that is imported already stays. Later imports
of PyTorch are none of TVM's business: it takes its tensors by DLPack.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tunesmith.compiler import llvm


def load_compiler() -> None:
    """Import all of TVM."""
    with _without_torch():
        import tvm  # noqa: F401


def load_runtime() -> None:
    """Load what compiled programs need, which takes a tenth of the time and memory."""
    with _without_torch():
        import tvm_ffi  # noqa: F401
    llvm.load_runtime()


@contextmanager
def _without_torch() -> Iterator[None]:
    """Let imports of PyTorch fail, unless it is imported already."""
    collecting = gc.isenabled()
    gc.disable()  # importing modules creates no garbage
    hidden = "torch" not in sys.modules
    if hidden:
        sys.modules["torch"] = None  # type: ignore[assignment] # makes its import fail
    try:
        yield
    finally:
        if hidden:
            del sys.modules["torch"]
        if collecting:
            gc.enable()
