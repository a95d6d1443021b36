"""Messages for names that there are not, and the reasons that other errors give, in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import (
    UsageError,
    describe,
    first_line,
    last_line,
    one_line,
    unknown_name,
)


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


@given(st.text())
def test_one_line_is_one_printable_line_of_bounded_length(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and len(line) <= 300
    assert one_line(line) == line


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("one\ntwo"), "ValueError: one two"),
        (KeyError(), "KeyError"),
        (RuntimeError("RuntimeError: twice"), "RuntimeError: twice"),
        (RuntimeError("IR:\nblah\nError message: no such block"), "RuntimeError: no such block"),
        (UsageError("written for people"), "written for people"),
    ],
)
def test_exceptions(error: BaseException, text: str) -> None:
    assert describe(error) == text


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("why", "why", "why"),
        ("\n the reason \nwhere\n  what failed\n\n", "the reason", "what failed"),
        (" \n", "ValueError", "ValueError"),
    ],
)
def test_ends_of_what_a_library_says(text: str, first: str, last: str) -> None:
    assert first_line(ValueError(text)) == first
    assert last_line(ValueError(text)) == last
