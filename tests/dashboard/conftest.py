"""Dashboards that answer in this process, and a browser to look at them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboard.browser import Browser, browser
from tests.patience import PATIENCE
from tunesmith.networks import Network

Serve = Callable[..., str]


@pytest.fixture(scope="package", autouse=True)
def _has_dash() -> None:
    pytest.importorskip("dash", reason="the extra 'dashboard' is not installed")
    pytest.importorskip("waitress", reason="the extra 'dashboard' is not installed")


@pytest.fixture(scope="module")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as made:
        yield made


@pytest.fixture
def chromium(_browser: Browser) -> Browser:
    """A browser that has heard nothing yet."""
    _browser.open("about:blank")
    _browser.until("location.href === 'about:blank'")  # the last page asks no more
    for heard in (_browser.log, _browser.dialogs, _browser.requests):
        heard.clear()
    return _browser


@pytest.fixture(scope="module")
def serve_store() -> Iterator[Serve]:
    """Serves a store on loopback, and gives the address."""
    from tunesmith.dashboard.serving import Place, serve
    from tunesmith.store import open_overview

    def served(
        path: Path, token: str | None = None, network: tuple[str, Network] | None = None
    ) -> str:
        address: list[str] = []
        ready = threading.Event()

        def tell(found: str) -> None:
            address.append(found)
            ready.set()

        def run() -> None:
            with open_overview(path) as store:
                serve(store, Place("127.0.0.1", 0, token), tell, network=network)

        threading.Thread(target=run, daemon=True).start()
        assert ready.wait(PATIENCE)
        return address[0]

    yield served
