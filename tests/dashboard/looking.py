"""What tests of the pages look at."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from tests.dashboard.browser import Browser
from tests.dashboard.samples import TASK

DRAWN = "document.querySelectorAll('#{name}-plot .main-svg').length > 0"


def task_page(address: str, key: str = TASK) -> str:
    return f"{address}task?{urlencode({'key': key})}"


def drawn(chromium: Browser, *names: str) -> None:
    for name in names:
        chromium.until(DRAWN.format(name=name))
    chromium.settled()


def assert_quiet(chromium: Browser, address: str) -> None:
    """The page said nothing on the console, and asked nobody but its server."""
    assert chromium.log == []
    assert chromium.dialogs == []
    hosts = {urlsplit(url).netloc for url in chromium.requests if url.startswith("http")}
    assert hosts == {urlsplit(address).netloc}
