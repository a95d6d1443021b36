"""What CUDA code declares."""

from __future__ import annotations

import re

_SIZES = {"float": 4, "double": 8, "signed char": 1, "int": 4, "half": 2, "nv_bfloat16": 2}


def declared_shared_bytes(source: str) -> int:
    """The bytes of all arrays that the code has in shared memory."""
    return sum(
        _SIZES[kind] * int(count)
        for kind, count in re.findall(
            r"__shared__ (?:alignas\(\d+\) )?((?:signed )?\w+) \w+\[(\d+)\]", source
        )
    )
