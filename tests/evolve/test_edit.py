"""What an edit leaves to chance is decided by its seed alone."""

from __future__ import annotations

from collections import Counter

from tunesmith.evolve.edit import Edit


def test_a_choice_stays_unless_a_new_one_takes_its_place() -> None:
    choices = [f"v{number}" for number in range(6)]
    for seed in range(50):
        edit = Edit("delete", "i1", seed=seed)
        chosen = edit.pick("i2:0", choices)
        assert edit.pick("i2:0", choices[::-1]) == chosen
        assert edit.pick("i2:0", [*choices, "new"]) in (chosen, "new")
        assert edit.pick("i2:0", [each for each in choices if each == chosen or each > "v2"]) == (
            chosen
        )


def test_choices_are_all_as_likely() -> None:
    choices = ["a", "b", "c", "d"]
    drawn = Counter(Edit("delete", "i1", seed=seed).pick("i2:0", choices) for seed in range(400))
    assert min(drawn.values()) > 70
    users = Counter(Edit("delete", "i1").pick(user, choices) for user in range(400))
    assert min(users.values()) > 70
