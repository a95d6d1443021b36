"""Bank conflicts of a warp in shared memory, and the lines that it reads of the L1 cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tunesmith.sketches.cuda.limits import WARP

_BANKS = 32
_LINE = 128


@lru_cache(maxsize=4096)
def wavefronts(words: Sequence[int], width: int) -> int:
    """In how many wavefronts a warp reads shared memory: one, unless there are bank conflicts.

    ``words`` is where each thread's ``width`` words begin, in words of four bytes. There are 32
    banks, a word each; threads that read the same word share it. Of wider reads, only as many
    threads read together as there are banks for (CUDA programming guide, "Shared Memory").
    """
    together = WARP // width
    count = 0
    for first in range(0, WARP, together):
        read = {word + place for word in words[first : first + together] for place in range(width)}
        of_banks = [0] * _BANKS
        for word in read:
            of_banks[word % _BANKS] += 1
        count += max(of_banks)
    return count


@lru_cache(maxsize=4096)
def lines(addresses: Sequence[int]) -> int:
    """How many lines of the L1 cache, of 128 bytes, a warp reads: one look-up each."""
    return len({address // _LINE for address in addresses})
