"""docs/tuners.md has a section for each of our tuners, with the options that it has."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT
from tunesmith.tuners import describe_tuners
from tunesmith.tuners.options import Option

PAGE = (ROOT / "docs" / "tuners.md").read_text(encoding="utf-8")
OURS = {each.name: each for each in describe_tuners() if each.package == "tunesmith"}

_ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def section(tuner: str) -> str:
    """What the page says of a tuner."""
    found = re.search(rf"^## `{tuner}`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def row(option: Option) -> tuple[str, str, str]:
    """What the page has to say of an option: its name, its default, and what it does."""
    default = "none" if option.default is None else str(option.default)
    return option.name, default, option.meaning


def test_every_tuner_has_a_section_and_a_row() -> None:
    assert set(re.findall(r"^## `(\w+)`", PAGE, re.MULTILINE)) == set(OURS)
    assert set(re.findall(r"^\| \[`(\w+)`\]\(#\1\)", PAGE, re.MULTILINE)) == set(OURS)


@pytest.mark.parametrize("tuner", OURS)
def test_options_are_those_of_the_tuner(tuner: str) -> None:
    """In words as ``tunesmith tuners`` has them."""
    assert _ROW.findall(section(tuner)) == [row(option) for option in OURS[tuner].options]
    assert OURS[tuner].options or "no options" in section(tuner)
