"""The options of a tuner: the fields of its settings, their types, and their text form."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from tunesmith.errors import UsageError

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}


@dataclasses.dataclass(frozen=True)
class Option:
    """One option: its name, its type hint, its default, and what it does."""

    name: str
    hint: Any
    default: object
    meaning: str

    @property
    def type_name(self) -> str:
        """The type in words, such as ``int`` or ``int or none``."""
        return " or ".join(_words(member) for member in _members(self.hint))

    def accepts(self, value: object) -> bool:
        """Whether a value has the option's type. An int is a float, but a bool is not a number."""
        return any(_is_of(value, member) for member in _members(self.hint))

    def parse(self, text: str) -> object:
        """The value of a text. Raises ``UsageError`` if it does not have the option's type."""
        for member in _members(self.hint):
            try:
                return _parse_as(text, member)
            except ValueError:
                continue
        raise UsageError(f"option {self.name} must be {self.type_name}, not '{text}'")


def options_of(settings: type) -> list[Option]:
    """The options of a class of settings, in the order of its fields."""
    hints = typing.get_type_hints(settings)
    return [
        Option(
            name=field.name,
            hint=hints[field.name],
            default=_default_of(field),
            meaning=str(field.metadata.get("meaning", "")),
        )
        for field in dataclasses.fields(settings)
        if field.init
    ]


def _words(member: Any) -> str:
    if not isinstance(member, type):  # a value of a Literal
        return repr(member)
    return "none" if member is types.NoneType else member.__name__


def _default_of(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _members(hint: Any) -> tuple[Any, ...]:
    """The types of a union, the values of a Literal, or the hint itself."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return tuple(member for argument in typing.get_args(hint) for member in _members(argument))
    return (hint,)


def _is_of(value: object, member: Any) -> bool:
    if not isinstance(member, type):  # a value of a Literal
        return type(value) is type(member) and value == member
    if isinstance(value, bool):
        return member is bool
    if member is float:
        return isinstance(value, int | float)
    return isinstance(value, member)


def _parse_as(text: str, member: Any) -> object:
    if not isinstance(member, type):
        if text == str(member):
            return member
        raise ValueError
    if member is types.NoneType:
        if text.lower() == "none":
            return None
        raise ValueError
    if member is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise ValueError
    return member(text)
