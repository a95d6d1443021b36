"""The documentation as a site: it is built whole, and no link in it leads nowhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tunesmith
from tests.docs.pages import ROOT
from tests.patience import PATIENCE

# Rooms are packages, whose names have pages by their own.
ROOMS = {"evolve", "models", "networks", "operators", "sketches", "testing", "tuners"}


def built(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The site of a configuration, in a folder."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*words, "--config-file", str(config), "--site-dir", str(folder)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        timeout=PATIENCE,
    )


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site needs MkDocs")
    ran = built(ROOT / "mkdocs.yml", tmp_path)
    assert ran.returncode == 0, ran.stderr
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / page.with_suffix(".html").name).exists()
    headings = {
        html.unescape(found)
        for page in (tmp_path / "api").glob("*.html")
        for found in re.findall(r'id="tunesmith\.([\w.]+)"', page.read_text(encoding="utf-8"))
    }
    documented = {name.rpartition(".")[2] for name in headings}
    assert set(tunesmith.__all__) - ROOMS <= documented, "every public name has its place"
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="(https?://[^"]+)', text)
        assert not [url for url in fetched if "github.com/tunesmith" not in url], page


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site needs MkDocs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[two](two.md)\n")
    strict = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    checks = strict[strict.index("validation:") : strict.index("not_in_nav:")]
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"site_name: x\ntheme: mkdocs\n{checks}")
    ran = built(config, tmp_path / "site")
    assert ran.returncode != 0
    assert "two.md" in ran.stderr
