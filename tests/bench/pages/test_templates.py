"""Pages of Markdown: text is wrapped, tables fit, code stays as it is."""

from __future__ import annotations

import pytest

from tunesmith.bench.pages.templates import WIDEST_TABLE, WIDTH, markdown, table, tidy


def test_text_is_wrapped_and_items_are_indented() -> None:
    page = tidy(
        "# A title that stays\n\n\n\none\ntwo\n- " + "word " * 40 + "\n- an item\n  of two lines"
    )
    lines = page.splitlines()
    assert lines[:4] == ["# A title that stays", "", "one two", lines[3]]
    assert lines[3].startswith("- word word") and lines[4].startswith("  word word")
    assert max(map(len, lines)) <= WIDTH
    assert lines[-1] == "- an item of two lines"
    assert page.endswith("lines\n")


def test_pictures_and_code_stay_as_they_are() -> None:
    code = "```json\n" + '{"a":   1}, ' * 20 + "\n\n\n\nmore\n```"
    picture = f"![{'a long title ' * 9}](x.svg)"
    page = tidy(f"{picture}\n\n{code}\n")
    assert code in page
    assert page.splitlines()[0] == picture


def test_a_table_that_is_too_wide_is_split() -> None:
    head = ["name", *(f"a column {number:02d}" for number in range(12))]
    lines = tidy(table(head, [["one", *["1.0"] * 12], ["two", *["2.0"] * 12]])).splitlines()
    assert max(map(len, lines)) <= WIDEST_TABLE
    heads = [line for line in lines if line.startswith("| name |")]
    assert len(heads) == 2
    assert "".join(heads).count("a column") == 12
    assert lines[1] == "|---|---|---|---|---|---|---|"
    assert [line for line in lines if line.startswith("| two |")][1].count("2.0") == 12 - lines[
        0
    ].count("a column")


def test_a_table_that_fits_stays_whole() -> None:
    text = table(["", "a"], [["x", ""], ["y", "1"]])
    assert text == "|  | a |\n|---|---|\n| x |  |\n| y | 1 |"
    assert tidy(text) == text + "\n"


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'figures' is undefined"):
        markdown("calls/page.md.jinja")
