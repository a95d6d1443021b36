"""Runs the command line: as a process, as a user does, or its entry point in this process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.families import family
from tests.patience import PATIENCE

TUNESMITH = [sys.executable, "-m", "tunesmith.cli.main"]

_MARK = "TUNESMITH_TEST_FAMILY"


@dataclass(frozen=True)
class Ran:
    """What came of a command: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object that it printed, for a command that succeeded."""
        assert self.code == 0, self.err
        return only_object(self.out)

    @property
    def complaint(self) -> str:
        """The one line that it printed, for a command that was refused."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("tunesmith: ")
        return line.removeprefix("tunesmith: ")


def only_object(text: str) -> Any:
    """The one JSON object, on one line, that is all of a text."""
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def tunesmith(*words: object) -> Ran:
    """Run a command in a process of its own, to its end."""
    process = Process.start(words)
    with process.cleaned_up():
        return process.wait()


@dataclass
class Process:
    """A running command, and a mark to recognise all that comes from it."""

    process: subprocess.Popen[str]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def start(cls, words: Sequence[object], **options: Any) -> Process:
        mark = uuid.uuid4().hex
        environment = {**os.environ, _MARK: mark, **options.pop("env", {})}
        # A process that was started with Ctrl-C ignored, as in the background, hands that down.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            made = subprocess.Popen(
                [*options.pop("command", TUNESMITH), *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=options.pop("stdout", subprocess.PIPE),
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                start_new_session=True,
                **options,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        return cls(made, mark)

    def wait(self) -> Ran:
        """What came of it, at its end."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return Ran(self.process.returncode, out or "", err)

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to all of the foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def family(self) -> list[psutil.Process]:
        """All living processes that have inherited its environment, itself included."""
        return family(_MARK, self.mark)

    def commands(self) -> list[str]:
        """The command lines of its family."""
        lines = []
        for member in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                lines.append(" ".join(member.cmdline()))
        return lines

    @contextlib.contextmanager
    def cleaned_up(self) -> Iterator[None]:
        """See to it that nothing of it is there after the block, whatever happens in it."""
        try:
            yield
        finally:
            for member in self.family():
                with contextlib.suppress(psutil.NoSuchProcess):
                    member.kill()
            self.process.wait(PATIENCE)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; fail when it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.02)


def configs_in(store: Path, *, play_off: bool = False) -> Counter[str]:
    """How often each config is in a store's file, among its trials or its play-offs."""
    if not store.is_file():
        return Counter()
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5.0)) as connection:
        try:
            rows = connection.execute(
                "SELECT config FROM records WHERE play_off = ?", (play_off,)
            ).fetchall()
        except sqlite3.OperationalError:  # its tables are still being made
            return Counter()
    return Counter(config for (config,) in rows)


def trials_in(store: Path) -> int:
    """How many trials a store's file has."""
    return configs_in(store).total()


def assert_sound(store: Path) -> None:
    """Fail unless the file is a whole database in which no config was tried twice."""
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    twice = {config: count for config, count in configs_in(store).items() if count > 1}
    assert twice == {}


def write_spec(folder: Path, *, program: str = "print(1.0 + {n} / 1000)", size: int = 2000) -> Path:
    """A spec for ``tune-command`` with ``size`` configs, each a few milliseconds of Python."""
    spec = folder / "spec.toml"
    command = f'{sys.executable} -I -S -c "{program}"'
    values = list(range(size))
    spec.write_text(
        f"""
[command]
template = '''{command}'''
parse = "([0-9.e+-]+)"
name = "for the test"
repeats = 1
finalists = 2

[[parameter]]
kind = "ordinal"
name = "n"
values = {values}

[default]
n = {size // 2}
"""
    )
    return spec
