"""Dataclasses as the options of commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from tunesmith.cli.options import MeasureOptions, add_commands
from tunesmith.cli.tune import TrialOptions
from tunesmith.errors import UsageError
from tunesmith.problem import MeasureSettings


@dataclass(frozen=True, kw_only=True)
class Size:
    """Two figures."""

    width: Annotated[int, typer.Option("-w", "--width", help="How wide.")]
    height: Annotated[int, typer.Option(help="How high.")] = 2


@dataclass(frozen=True, kw_only=True)
class Box(Size):
    """A third one, and another default."""

    height: Annotated[int, typer.Option(help="How high.")] = 3
    depth: Annotated[list[int] | None, typer.Option(help="How deep.")] = None


@dataclass(frozen=True, kw_only=True)
class Rest:
    """What no option claims."""

    context: typer.Context


@pytest.fixture
def app() -> typer.Typer:
    """Three commands that print what they are handed."""
    made = typer.Typer(rich_markup_mode=None)

    def a_size(size: Size, name: str = "a size") -> None:
        """A size of an area."""
        print(name, size)

    def box_(box: Box, path: Annotated[Path, typer.Option()] = Path("here")) -> None:
        print(path, box)

    def rest(rest: Rest, size: Size) -> None:
        print(rest.context.args, size)

    add_commands(made, a_size, box_, rest)
    return made


def ran(app: typer.Typer, *words: str) -> Any:
    return CliRunner().invoke(app, words)


def test_a_command_has_the_fields_as_options(app: typer.Typer) -> None:
    assert ran(app, "a-size", "-w", "7").stdout == "a size Size(width=7, height=2)\n"
    assert ran(app, "a-size", "--height", "1").exit_code == 2
    text = ran(app, "a-size", "--help").stdout
    assert "A size of an area." in text
    assert text.index("--width") < text.index("--height") < text.index("--name")
    assert "[default: 2]" in text


def test_a_subclass_adds_options_and_changes_defaults(app: typer.Typer) -> None:
    answer = "here Box(width=1, height=3, depth=[4, 5])\n"
    assert ran(app, "box", "-w", "1", "--depth", "4", "--depth", "5").stdout == answer


def test_only_who_takes_the_context_gets_other_words(app: typer.Typer) -> None:
    assert ran(app, "rest", "-w", "1", "--m", "8").stdout.startswith("['--m', '8'] Size(width=1")
    assert ran(app, "a-size", "-w", "1", "--m", "8").exit_code == 2


@pytest.mark.parametrize("options", [MeasureOptions(), TrialOptions()])
def test_measuring_has_the_same_defaults_on_the_command_line(options: MeasureOptions) -> None:
    assert options.settings() == MeasureSettings()
    assert options.settings(verify=False) == MeasureSettings(verify=False)


def test_units_of_a_command_line() -> None:
    settings = TrialOptions(min_repeat_ms=20.0, memory_limit=1, flush_cache=True).settings()
    assert settings == MeasureSettings(min_repeat_time=0.02, memory_limit=1 << 20, flush_cache=True)
    with pytest.raises(UsageError, match="memory_limit must be positive, not 0"):
        TrialOptions(memory_limit=0).settings()
