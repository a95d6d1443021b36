"""Messages for names that there are not."""

from __future__ import annotations

from tunesmith.errors import UsageError, unknown_name


def message(name: str, count: int, listed_by: str | None = None) -> str:
    error = unknown_name("thing", name, [f"n{i}" for i in range(count)], listed_by=listed_by)
    assert isinstance(error, UsageError)
    return str(error)


def test_near_names_come_first() -> None:
    assert message("n1x", 3, "things") == "unknown thing 'n1x': did you mean n1?"


def test_a_few_names_are_all_told() -> None:
    assert message("x", 3, "things") == "unknown thing 'x': known: n0, n1, n2"
    assert message("x", 0) == "unknown thing 'x': there is none"


def test_of_many_names_a_few_are_told_and_where_the_others_are() -> None:
    few = "n0, n1, n10, n11, n2, n3, n4, n5"
    assert message("x", 12) == f"unknown thing 'x': known: {few}, …"
    assert message("x", 12, "things") == f"unknown thing 'x': known: {few}, … ('things' lists them)"
