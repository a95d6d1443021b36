"""docs/command-line.md names every command and every option that there is, and none besides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from tests.docs.pages import ROOT
from tunesmith.cli.main import app
from tunesmith.operators import describe_operators

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
_SECTION = r"^### `{}`.*?(?=^##|\Z)"
# What is explained once for all commands.
SHARED = re.sub(_SECTION.format("[^`]+"), "", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """All commands by the words that call them."""
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {word}")
        else:
            yield f"{prefix} {word}", command


COMMANDS = dict(commands(typer.main.get_command(app), "tunesmith"))


def section(command: str) -> str:
    """The part of the page about a command."""
    found = re.search(_SECTION.format(command), PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{command} has no section"
    return found[0]


def options(text: str) -> set[str]:
    """The options that a text names in code marks."""
    spans = re.findall(r"`([^`\n]+)`", text)
    return {option for span in spans for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", span)}


def test_no_section_is_about_a_command_that_is_gone() -> None:
    assert set(re.findall(r"^### `([^`]+)`", PAGE, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str) -> None:
    known = {
        text
        for parameter in COMMANDS[command].params
        for text in (*parameter.opts, *parameter.secondary_opts)
        if text.startswith("--") and text != "--help"
    }
    assert known <= options(section(command)) | options(SHARED)


def test_every_explained_option_exists() -> None:
    known = {
        text
        for command in COMMANDS.values()
        for parameter in command.params
        for text in (*parameter.opts, *parameter.secondary_opts)
    }
    known |= {
        f"--{text.replace('_', '-')}"
        for operator in describe_operators()
        for option in operator.options
        for text in (option.name, *option.aliases)
    }
    assert options(PAGE) <= known | {"--help"}
