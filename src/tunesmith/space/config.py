"""One point of a space: immutable, hashable, cheap to create."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tunesmith.errors import SpaceError
from tunesmith.space.value import Value, as_value, quote

# Types that need no conversion: most values take this fast path.
_PLAIN = frozenset((int, str, bool))


class Config(Mapping[str, Value]):
    """The value of each parameter, by name.

    Lists become tuples and NumPy scalars become Python's, so configs from JSON or from arrays equal
    those that a space samples. Raises SpaceError for a value of any other type, a number that is
    not finite, and a name that is no string.
    """

    __slots__ = ("_hash", "_key", "_values")

    _values: dict[str, Value]
    _hash: int | None
    _key: str | None

    def __init__(self, values: Mapping[str, object]) -> None:
        for name in values:
            if type(name) is not str:
                raise SpaceError(f"config: {quote(name)} is not a parameter's name: use a string")
        self._values = {
            name: value if type(value) in _PLAIN else as_value(value, f"config: '{name}'")  # type: ignore[misc]
            for name, value in values.items()
        }
        self._hash = None
        self._key = None

    @classmethod
    def from_values(cls, values: dict[str, Value]) -> Config:
        """A config that owns ``values``, without conversion or checks."""
        config = cls.__new__(cls)
        config._values = values
        config._hash = None
        config._key = None
        return config

    @classmethod
    def from_json(cls, obj: object) -> Config:
        """The inverse of ``to_json``. Raises SpaceError for an invalid ``obj``."""
        if not isinstance(obj, Mapping):
            raise SpaceError(f"config: {quote(obj)} is not a JSON object of names and values")
        return cls(obj)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary, tuples as lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._values.items()
        }

    @property
    def key(self) -> str:
        """Canonical compact JSON with sorted names: equal for configs whose values are equal and of
        the same types."""
        if self._key is None:
            self._key = json.dumps(self._values, sort_keys=True, separators=(",", ":"))
        return self._key

    def replace(self, /, **changes: object) -> Config:
        """A copy with some values changed.

        Raises SpaceError for an unknown name, or what is no value.
        """
        for name in changes:
            if name not in self._values:
                raise SpaceError(
                    f"config: no parameter '{name}' to replace: it has {', '.join(self._values)}"
                )
        return Config({**self._values, **changes})

    def values_of(self, names: Iterable[str]) -> list[Value]:
        """The values of these parameters. Raises KeyError for an unknown name."""
        return [*map(self._values.__getitem__, names)]

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Config):
            return self._values == other._values
        if isinstance(other, Mapping):
            return self._values == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the cached hash: hashes of strings differ between processes.
        return Config.from_values, (self._values,)

    def __repr__(self) -> str:
        return f"Config({self._values!r})"
