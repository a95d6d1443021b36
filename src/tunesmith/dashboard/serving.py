"""Serves the dashboard until it is told to end."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tunesmith.dashboard.access import is_loopback
from tunesmith.dashboard.watch import Watch
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.measure.remote.listening import listen
from tunesmith.store.overview import Overview

if TYPE_CHECKING:
    from tunesmith.networks import Network

_THREADS = 8

# Seconds that answers and open connections have to end; after that they end with the process.
_CLOSING = 1.0


def check_installed() -> None:
    """Raise `MissingDependencyError` unless the libraries of the dashboard are there."""
    try:
        import dash  # noqa: F401
        import waitress  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"the dashboard needs the package '{error.name}', which is missing: install "
            "tunesmith[dashboard]"
        ) from error


def token_for(host: str, given: str | None) -> str | None:
    """The token that a dashboard on this host asks for: the ``given`` one, else a new one unless
    only this machine can reach it. Raises `UsageError` for a given one that is too short."""
    if given is not None:
        if len(given) < 8 or not given.isascii() or not given.isprintable() or " " in given:
            raise UsageError("--token needs at least 8 letters, digits or signs, without spaces")
        return given
    return None if is_loopback(host) else secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Place:
    """Where to listen, and what visitors must know; ``port`` 0 is any free one."""

    host: str
    port: int
    token: str | None


def serve(
    store: Overview,
    place: Place,
    ready: Callable[[str], None],
    counted: Callable[[int, int], None] | None = None,
    network: tuple[str, Network] | None = None,
) -> None:
    """Serve a store's dashboard until Ctrl-C; ``ready`` gets its address when it answers.

    It has a page about a ``network``, which comes with its name for people, if there is one.

    ``counted`` hears how many of how many records are read at first.
    Raises `TunesmithError` if it cannot listen there, `StoreError` if the store cannot be read.
    """
    listening = listen(place.host, place.port)
    with listening:
        from waitress import create_server

        from tunesmith.dashboard.app import make_app
        from tunesmith.dashboard.network import WatchedNetwork

        watch = Watch(store)
        watch.snapshot(counted)
        watched = None if network is None else WatchedNetwork(*network, store)
        app = make_app(watch, token=place.token, network=watched)
        server: Any = create_server(
            app.server,
            sockets=[listening],
            threads=_THREADS,
            ident=None,
            clear_untrusted_proxy_headers=True,
        )
        # Not in this thread: there waitress would keep Ctrl-C to itself.
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            ready(_address(listening, place))
            thread.join()
        finally:
            _end(server, thread)


def _end(server: Any, thread: threading.Thread) -> None:
    # Answers that the end cuts off are no faults to tell of.
    logging.getLogger("waitress").disabled = True
    # First the threads that answer: they wake the server by its trigger, which `close` takes away.
    server.task_dispatcher.shutdown(timeout=_CLOSING)
    # In its own thread, which must not find a closed socket among those that it waits for.
    server.trigger.pull_trigger(server.close)
    thread.join(_CLOSING)


def _address(listening: socket.socket, place: Place) -> str:
    name = f"[{place.host}]" if ":" in place.host else place.host
    if place.host in ("0.0.0.0", "::"):  # all addresses of this machine
        name = socket.gethostname()
    query = "" if place.token is None else f"?token={quote(place.token, safe='')}"
    return f"http://{name}:{listening.getsockname()[1]}/{query}"
