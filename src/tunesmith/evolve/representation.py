"""What the search needs of a kind of program: to edit it, whatever it is made of."""

from __future__ import annotations

import contextlib
import difflib
import random
from collections.abc import Iterable, Mapping
from typing import Protocol

from tunesmith.evolve.edit import Edit, EditKind, Edits, InvalidEditError

TRIES = 100
"""How often a random edit is drawn until one is valid."""


class Representation(Protocol):
    """A program that can be edited. Its parts have identities that no edit changes, so that edits
    can be left out, and put in another order, and all that still has its parts is applied the same
    way."""

    @property
    def digest(self) -> str:
        """Of the original: edits of one program say nothing of another."""

    def apply(self, edits: Edits) -> str:
        """The text of the program with these edits. One whose parts are gone changes nothing, so
        that any of them can be left out.

        Raises ``InvalidEditError`` where the result is no program.
        """

    def draw(self, edits: Edits, random: random.Random) -> Edit:
        """Any edit of the program with these edits, which may be invalid.

        Raises ``InvalidEditError`` where nothing can be edited.
        """

    def describe(self, edits: Edits) -> list[str]:
        """Each edit in words, with the line of the source where it is known."""

    def difference(self, edits: Edits) -> list[str]:
        """What the edits change, as lines of a unified diff of the original and the result."""


_WORDS: dict[EditKind, str] = {
    "copy": "copy {0} before {1}",
    "delete": "delete {0}",
    "move": "move {0} before {1}",
    "replace": "{0} becomes a copy of {1}",
    "swap": "{0} and {1} change places",
    "operand": "another operand {2} in {0}",
}


def in_words(edits: Edits, parts: Mapping[str, str]) -> list[str]:
    """Each edit in words; ``parts`` are those of the original in words, by identity. A copy has the
    identity of its original, with something behind a plus sign."""

    def told(identity: str) -> str:
        words = parts.get(identity.partition("+")[0])
        if words is None:
            return identity
        return f"a copy of {words}" if "+" in identity else words

    return [
        _WORDS[edit.kind].format(told(edit.target), told(edit.other), edit.slot + 1)
        for edit in edits
    ]


def unified_diff(original: Iterable[str], variant: Iterable[str]) -> list[str]:
    """The lines of a unified diff; nothing where both are the same."""
    before, after = list(original), list(variant)
    return list(difflib.unified_diff(before, after, "original", "variant", lineterm="", n=2))


def random_edit(
    representation: Representation, edits: Edits, random: random.Random, tries: int = TRIES
) -> Edit:
    """An edit that makes another program after these edits.

    Raises ``InvalidEditError`` where none of so many was valid, or nothing can be edited.
    """
    before = representation.apply(edits)
    for _ in range(tries):
        edit = representation.draw(edits, random)
        with contextlib.suppress(InvalidEditError):
            if representation.apply([*edits, edit]) != before:
                return edit
    raise InvalidEditError(f"no valid edit in {tries} tries")
