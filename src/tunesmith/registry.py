"""What can be asked for by name: ours, and what other packages bring."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from tunesmith.errors import MissingDependencyError, UsageError, describe, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind by name. Each is imported when it is first asked for.

    ``kind`` is what one of them is called, ``kinds`` several. ``ours`` says where ours are, as
    ``module:name``. Other packages name theirs as entry points of the group ``tunesmith.<kinds>``:
    ``mine = "package.module:Class"``. A name of ours always means ours. ``take`` is given what is
    found there, and returns the thing, or None where it is no such thing: ``wanted`` says in an
    error what it has to be. ``listed`` says whether there is a command ``tunesmith <kinds>``.
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
        """All names: ours in their order, then others sorted."""
        return (*self._ours, *sorted(plug_ins(self._group).keys() - self._ours.keys()))

    def package(self, name: str) -> str:
        """Who brings what has this name."""
        point = self._point(name)
        return point.dist.name if point.dist else "tunesmith"

    def is_ours(self, name: str) -> bool:
        """Whether it comes with Tunesmith."""
        return name in self._ours

    def get(self, name: str) -> T:
        """What has this name.

        Raises ``UsageError`` for an unknown name and for what is no such thing,
        ``MissingDependencyError`` for what another package brings and cannot be imported.
        """
        point = self._point(name)
        if point not in self._loaded:
            self._loaded[point] = self._load(point)
        return self._loaded[point]

    def _point(self, name: str) -> EntryPoint:
        if name in self._ours:  # without a look at all installed packages
            return self._ours[name]
        others = plug_ins(self._group)
        if name not in others:
            raise unknown_name(self.kind, name, self.names(), listed_by=self._listed_by)
        return others[name]

    def _load(self, point: EntryPoint) -> T:
        whose = f"{self.kind} '{point.name}' ({point.value})"
        try:
            loaded = point.load()
        except Exception as error:  # a stranger's module may fail in any way
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
    """What the installed packages name as entry points of a group."""
    return _plug_ins(group, tuple(sys.path))


@cache
def _plug_ins(group: str, _path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
