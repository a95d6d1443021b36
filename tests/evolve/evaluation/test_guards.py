"""Writing beside an array is caught, near by a pattern, far away by the processor."""

from __future__ import annotations

import ctypes
import os
import signal

import numpy as np
import pytest

from tunesmith.evolve.evaluation.guards import Guarded


@pytest.mark.parametrize("size", [0, 1, 64, 100, 4096, 5000])
def test_all_of_the_array_can_be_written(size: int) -> None:
    guarded = Guarded(size)
    view = guarded.view(np.full(size, 3, np.uint8))
    view[...] = 7
    assert guarded.intact
    assert view.ctypes.data % 64 == 0
    assert view.sum() == 7 * size


def test_it_has_shape_and_contents_of_the_array() -> None:
    array = np.arange(12, dtype=np.float64).reshape(3, 4)
    view = Guarded(array.nbytes).view(array)
    assert (view == array).all()
    assert view.dtype == array.dtype


@pytest.mark.parametrize("offset", [-1, -64, 100])
def test_a_byte_beside_it_shows(offset: int) -> None:
    guarded = Guarded(100)
    view = guarded.view(np.zeros(100, np.uint8))
    ctypes.memset(view.ctypes.data + offset, 0, 1)
    assert not guarded.intact


@pytest.mark.parametrize("offset", [-4096 - 64, 128])
def test_a_page_beside_it_ends_the_process(offset: int) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        view = Guarded(128).view(np.zeros(128, np.uint8))
        ctypes.memset(view.ctypes.data + offset, 0, 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGSEGV
