"""An edit of a program: what is done to which part of it, and the seed of all that it leaves to
chance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Self, TypeVar, get_args

from tunesmith.errors import TunesmithError, UsageError

Choice = TypeVar("Choice")

EditKind = Literal["copy", "delete", "move", "replace", "swap", "operand"]
"""As in "GEVO-ML", section 3: what mutations are made of."""

KINDS: Final[tuple[EditKind, ...]] = get_args(EditKind)


class InvalidEditError(TunesmithError):
    """An edit that makes no program: its parts are gone, or nothing can take their place."""


@dataclass(frozen=True)
class Edit:
    """An edit by the identities of parts of the original, so that it can be applied without the
    edits that came before it.

    ``target`` is the part that it changes. ``other`` is the part that ``copy`` and ``move`` put
    ``target`` before, that takes its place (``replace``), or that it changes places with
    (``swap``). ``slot`` is the operand that changes, by number. ``seed`` decides what repairs the
    program afterwards, and which value an operand becomes: the same edits always make the same
    program.
    """

    kind: EditKind
    target: str
    other: str = ""
    slot: int = 0
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises ``UsageError`` for what is no edit."""
        try:
            edit = cls(**value)
        except TypeError as error:
            raise UsageError(f"{dict(value)!r} is no edit") from error
        if edit.kind not in KINDS:
            raise UsageError(f"{edit.kind!r} is no kind of edit: there are {', '.join(KINDS)}")
        return edit

    def pick(self, user: object, choices: Iterable[Choice]) -> Choice:
        """The choice for something that it repairs: always the same one, whatever other choices
        there are, unless one of these is ranked before it. So other edits hardly change what this
        one does (rendezvous hashing, Thaler and Ravishankar 1998)."""

        def rank(choice: Choice) -> bytes:
            told = f"{self.seed} {user} {choice}".encode()
            return hashlib.blake2b(told, digest_size=8).digest()

        return min(choices, key=rank)


Edits = Sequence[Edit]
"""A patch: what is done to the original, in this order."""
