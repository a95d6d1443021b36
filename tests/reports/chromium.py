"""Opens pages in a real browser that has no network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.reports.documents import Element, read

NAMES = ("chromium", "chromium-browser", "google-chrome")
DARK_PAGE = "--blink-settings=preferredColorScheme=0"


def open_page(path: Path, *options: str, width: int = 1400) -> Element:
    """The page after its scripts ran, which must be silent and have drawn the figures."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"needs a browser: none of {', '.join(NAMES)} is installed")
    command = [
        binary,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={path.parent / 'profile'}",
        f"--window-size={width},2000",
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        *options,
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert re.findall(r"CONSOLE.*", done.stderr) == []
    page = read(done.stdout)
    assert page.all("body")[0].attributes["data-figures"] == "drawn"
    return page


def styles(element: Element, name: str) -> set[str]:
    """The values of a CSS property on all elements below."""
    found = (re.search(rf"\b{name}: ([^;]+)", e.attributes.get("style", "")) for e in element)
    return {match[1] for match in found if match}


def rgb(colour: str) -> str:
    """``#rrggbb`` as a browser writes it."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def widths(page: Element) -> list[float]:
    """The widths of the figures in pixels."""
    return [float(e.attributes["width"]) for e in page.all("svg") if "main-svg" in e.classes]
