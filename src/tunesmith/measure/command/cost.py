"""The cost of a command: its wall-clock seconds, or a number that it prints."""

from __future__ import annotations

import re
from collections.abc import Callable

from tunesmith.errors import UsageError, describe, one_line
from tunesmith.measure.command.process import CommandResult

# A callable on the standard output, or a regular expression with one group.
Parse = Callable[[str], float] | str


def cost_reader(parse: Parse | None) -> Callable[[CommandResult], object]:
    """A function from a run's result to its cost. Raises ``UsageError`` for an invalid regex."""
    if parse is None:
        return lambda result: result.seconds
    if not isinstance(parse, str):
        return lambda result: _call(parse, result.stdout)
    try:
        pattern = re.compile(parse, re.MULTILINE)
    except re.error as error:
        raise UsageError(f"parse: '{parse}' is not a regular expression: {error}") from None
    if pattern.groups != 1:
        raise UsageError(f"parse: '{parse}' has {pattern.groups} groups: put one around the number")
    return lambda result: _last_number(pattern, result.stdout)


def _call(parse: Callable[[str], float], text: str) -> object:
    try:
        return parse(text)
    except Exception as error:
        raise ValueError(f"parse failed: {describe(error)}") from None


def _last_number(pattern: re.Pattern[str], text: str) -> float:
    found: list[str | None] = pattern.findall(text)
    if not found:
        raise ValueError(f"nothing in the output matches '{pattern.pattern}'")
    try:
        return float(found[-1] or "")
    except ValueError:
        raise ValueError(one_line(f"the output has '{found[-1]}', not a number")) from None


def parse_name(parse: Parse | None) -> str | None:
    """An identifier of ``parse``: the regular expression, or the callable's name."""
    if parse is None or isinstance(parse, str):
        return parse
    return getattr(parse, "__qualname__", type(parse).__qualname__)
