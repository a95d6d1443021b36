"""Tuners by name: ours, and those that other packages bring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError, unknown_name
from tunesmith.tuners.options import Option, options_of
from tunesmith.tuners.tuner import Tuner

# Other packages name theirs as entry points of this group: ``mine = "package.module:Class"``.
GROUP = "tunesmith.tuners"

_BUILT_IN = {
    "annealing": "tunesmith.tuners.annealing:Annealing",
    "auto": "tunesmith.tuners.auto:Auto",
    "controller": "tunesmith.tuners.controller:Controller",
    "gbfs": "tunesmith.tuners.gbfs:GBFS",
    "genetic": "tunesmith.tuners.genetic:Genetic",
    "grid": "tunesmith.tuners.grid:Grid",
    "na2c": "tunesmith.tuners.na2c:NA2C",
    "nose": "tunesmith.tuners.nose:Nose",
    "opevo": "tunesmith.tuners.opevo:OpEvo",
    "random": "tunesmith.tuners.random:Random",
}


@dataclass(frozen=True)
class TunerDescription:
    """A row of ``tunesmith tuners``: what a tuner is and its options.

    ``package`` says who brings it. ``summary`` says why when it cannot be loaded.
    """

    name: str
    package: str
    summary: str
    options: tuple[Option, ...]


def tuner_names() -> list[str]:
    """All tuners that can be asked for by name, sorted."""
    return sorted(_entries())


def tuner(name: str, **options: object) -> Tuner:
    """The tuner of that name with the given options, the others at their defaults.

    Raises ``UsageError`` for an unknown tuner or option, a wrong type or a value out of range,
    and ``MissingDependencyError`` for a tuner whose package cannot be imported.
    """
    settings = _load(_entry(name))
    for given in options:
        _option(settings, given)
    return settings(**options)


def parse_options(name: str, assignments: Iterable[str]) -> dict[str, object]:
    """The options of a tuner from texts such as ``population=50``, ready for ``tuner``.

    Raises ``UsageError`` for an unknown option, a text without ``=`` or a value of another type.
    """
    settings = _load(_entry(name))
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
    """All tuners by name; one that cannot be loaded says so in its summary."""
    return [_describe(entry) for _, entry in sorted(_entries().items())]


def _describe(entry: EntryPoint) -> TunerDescription:
    package = entry.dist.name if entry.dist else "tunesmith"
    try:
        settings = _load(entry)
    except TunesmithError as error:
        return TunerDescription(entry.name, package, str(error), ())
    summary = (settings.__doc__ or "").strip().partition("\n")[0]
    return TunerDescription(entry.name, package, summary, tuple(options_of(settings)))


def _option(settings: type[Tuner], name: str) -> Option:
    known = {option.name: option for option in options_of(settings)}
    if name in known:
        return known[name]
    if not known:
        raise UsageError(f"tuner '{settings.name}' has no options, so it cannot take '{name}'")
    raise unknown_name(f"{settings.name} option", name, known)


def _entries() -> dict[str, EntryPoint]:
    """All tuners by name. Ours win over a plug-in of the same name."""
    plugins = {entry.name: entry for entry in entry_points(group=GROUP)}
    return plugins | {name: _built_in(name) for name in _BUILT_IN}


def _entry(name: str) -> EntryPoint:
    if name in _BUILT_IN:  # without a look at all installed packages
        return _built_in(name)
    entries = _entries()
    if name not in entries:
        raise unknown_name("tuner", name, entries, listed_by="tunesmith tuners")
    return entries[name]


def _built_in(name: str) -> EntryPoint:
    return EntryPoint(name, _BUILT_IN[name], GROUP)


def _load(entry: EntryPoint) -> type[Tuner]:
    try:
        settings = entry.load()
    except Exception as error:  # a plug-in's module may fail in any way
        reason = " ".join(str(error).split())
        raise MissingDependencyError(
            f"tuner '{entry.name}' ({entry.value}) cannot be imported: "
            f"{type(error).__name__}: {reason}; install what it needs"
        ) from error
    if not (isinstance(settings, type) and issubclass(settings, Tuner)):
        raise UsageError(f"'{entry.name}' ({entry.value}) is no tuner: make it a subclass of Tuner")
    return settings
