"""A real browser that a test drives, over a pipe: it looks, clicks and waits."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.reports.chromium import NAMES


class Browser:
    """One tab. ``log`` has what pages said on the console, ``dialogs`` what they asked, and
    ``requests`` the addresses that they wanted."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._buffer = write, read, b""
        self._number, self._session = 0, ""
        self.log: list[str] = []
        self.dialogs: list[str] = []
        self.requests: list[str] = []

    def start(self) -> None:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, *, width: int = 1300, height: int = 1000, dark: bool = False) -> None:
        """Open an address in a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self.prefer("dark" if dark else "light")
        self._call("Page.navigate", url=url)

    def prefer(self, scheme: str) -> None:
        """The colour scheme that the user's system asks for from now on."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def value(self, script: str) -> Any:
        """What an expression of JavaScript gives; None if it fails."""
        given = {"expression": script, "returnByValue": True, "awaitPromise": True}
        return self._call("Runtime.evaluate", **given)["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until an expression gives something true, and return it."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.value(script)):
            assert time.monotonic() < deadline, f"still not: {script}; {self.text[:2000]}"
            time.sleep(0.05)
        return found

    def settled(self) -> None:
        """Wait until the page has asked for nothing for a while, so that it is whole."""
        self.until("document.querySelector('#page > *') !== null")
        quiet, before = time.monotonic(), len(self.requests)
        while time.monotonic() < quiet + 1.0:
            time.sleep(0.1)
            busy = self.value("document.querySelector('[data-dash-is-loading=true]') !== null")
            answered = [it for it in self.requests[before:] if "_dash-update" not in it]
            if busy or answered:
                quiet, before = time.monotonic(), len(self.requests)

    @property
    def text(self) -> str:
        """What the page shows."""
        return str(self.value("document.body.innerText"))

    def click(self, selector: str) -> None:
        self.until(f"document.querySelector({json.dumps(selector)}) !== null")
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._hear(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            received = os.read(self._read, 1 << 20)
            assert received, "the browser has gone"
            self._buffer += received
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def _hear(self, event: dict[str, Any]) -> None:
        given = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.log.append(" ".join(str(it.get("value")) for it in given["args"]))
            case "Runtime.exceptionThrown":
                self.log.append(str(given["exceptionDetails"]))
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                self.log.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(given["message"])


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile in ``folder``; skips where none is installed."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"needs a browser: none of {', '.join(NAMES)} is installed")
    theirs_read, ours_write = os.pipe()
    ours_read, theirs_write = os.pipe()
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--no-first-run", "--hide-scrollbars", "--enable-unsafe-swiftshader"),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
        "--remote-debugging-pipe",
    ]
    # The browser reads from its descriptor 3 and writes to 4.
    words = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs_read} 4>&{theirs_write}', binary, *options]
    process = subprocess.Popen(
        words,
        pass_fds=(theirs_read, theirs_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs_read)
    os.close(theirs_write)
    try:
        made = Browser(ours_write, ours_read)
        made.start()
        yield made
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        os.close(ours_write)
        os.close(ours_read)
