"""What every representation of a program that can be edited keeps to."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

import pytest

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.representation import Representation, random_edit

_TRIES = 200
_LEAST_VALID = 0.6


class RepresentationConformance(ABC):
    """Derive from it, and make a representation of a program with a dozen parts or more."""

    @abstractmethod
    def make_representation(self) -> Representation:
        """A new one of the same program each time."""

    @pytest.fixture
    def representation(self) -> Representation:
        return self.make_representation()

    @pytest.fixture
    def patch(self, representation: Representation) -> list[Edit]:
        """Thirty edits, each valid after those before it."""
        chance = random.Random(1)
        edits: list[Edit] = []
        for _ in range(30):
            edits.append(random_edit(representation, edits, chance))
        return edits

    def test_the_same_program_has_the_same_digest(self, representation: Representation) -> None:
        assert self.make_representation().digest == representation.digest

    def test_the_same_edits_make_the_same_program(
        self, representation: Representation, patch: list[Edit]
    ) -> None:
        again = [Edit.from_json(edit.to_json()) for edit in patch]
        assert self.make_representation().apply(again) == representation.apply(patch)

    def test_no_edit_changes_nothing(self, representation: Representation) -> None:
        assert representation.apply([]) == self.make_representation().apply([])
        assert representation.difference([]) == []
        assert representation.describe([]) == []

    def test_any_of_them_can_be_left_out_in_any_order(
        self, representation: Representation, patch: list[Edit]
    ) -> None:
        chance = random.Random(2)
        made = set()
        for _ in range(60):
            some = [edit for edit in patch if chance.random() < 0.5]
            chance.shuffle(some)
            made.add(representation.apply(some))
        assert len(made) > 30, "they are different programs"

    def test_applying_leaves_the_original_alone(
        self, representation: Representation, patch: list[Edit]
    ) -> None:
        before = representation.apply([])
        representation.apply(patch)
        assert representation.apply([]) == before

    def test_most_random_edits_are_valid(self, representation: Representation) -> None:
        chance = random.Random(3)
        original, valid = representation.apply([]), 0
        for _ in range(_TRIES):
            edit = representation.draw([], chance)
            try:
                valid += representation.apply([edit]) != original
            except InvalidEditError:
                continue
        assert valid >= _LEAST_VALID * _TRIES

    def test_all_kinds_are_drawn_and_make_programs(self, representation: Representation) -> None:
        chance = random.Random(4)
        kinds = {random_edit(representation, [], chance).kind for _ in range(_TRIES)}
        assert kinds == {"copy", "delete", "move", "replace", "swap", "operand"}

    def test_an_edit_of_what_is_gone_changes_nothing(self, representation: Representation) -> None:
        chance = random.Random(5)
        edit = random_edit(representation, [], chance)
        gone = Edit(edit.kind, "nothing of this name", edit.other, seed=1)
        assert representation.apply([gone]) == representation.apply([])

    def test_they_are_told_in_words_and_as_a_diff(
        self, representation: Representation, patch: list[Edit]
    ) -> None:
        words = representation.describe(patch)
        assert len(words) == len(patch)
        assert all(text and "\n" not in text for text in words)
        difference = representation.difference(patch)
        assert any(line.startswith("+") for line in difference)
        assert any(line.startswith("-") for line in difference)
