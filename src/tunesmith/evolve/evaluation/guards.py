"""Arrays with guard zones: what writes outside of them is caught."""

from __future__ import annotations

import ctypes
import mmap
from typing import Literal

import numpy as np
import numpy.typing as npt

_LINE = 64
# As a number of any kind of float it is NaN: what is read beside an array spoils the result.
_PATTERN = 0xFF
_libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory for an array of so many bytes, aligned to a cache line.

    No page before and after it can be touched: that ends the process. Between these pages and the
    array lies a pattern, which ``intact`` looks for.
    """

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        padded = -(-max(size, 1) // _LINE) * _LINE
        inner = -(-padded // page) * page
        self._map = mmap.mmap(-1, inner + 2 * page)
        whole = np.frombuffer(self._map, np.uint8)
        start = page + inner - padded
        self.bytes = whole[start : start + size]
        self._zones = (whole[page:start], whole[start + size : page + inner])
        for zone in self._zones:
            zone[:] = _PATTERN
        address = whole.ctypes.data
        for forbidden in (address, address + page + inner):
            if _libc.mprotect(ctypes.c_void_p(forbidden), page, 0):  # PROT_NONE
                raise OSError(ctypes.get_errno(), "cannot protect a page of memory")

    @property
    def intact(self) -> bool:
        """Whether nothing was written beside the array."""
        return all(bool((zone == _PATTERN).all()) for zone in self._zones)

    def view(self, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """An array of this memory, with all that another one of its size has."""
        order: Literal["C", "F"] = "F" if array.flags.fnc else "C"
        found = self.bytes.view(array.dtype).reshape(array.shape, order=order)
        found[...] = array
        return found
