"""BLAS on one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import threadpoolctl


def one_thread() -> AbstractContextManager[object]:
    """Limits BLAS to one thread: more would slow down small matrices, and running measurements."""
    limit: AbstractContextManager[object] = _algebra_libraries().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _algebra_libraries() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()
