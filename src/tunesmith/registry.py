"""Registries of built-in objects and of plug-ins from other packages, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from tunesmith.errors import MissingDependencyError, UsageError, describe, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects of one kind by name, each imported on first use.

    ``kind`` and ``kinds`` are the singular and the plural of the kind. ``ours`` maps built-in names
    to ``module:name``. Other packages declare theirs as entry points of the group
    ``tunesmith.<kinds>``: ``mine = "package.module:Class"``. Built-in names take precedence.
    ``take`` converts what was imported to the object, or to None if it is of the wrong kind; the
    error then says that it must be ``wanted``. ``listed`` says whether there is a command
    ``tunesmith <kinds>``.
    """

    def __init__(
        self,
        kind: str,
        kinds: str,
        ours: Mapping[str, str],
        take: Callable[[object], T | None],
        wanted: str,
        *,
        listed: bool = True,
    ) -> None:
        self.kind = kind
        self._listed_by = f"tunesmith {kinds}" if listed else None
        self._group = f"tunesmith.{kinds}"
        self._ours = {name: EntryPoint(name, place, self._group) for name, place in ours.items()}
        self._take = take
        self._wanted = wanted
        self._loaded: dict[EntryPoint, T] = {}

    def names(self) -> tuple[str, ...]:
        """All names: the built-in ones in their order, then plug-ins, sorted."""
        return (*self._ours, *sorted(plug_ins(self._group).keys() - self._ours.keys()))

    def package(self, name: str) -> str:
        """The package that provides this name. Raises ``UsageError`` for an unknown name."""
        point = self._point(name)
        return point.dist.name if point.dist else "tunesmith"

    def is_ours(self, name: str) -> bool:
        """Whether a name is built in."""
        return name in self._ours

    def get(self, name: str) -> T:
        """The object with this name.

        Raises ``UsageError`` for an unknown name and for a plug-in of the wrong kind,
        ``MissingDependencyError`` for a plug-in that cannot be imported.
        """
        point = self._point(name)
        if point not in self._loaded:
            self._loaded[point] = self._load(point)
        return self._loaded[point]

    def _point(self, name: str) -> EntryPoint:
        if name in self._ours:  # avoids a scan of all installed packages
            return self._ours[name]
        others = plug_ins(self._group)
        if name not in others:
            raise unknown_name(self.kind, name, self.names(), listed_by=self._listed_by)
        return others[name]

    def _load(self, point: EntryPoint) -> T:
        whose = f"{self.kind} '{point.name}' ({point.value})"
        try:
            loaded = point.load()
        except Exception as error:  # a third-party module may raise anything
            if self.is_ours(point.name):
                raise
            raise MissingDependencyError(
                f"{whose} cannot be imported: {describe(error)}; install what it needs"
            ) from error
        try:
            found = self._take(loaded)
        except Exception as error:
            raise UsageError(f"{whose} cannot be made: {describe(error)}") from error
        if found is None:
            raise UsageError(f"{whose} is no {self.kind}: make it {self._wanted}")
        return found


def plug_ins(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group in all installed packages, by name."""
    return _plug_ins(group, tuple(sys.path))


@cache
def _plug_ins(group: str, _path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
