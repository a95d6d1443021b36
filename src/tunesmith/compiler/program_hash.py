"""What says that two programs are the same."""

from __future__ import annotations

from typing import Any


def program_hash(program: Any) -> str:
    """TVM's structural hash of a module or function: 16 hex digits, the same in every process."""
    import tvm_ffi

    return f"{tvm_ffi.structural_hash(program) & 0xFFFFFFFFFFFFFFFF:016x}"
