"""The pages for people, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?:#|//) (?P<name>[\w.-]+\.\w+)")


@dataclass(frozen=True)
class Block:
    """A fenced block. ``line`` is the page's line that its text begins on."""

    language: str
    text: str
    line: int

    @property
    def file_name(self) -> str | None:
        """The file that the block shows: its first line is a comment with nothing but the name."""
        named = _FILE_NAME.fullmatch(self.text.partition("\n")[0])
        return None if named is None else named["name"]

    @property
    def commands(self) -> list[str]:
        """What is typed after the prompts of a console, over as many lines as it takes."""
        return re.findall(r"^\$ ((?:.*\\\n)*.*)$", self.text, re.MULTILINE)


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], text.count("\n", 0, found.start("text")) + 1)
        for found in _FENCED.finditer(text)
    ]
