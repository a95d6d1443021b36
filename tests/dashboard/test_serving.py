"""The end of a dashboard while it still answers."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.dashboard.samples import begin, measured
from tests.patience import PATIENCE
from tunesmith.dashboard import serving
from tunesmith.store import open_overview, open_store


def test_what_answers_when_it_ends_finds_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from waitress.server import TcpWSGIServer

    wake = TcpWSGIServer.pull_trigger
    faults: list[OSError] = []
    woken = threading.Event()

    def wake_late(server: Any) -> None:
        time.sleep(0.2)
        try:
            wake(server)
        except OSError as error:
            faults.append(error)
        woken.set()

    answers: list[http.client.HTTPResponse] = []

    def ask_and_interrupt(address: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
        connection.request("GET", "/", headers={"Connection": "close"})
        answers.append(connection.getresponse())
        raise KeyboardInterrupt

    monkeypatch.setattr(TcpWSGIServer, "pull_trigger", wake_late)
    monkeypatch.setattr(serving, "_CLOSING", PATIENCE)
    with open_store(tmp_path / "tuning.db") as store:
        store.append(begin(store), [measured(1.0, tile=1)])
    with (
        open_overview(tmp_path / "tuning.db") as overview,
        pytest.raises(KeyboardInterrupt),
    ):
        serving.serve(overview, serving.Place("127.0.0.1", 0, None), ask_and_interrupt)
    assert woken.wait(PATIENCE)
    assert [answer.status for answer in answers] == [200]
    answers[0].close()
    assert faults == []
