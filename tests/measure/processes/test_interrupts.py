"""Blocks and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tunesmith.measure.processes.interrupts import (
    interrupted_later,
    noted_interrupts,
    uninterrupted,
)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_is_ignored() -> None:
    with uninterrupted():
        interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_it_comes_after_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupted_later():
        interrupt()
        interrupt()
        done.append(True)
    assert done
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_what_fails_in_the_block_is_why_it_came() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, interrupted_later():
        interrupt()
        raise ValueError
    assert isinstance(caught.value.__context__, ValueError)


def test_it_is_noted_and_comes_all_the_same() -> None:
    with noted_interrupts() as interrupted:
        assert not interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert interrupted()
    with noted_interrupts() as interrupted:
        assert not interrupted(), "another block"


@pytest.mark.parametrize("block", [uninterrupted, interrupted_later, noted_interrupts])
def test_other_threads_are_never_interrupted(
    block: Callable[[], AbstractContextManager[object]],
) -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def enter() -> None:
        with block():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("block", [interrupted_later, noted_interrupts])
def test_who_ignores_it_goes_on_to(block: Callable[[], AbstractContextManager[object]]) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with block():
            interrupt()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
