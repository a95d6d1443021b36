"""Templates of command lines, which turn a config into argument lists.

A field is ``{name}`` for the value of a parameter or ``{name[0]}`` for a member of a tuple, counted
from 0; ``{{`` and ``}}`` are literal braces. Numbers are written as in Python, booleans as ``true``
and ``false``, a whole tuple as its members separated by commas.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tunesmith.errors import InstantiationError, UsageError, unknown_name
from tunesmith.space import Config, Space, Value

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_INDEXED = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)

_QUOTES = r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\""""
_WORD = re.compile(rf"(?:{_QUOTES}|[^\s'\"\\;|&<>])+", re.DOTALL)
_OPERATOR = re.compile(r"[;|&<>]+")

# The places where the shell would not read a quoted value as one literal word.
_NO_PLACE_FOR_FIELDS = re.compile(
    rf"{_QUOTES}|`[^`]*`|(?<![^\s;&|()])#[^\n]*|\$\{{(?!\{{)", re.DOTALL
)


@dataclass(frozen=True)
class Field:
    """A field for a parameter's value, or for one member of it."""

    parameter: str
    index: int | None = None

    def value(self, config: Config) -> str:
        """The text of the value. Raises ``InstantiationError`` for a member that does not exist."""
        value = config[self.parameter]
        if self.index is None:
            return _text(value)
        if not isinstance(value, tuple) or self.index >= len(value):
            raise InstantiationError(f"{self.parameter} is {value!r}: it has no [{self.index}]")
        return _text(value[self.index])


Pieces = tuple[str | Field, ...]


@dataclass(frozen=True)
class Stage:
    """One process to start: a template for each argument."""

    words: tuple[Pieces, ...]
    quote: Callable[[str], str] = str

    def arguments(self, config: Config) -> list[str]:
        """The argument list for a config, program first."""
        return [
            "".join(
                self.quote(piece.value(config)) if isinstance(piece, Field) else piece
                for piece in word
            )
            for word in self.words
        ]

    @property
    def program(self) -> str | None:
        """The program; None if it depends on the config."""
        first = self.words[0]
        return "".join(map(str, first)) if not any(isinstance(p, Field) for p in first) else None


def parse_stages(template: str, space: Space) -> tuple[Stage, ...]:
    """The stages of a command line that runs without a shell, separated by ``&&``.

    It is split into words like in a shell, with quotes and backslashes, but nothing is expanded: no
    ``$NAME``, no ``*``, no ``~``. Fields are filled in afterwards. Raises ``UsageError`` for an
    empty stage, any other operator, an open quote or an invalid field.
    """
    stages: list[list[str]] = [[]]
    for token in _tokens(template):
        if token == "&&":
            stages.append([])
        elif _OPERATOR.fullmatch(token):
            raise UsageError(
                f"command '{template}': '{token}' needs a shell: quote it to pass it as an "
                "argument, or ask for a shell (shell=True)"
            )
        else:
            stages[-1].append(shlex.split(token)[0])
    if not all(stages):
        raise UsageError(f"command '{template}': a stage is empty: write a program for each")
    return tuple(Stage(tuple(_pieces(word, space) for word in words)) for words in stages)


def parse_shell_stage(template: str, space: Space) -> Stage:
    """A whole command line for ``/bin/sh -c``, with quoted values.

    Raises ``UsageError`` for an empty command, an invalid field, or a field where the shell would
    not read a quoted value literally: in quotes, backticks, comments, or with a here-document.
    """
    if not template.strip():
        raise UsageError("the command is empty: write a program")
    pieces = _pieces(template, space)
    _check_places(template)
    return Stage((("/bin/sh",), ("-c",), pieces), shlex.quote)


def _tokens(template: str) -> Iterator[str]:
    position = 0
    while position < len(template):
        if template[position].isspace():
            position += 1
            continue
        match = _WORD.match(template, position) or _OPERATOR.match(template, position)
        if match is None:
            raise UsageError(
                f"command '{template}': a quote or backslash at its character {position + 1} "
                "has no end: close it"
            )
        yield match.group()
        position = match.end()


def _pieces(text: str, space: Space) -> Pieces:
    """The literal texts and fields of a template, in order."""
    pieces: list[str | Field] = []
    position = 0
    for match in _BRACES.finditer(text):
        pieces.append(text[position : match.start()])
        position = match.end()
        if match.group() in ("{{", "}}"):
            pieces.append(match.group()[0])
        elif match.group(1) is None:
            raise UsageError(f"'{text}' has a lone '{match.group()}': double it to mean itself")
        else:
            pieces.append(_field(match.group(1), space))
    pieces.append(text[position:])
    return tuple(piece for piece in pieces if piece != "")


def _field(text: str, space: Space) -> Field:
    if text in space.names:
        return Field(text)
    indexed = _INDEXED.fullmatch(text)
    name = indexed.group(1) if indexed else text
    if indexed is None or name not in space.names:
        raise unknown_name("field", name, space.names)
    value = space.parameters[space.names.index(name)].value_at(0)
    index = int(indexed.group(2))
    if not isinstance(value, tuple):
        raise UsageError(f"field '{{{text}}}': {name} is not a tuple: write {{{name}}}")
    if index >= len(value):
        raise UsageError(f"field '{{{text}}}': the members of {name} are 0 to {len(value) - 1}")
    return Field(name, index)


def _check_places(template: str) -> None:
    """Raise ``UsageError`` for a field where the shell would not read a quoted value literally."""
    places = [match.span() for match in _NO_PLACE_FOR_FIELDS.finditer(template)]
    for match in _BRACES.finditer(template):
        if match.group(1) is None:
            continue
        if "<<" in template:
            raise UsageError(
                f"field '{match.group()}': a command with a here-document cannot have fields; "
                "pass the values as arguments"
            )
        if any(start <= match.start() < end for start, end in places):
            raise UsageError(
                f"field '{match.group()}' stands in quotes, backticks or a comment, or after a "
                "backslash or $: put it outside, for its value is quoted already"
            )


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return str(value)
