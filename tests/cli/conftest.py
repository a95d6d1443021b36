"""The command line's entry point in this process, and stores of its own for every test."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command import Ran
from tests.servers import administrator, location, postgresql_location, postgresql_server
from tunesmith.cli.main import main

__all__ = ["administrator", "location", "postgresql_location", "postgresql_server"]

Command = Callable[..., Ran]


@pytest.fixture(scope="package", autouse=True)
def _no_data_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A command that forgets its --store must not write into the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Run words of a command line in this process: cheap, as TVM is imported once for all."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["tunesmith", *map(str, words)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            assert isinstance(end.code, int)
            code = end.code
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    yield run
    for number, handler in handlers.items():  # what a process that is about to leave may change
        signal.signal(number, handler)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store that is not there yet."""
    return tmp_path / "tuning.db"
