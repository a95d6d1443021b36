"""Prints how long pages of a large store take in a real browser, from the address to the last plot.

``python -m tests.dashboard.browser_times STORE``; ``large_store`` makes one. Times are from opening
an address until the page asks for nothing more, each page twice.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import SimpleQueue

from tests.dashboard.browser import Browser, browser
from tests.dashboard.looking import task_page
from tests.dashboard.page_times import timed
from tunesmith.dashboard.serving import Place, serve
from tunesmith.dashboard.watch import Watch
from tunesmith.store import open_overview

# For so long a page has to be quiet until it counts as settled.
_QUIET = 1.0


def main(path: Path) -> None:
    with open_overview(path) as store, tempfile.TemporaryDirectory() as folder:
        addresses: SimpleQueue[str] = SimpleQueue()
        threading.Thread(
            target=lambda: serve(store, Place("127.0.0.1", 0, None), addresses.put), daemon=True
        ).start()
        address = timed("start: all records counted", addresses.get)
        largest = max(Watch(store).snapshot().tasks, key=lambda it: it.trials).key
        pages = {
            "first page": address,
            "task with all its plots": task_page(address, largest),
            "machines": f"{address}machines",
        }
        with browser(Path(folder)) as chromium:
            for again in ("", ", again"):
                for name, page in pages.items():
                    _time_page(chromium, f"{name}{again}", page)


def _time_page(chromium: Browser, name: str, page: str) -> None:
    began = time.perf_counter()
    chromium.open(page)
    chromium.until(f"location.href.startsWith({page!r}) && document.readyState === 'complete'")
    chromium.settled()
    seconds = time.perf_counter() - began - _QUIET
    plots = chromium.value("document.querySelectorAll('.main-svg').length")
    print(f"{name:32} {seconds:8.2f} s, {plots} drawings, {len(chromium.text):,} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
