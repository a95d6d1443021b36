"""Help is there at once: no command imports what it does not need yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.cli.command import TUNESMITH, tunesmith
from tests.cli.conftest import Command
from tests.patience import PATIENCE
from tunesmith.cli.main import app
from tunesmith.store import open_store

HEAVY = ("tvm", "torch", "numpy", "sqlalchemy", "alembic", "plotly", "rich")

# Runs each of the command lines in one process, and says what was loaded after it.
_ONE_AFTER_THE_OTHER = """
import contextlib, io, json, sys
from tunesmith.cli.main import main
heavy, lines = json.loads(sys.argv[1])
for words in lines:
    sys.argv = ["tunesmith", *words]
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed):
        try:
            main()
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, printed.getvalue(), [name for name in heavy if name in sys.modules]]))
"""


def words_of(group: Any, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of each command and group of commands."""
    yield before
    for word, inner in group.commands.items():
        if hasattr(inner, "commands"):
            yield from words_of(inner, *before, word)
        else:
            yield *before, word


COMMANDS = list(words_of(typer.main.get_command(app)))


def run_in_turn(lines: list[list[str]]) -> list[tuple[int, str, list[str]]]:
    command = [sys.executable, "-c", _ONE_AFTER_THE_OTHER, json.dumps([HEAVY, lines])]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.stderr == ""
    return [tuple(json.loads(line)) for line in ran.stdout.splitlines()]


def test_help_of_every_command_loads_nothing_heavy() -> None:
    assert ("tune",) in COMMANDS
    assert ("bench", "loop") in COMMANDS
    answers = run_in_turn([[*words, "--help"] for words in COMMANDS])
    for words, (code, text, heavy) in zip(COMMANDS, answers, strict=True):
        assert code == 0
        assert text.startswith(" ".join(("Usage: tunesmith", *words)))
        assert heavy == [], words


def test_lists_load_neither_tvm_nor_the_store() -> None:
    lists = [["operators", "--json"], ["tuners", "--json"], ["operators", "conv2d"]]
    for code, text, heavy in run_in_turn(lists):
        assert code == 0
        assert text
        assert {"tvm", "torch", "sqlalchemy", "plotly"}.isdisjoint(heavy)


def test_looking_into_the_store_does_without_tvm(store: Path) -> None:
    open_store(store).close()
    words = ["history", "--store", str(store)]
    *_, (code, text, heavy) = run_in_turn([words, [*words, "--json"]])
    assert (code, json.loads(text)) == (0, {"runs": []})
    assert {"tvm", "torch", "plotly"}.isdisjoint(heavy)


def test_no_words_at_all_are_a_call_for_help(command: Command) -> None:
    assert command() == command("--help")
    assert command().code == 0
    assert "tune-command" in command().out


def test_the_process_itself() -> None:
    ran = tunesmith("tune", "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "--seconds" in ran.out


@pytest.mark.parametrize("words", COMMANDS[1:])
def test_every_command_has_a_line_in_the_list(words: tuple[str, ...], command: Command) -> None:
    *group, name = words
    assert f"\n  {name} " in command(*group, "--help").out


@pytest.mark.parametrize("words", ["tuners", "sketches", "operators"])
def test_tables_are_printed_in_encodings_without_their_signs(words: str) -> None:
    ran = subprocess.run(
        [*TUNESMITH, words],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.isascii()
    assert not ran.stderr
