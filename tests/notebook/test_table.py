"""Tables of text for notebooks."""

from __future__ import annotations

from tests.reports.documents import read
from tests.reports.samples import attack
from tunesmith.notebook import html_table


def test_rows_and_heads() -> None:
    page = read(html_table("a caption", ("name", "amount"), [("x", 1), ("y", 2.5)]))
    assert [cell.text for cell in page.all("th")] == ["name", "amount"]
    assert [cell.text for cell in page.all("td")] == ["x", "1", "y", "2.5"]
    assert [each.text for each in page.all("caption")] == ["a caption"]


def test_hostile_text_is_text() -> None:
    page = read(html_table(attack("caption"), (attack("head"),), [(attack("cell"),)]))
    assert page.count("owned") == 0
    assert page.all("script") == page.all("img") == []
    assert page.all("td")[0].text == attack("cell")


def test_it_stays_small() -> None:
    text = html_table("many", ("a",), [("x" * 10_000,)] * 1000)
    assert len(text) < 10_000
    assert "and 970 more" in text


def test_marks_of_direction_and_control_characters_go() -> None:
    assert "\u202e" not in html_table("\u202eabc\0", ("a",), [("b\n\nc\u2067",)])
    assert ">b c<" in html_table("", ("a",), [("b\n\nc\u2067",)])
