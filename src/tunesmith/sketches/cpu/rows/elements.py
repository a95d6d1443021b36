"""Loads and stores that convert between the type of a tensor and that of its sums."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import element_bits
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.vectors import bits_of, from_bfloat16, to_bfloat16


class Elements:
    """A buffer as one row, read and written in the type that is computed in."""

    def __init__(self, buffer: Any, total: str) -> None:
        self._total = total
        self._dtype = str(buffer.dtype)
        self._flat = bits_of(emit.flat(buffer))

    def load(self, at: Any, lanes: int) -> Any:
        """So many elements from a place on."""
        value = emit.load(self._flat, [at], lanes)
        if self._dtype == "bfloat16":
            return from_bfloat16(value, lanes)
        if self._dtype == self._total:
            return value
        return value.astype(emit.vector_type(self._total, lanes))

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return element_bits(self._dtype) // 8

    def prefetch(self, at: Any, *, write: bool = False) -> None:
        """Prefetch the cache line of an element, which may be outside of the buffer."""
        emit.prefetch(self._flat, [at], near=False, write=write)

    def store(self, value: Any, at: Any, lanes: int) -> None:
        """The inverse, rounded."""
        if self._dtype == "bfloat16":
            value = to_bfloat16(emit.bind("rounded", value), lanes)
        elif self._dtype != self._total:
            value = value.astype(emit.vector_type(self._dtype, lanes))
        emit.store(self._flat, value, [at], lanes)
