"""The limits of a block: each is checked, and told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tunesmith.errors import InstantiationError
from tunesmith.sketches.cuda.limits import LIMITS, BlockUse

MOST = BlockUse(
    threads=(32, 1, 32),
    grid=(2**31 - 1, 65535, 65535),
    vthreads=64,
    register_bytes=1020,
    shared_bytes=49152,
)


def test_all_that_a_block_may_use_at_once() -> None:
    LIMITS.check(MOST)
    assert LIMITS.allow(MOST)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": (1025, 1, 1)}, "a block of 1025 threads: the GPU's limit is 1024"),
        ({"threads": (33, 32, 1)}, "a block of 1056 threads"),
        ({"threads": (1, 1, 65)}, "65 threads along z: the GPU's limit is 64"),
        ({"grid": (1, 65536, 1)}, "65536 blocks along y: the GPU's limit is 65535"),
        ({"vthreads": 65}, "65 virtual threads a thread: the limit is 64"),
        ({"register_bytes": 1024}, "1024 bytes of sums and copies a thread: its registers have"),
        ({"shared_bytes": 49153}, "49153 bytes of shared memory a block"),
    ],
)
def test_one_more_is_too_many(change: dict[str, Any], message: str) -> None:
    use = replace(MOST, **change)
    with pytest.raises(InstantiationError, match=message):
        LIMITS.check(use)
    assert not LIMITS.allow(use)
