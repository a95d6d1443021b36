"""The types of an operator's options: their checks, and how they are read from text."""

from __future__ import annotations

import abc
import difflib
import math
import operator
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

from tunesmith.errors import UsageError

Pair = tuple[int, int]
Padding = Pair | tuple[int, int, int, int]
"""Rows above and below, and columns left and right; or top, left, bottom and right."""
OptionValue = int | float | str | bool | Padding

_INT = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class OptionType(abc.ABC):
    """The meaning of an option, and checks of its values.

    ``aliases`` are further names of the option on the command line.
    """

    meaning: str
    aliases: tuple[str, ...] = ()

    @property
    @abc.abstractmethod
    def expects(self) -> str:
        """The valid values, in words that follow "must be": ``a positive integer``."""

    @abc.abstractmethod
    def accept(self, value: object) -> OptionValue | None:
        """``value`` in its normal form, or None if it is invalid."""

    @abc.abstractmethod
    def read(self, text: str) -> object:
        """The value that ``text`` denotes; the text itself if it denotes none."""

    def check(self, label: str, value: object) -> OptionValue:
        """``value`` in its normal form; raises ``UsageError`` if it is invalid."""
        accepted = self.accept(value)
        if accepted is None:
            shown = " ".join(reprlib.repr(value).split())
            raise UsageError(f"{label} must be {self.expects}, not {shown}{self.hint(value)}")
        return accepted

    def hint(self, value: object) -> str:  # noqa: ARG002  subclasses use the value
        """The end of the message about an invalid ``value``."""
        return ""


def _as_int(value: object) -> int | None:
    """``value`` if it is an integer of any kind (bool is not one), else None."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # arrays have __index__, but it fails for all but single integers
        return None


def _read_int(text: str) -> int | str:
    return int(text) if _INT.fullmatch(text) else text


@dataclass(frozen=True)
class IntegerOption(OptionType):
    """An integer of at least ``minimum``."""

    minimum: int = 1

    @property
    def expects(self) -> str:
        return "a positive integer" if self.minimum == 1 else f"an integer >= {self.minimum}"

    def accept(self, value: object) -> int | None:
        number = _as_int(value)
        return number if number is not None and number >= self.minimum else None

    def read(self, text: str) -> object:
        return _read_int(text)


@dataclass(frozen=True)
class SidesOption(OptionType):
    """A field that takes one integer or several, at least ``minimum``, and reads as a tuple.

    It is both the option's type and the field's descriptor. So type checkers accept ``kernel=3``
    and know that ``kernel`` is a pair.
    """

    minimum: int = 1
    default: Pair | None = None
    _field: str = field(default="", init=False, repr=False, compare=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "_field", name)

    def read(self, text: str) -> object:
        parts = [_read_int(part) for part in re.split(r"\s*[x,]\s*", text.strip("() "))]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _value(self, instance: object | None, owner: type) -> Any:
        if instance is not None:
            return instance.__dict__[self._field]
        if self.default is None:  # what dataclasses reads as "no default"
            raise AttributeError(f"{owner.__name__} has no default for '{self._field}'")
        return self.default

    def _integers(self, value: object) -> list[int]:
        """The integers of a value, a single one twice; none if it has anything else."""
        items = list(value) if isinstance(value, list | tuple) else [value, value]
        numbers = [number for item in items if (number := _as_int(item)) is not None]
        valid = len(numbers) == len(items) and min(numbers, default=0) >= self.minimum
        return numbers if valid else []


@dataclass(frozen=True)
class PairOption(SidesOption):
    """A field that takes one integer or an ``(h, w)`` pair, and always reads as a pair."""

    def __get__(self, instance: object | None, owner: type) -> Pair:
        pair: Pair = self._value(instance, owner)
        return pair

    def __set__(self, instance: object, value: int | Pair) -> None:
        instance.__dict__[self._field] = value

    @property
    def expects(self) -> str:
        kind = "positive integers" if self.minimum == 1 else f"integers >= {self.minimum}"
        return f"one or two {kind} (3, 3x3 or (3, 3))"

    def accept(self, value: object) -> Pair | None:
        numbers = self._integers(value)
        return (numbers[0], numbers[1]) if len(numbers) == 2 else None


@dataclass(frozen=True)
class PaddingOption(SidesOption):
    """A field that takes one integer, an ``(h, w)`` pair, or ``(top, left, bottom, right)``.

    It reads as a pair if opposite sides are alike, else as four numbers: the first two are those
    above and on the left either way.
    """

    def __get__(self, instance: object | None, owner: type) -> Padding:
        padding: Padding = self._value(instance, owner)
        return padding

    def __set__(self, instance: object, value: int | Padding) -> None:
        instance.__dict__[self._field] = value

    @property
    def expects(self) -> str:
        return f"one, two or four integers >= {self.minimum} (1, 1x1 or 0x0x1x1)"

    def accept(self, value: object) -> Padding | None:
        numbers = self._integers(value)
        if len(numbers) == 2 or (len(numbers) == 4 and numbers[:2] == numbers[2:]):
            return numbers[0], numbers[1]
        return (numbers[0], numbers[1], numbers[2], numbers[3]) if len(numbers) == 4 else None


@dataclass(frozen=True)
class NumberOption(OptionType):
    """A positive, finite real number."""

    @property
    def expects(self) -> str:
        return "a positive number"

    def accept(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if value > 0 and math.isfinite(value) else None

    def read(self, text: str) -> object:
        try:
            return float(text)
        except ValueError:
            return text


@dataclass(frozen=True)
class ChoiceOption(OptionType):
    """One of a few words."""

    choices: tuple[str, ...] = ()

    @property
    def expects(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def accept(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in self.choices else None

    def read(self, text: str) -> object:
        return text

    def hint(self, value: object) -> str:
        near = difflib.get_close_matches(str(value), self.choices, n=1, cutoff=0.5)
        return f"; did you mean {near[0]}?" if near else ""


_FLAG_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class FlagOption(OptionType):
    """On or off."""

    @property
    def expects(self) -> str:
        return "true or false"

    def accept(self, value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    def read(self, text: str) -> object:
        return _FLAG_WORDS.get(text.lower(), text)


@dataclass(frozen=True)
class Option:
    """An option of an operator: name, type, and default (None if it is required)."""

    name: str
    type: OptionType
    default: OptionValue | None

    @property
    def required(self) -> bool:
        return self.default is None


def as_option(kind: OptionType) -> Mapping[str, Any]:
    """The ``dataclasses.field`` metadata that makes a field an option of this type."""
    return {"option": kind}


def size(meaning: str) -> Mapping[str, Any]:
    """Metadata of an option that is a positive integer."""
    return as_option(IntegerOption(meaning))


def choice(meaning: str, *choices: str) -> Mapping[str, Any]:
    """Metadata of an option that is one of ``choices``."""
    return as_option(ChoiceOption(meaning, choices=choices))


def flag(meaning: str) -> Mapping[str, Any]:
    """Metadata of an option that is on or off."""
    return as_option(FlagOption(meaning))


def format_value(value: OptionValue) -> str:
    """``value`` as the command line takes it: ``3x3``, ``true``, ``NCHW``."""
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
