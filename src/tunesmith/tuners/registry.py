"""Tuners by name: built-in ones and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tunesmith.errors import TunesmithError, UsageError, unknown_name
from tunesmith.registry import Registry
from tunesmith.tuners.options import Option, options_of
from tunesmith.tuners.tuner import Tuner

_OURS = {
    "annealing": "tunesmith.tuners.annealing:Annealing",
    "auto": "tunesmith.tuners.auto:Auto",
    "autotvm": "tunesmith.tuners.autotvm.tuner:AutoTVM",
    "controller": "tunesmith.tuners.controller:Controller",
    "gbfs": "tunesmith.tuners.gbfs:GBFS",
    "genetic": "tunesmith.tuners.genetic:Genetic",
    "grid": "tunesmith.tuners.grid:Grid",
    "na2c": "tunesmith.tuners.na2c:NA2C",
    "nose": "tunesmith.tuners.nose:Nose",
    "opevo": "tunesmith.tuners.opevo:OpEvo",
    "random": "tunesmith.tuners.random:Random",
}


def _class(found: object) -> type[Tuner] | None:
    return found if isinstance(found, type) and issubclass(found, Tuner) else None


TUNERS = Registry("tuner", "tuners", _OURS, _class, "a subclass of Tuner")


@dataclass(frozen=True)
class TunerDescription:
    """A row of ``tunesmith tuners``.

    ``package`` is the tuner's distribution. If the tuner cannot be loaded, ``summary`` is the
    reason.
    """

    name: str
    package: str
    summary: str
    options: tuple[Option, ...]


def tuner_names() -> list[str]:
    """The names of all tuners, sorted."""
    return sorted(TUNERS.names())


def tuner(name: str, **options: object) -> Tuner:
    """The tuner with this name and these options, the others at their defaults.

    Raises ``UsageError`` for an unknown tuner or option, a wrong type or a value out of range,
    and ``MissingDependencyError`` for a tuner whose package cannot be imported.
    """
    settings = TUNERS.get(name)
    for given in options:
        _option(settings, given)
    return settings(**options)


def parse_options(name: str, assignments: Iterable[str]) -> dict[str, object]:
    """The options of a tuner from texts such as ``population=50``, for ``tuner``.

    Raises ``UsageError`` for an unknown tuner or option, a text without ``=`` or a value of another
    type, and ``MissingDependencyError`` for a tuner whose package cannot be imported.
    """
    settings = TUNERS.get(name)
    options: dict[str, object] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"tuner option '{assignment}' has no value: write {key}=VALUE")
        option = _option(settings, key.strip())
        try:
            options[option.name] = option.parse(text.strip())
        except UsageError as error:
            raise UsageError(f"tuner '{name}': {error}") from None
    return options


def describe_tuners() -> list[TunerDescription]:
    """All tuners, sorted by name."""
    return [_describe(name) for name in tuner_names()]


def _describe(name: str) -> TunerDescription:
    package = TUNERS.package(name)
    try:
        settings = TUNERS.get(name)
    except TunesmithError as error:
        return TunerDescription(name, package, str(error), ())
    summary = (settings.__doc__ or "").strip().partition("\n")[0]
    return TunerDescription(name, package, summary, tuple(options_of(settings)))


def _option(settings: type[Tuner], name: str) -> Option:
    known = {option.name: option for option in options_of(settings)}
    if name in known:
        return known[name]
    if not known:
        raise UsageError(f"tuner '{settings.name}' has no options, so it cannot take '{name}'")
    raise unknown_name(f"{settings.name} option", name, known)
