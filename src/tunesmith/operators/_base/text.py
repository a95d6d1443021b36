"""Operators on the command line: options read from text, and descriptions to list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators._base.operator import Operator
from tunesmith.operators._base.options import Option, format_value
from tunesmith.operators._registry import operator, operator_class, operator_names


@dataclass(frozen=True)
class OptionDescription:
    """An option in words; ``default`` is None if the option is required."""

    name: str
    aliases: tuple[str, ...]
    meaning: str
    expects: str
    default: str | None


@dataclass(frozen=True)
class OperatorDescription:
    """An operator in words; ``arguments`` has one text per argument, with its shape."""

    name: str
    summary: str
    arguments: tuple[str, ...]
    options: tuple[OptionDescription, ...]


def parse_operator(name: str, options: Mapping[str, object]) -> Operator:
    """The operator called ``name`` with options from the command line.

    Values may be text (``"1"``, ``"3x3"``, ``"true"``) or of the option's own type; None means that
    the option was not given. An alias (``k`` for ``kernel``) works unless the operator has another
    option of that name. Raises ``UsageError`` for an unknown operator or option, an option given
    twice, a missing one, and an invalid value.
    """
    declared = {option.name: option for option in operator_class(name).options()}
    spellings = {alias: o for o in declared.values() for alias in o.type.aliases} | declared
    values: dict[str, object] = {}
    for given, value in options.items():
        if value is None:
            continue
        if given not in spellings:
            raise unknown_name(
                f"option of {name}", given, spellings, listed_by=f"tunesmith operators {name}"
            )
        option = spellings[given]
        if option.name in values:
            raise UsageError(f"{name}: {option.name} is given twice, also as {given}: keep one")
        values[option.name] = option.type.read(value) if isinstance(value, str) else value
    return operator(name, **values)


def describe_operators() -> tuple[OperatorDescription, ...]:
    """All operators, in the order of the registry."""
    return tuple(
        OperatorDescription(
            cls.name, cls.summary, cls.signature, tuple(map(_described, cls.options()))
        )
        for cls in map(operator_class, operator_names())
    )


def _described(option: Option) -> OptionDescription:
    default = None if option.default is None else format_value(option.default)
    kind = option.type
    return OptionDescription(option.name, kind.aliases, kind.meaning, kind.expects, default)
