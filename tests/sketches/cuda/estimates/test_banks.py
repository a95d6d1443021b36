"""Wavefronts of a warp in shared memory, and lines of the L1 cache, counted by hand."""

from __future__ import annotations

import pytest

from tunesmith.sketches.cuda.estimates.banks import lines, wavefronts

WARP = range(32)


@pytest.mark.parametrize(
    ("words", "width", "count"),
    [
        (list(WARP), 1, 1),
        ([0] * 32, 1, 1),  # all read the same word
        ([2 * thread for thread in WARP], 1, 2),
        ([8 * thread for thread in WARP], 1, 8),
        ([32 * thread for thread in WARP], 1, 32),
        ([33 * thread for thread in WARP], 1, 1),  # a word of padding a row
        ([4 * thread for thread in WARP], 4, 4),  # 512 bytes, 128 at a time
        ([2 * thread for thread in WARP], 2, 2),
        ([8 * thread for thread in WARP], 4, 8),  # every other vector: half of the banks
        ([thread // 16 * 32 for thread in WARP], 4, 4),  # what is shared is still handed out
        (list(range(16)), 1, 1),  # half a warp
    ],
)
def test_wavefronts_in_shared_memory(words: list[int], width: int, count: int) -> None:
    assert wavefronts(tuple(words), width) == count


def test_lines() -> None:
    assert lines(tuple(4 * thread for thread in WARP)) == 1
    assert lines(tuple(4 * thread + 64 for thread in WARP)) == 2
    assert lines(tuple(4096 * thread for thread in WARP)) == 32
