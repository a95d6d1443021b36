"""Pages that are made anew from their files of figures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tunesmith.bench.rewrite import rewrite
from tunesmith.errors import TunesmithError, UsageError

FIGURES = Path(__file__).parents[2] / "docs" / "benchmarks"
FILES = sorted(FIGURES.glob("**/*.json"))


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(FIGURES)) for file in FILES])
def test_the_figures_in_the_repository_make_their_pages(tmp_path: Path, file: Path) -> None:
    copy = tmp_path / file.name
    copy.write_bytes(file.read_bytes())
    rewrite(copy)
    assert copy.read_bytes() == file.read_bytes(), "figures stay as they are"
    (page,) = tmp_path.glob("*.md")
    assert page.name == ("search.md" if file.stem.startswith("search") else f"{file.stem}.md")
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^- date: \d{4}-\d\d-\d\d", text, re.MULTILINE)
    wide = [line for line in text.splitlines() if len(line) > 100]
    assert all(" " not in line or line.startswith("{") for line in wide), "code, and nothing else"
    for chart in tmp_path.glob("*.svg"):
        assert f"]({chart.name})" in text


def test_files_of_something_else_are_refused_in_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}')
    with pytest.raises(UsageError, match=r"other.json is none of the files of 'tunesmith bench'"):
        rewrite(other)
    old = tmp_path / "loop.json"
    old.write_text('{"machine": {}}')
    with pytest.raises(UsageError, match=r"loop.json has no 'date': it is of an older version"):
        rewrite(old)
    other.write_text("")
    with pytest.raises(TunesmithError, match="holds no figures of an earlier run"):
        rewrite(other)
    words = [sys.executable, "-m", "tunesmith.bench.rewrite", str(tmp_path / "gone.json")]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == f"tunesmith: there is no file {tmp_path / 'gone.json'}\n"
