"""A connection to a Ray cluster, or a cluster of this machine alone that lasts as long as it."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import psutil

from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import (
    MissingDependencyError,
    TunesmithError,
    UsageError,
    describe,
    system_reason,
)
from tunesmith.problem import MeasurerLostError

LOCAL = "local"
"""The address that stands for a cluster of this machine alone."""

# How long the cluster's head may take to answer, in seconds.
_ANSWER = 10.0

# What results and machine code need is far less; Ray's least is 75 MB.
_OBJECT_STORE = 100 << 20

# Ray binds to all addresses if told 127.0.0.1; this one is as local.
_LOOPBACK = "127.0.0.2"

# The path of a socket has at most 107 bytes, and Ray adds about 70 to this folder.
_LONGEST_FOLDER = 30


class Connection:
    """The process's connection to a cluster, which Ray has one of.

    If the process is connected already, that connection is used, and stays.

    Raises ``MissingDependencyError`` without Ray, ``UsageError`` for what is no address, and
    ``TunesmithError`` if no cluster answers there, or one that cannot be used from here.
    """

    def __init__(self, address: str, remark: Callable[[str], None]) -> None:
        """``remark`` is told, in one line, of what may take its time."""
        host_port = None if address == LOCAL else _split(address)
        # Ray reads it when it is imported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise MissingDependencyError(
                "a cluster needs Ray: pip install 'tunesmith[cluster]'"
            ) from None
        self._ours = not ray.is_initialized()
        self._folder = ""
        if not self._ours:
            return
        try:
            if host_port is None:
                remark("starting a cluster on this machine")
                self._start()
            else:
                remark(f"joining the cluster at {address}")
                _check_answers(address, *host_port)
                if "RAY_AUTH_MODE" not in os.environ and asks_for_token(host_port[1]):
                    os.environ["RAY_AUTH_MODE"] = "token"
                    ray._raylet.Config.initialize("")  # or what was read before would count
                _init(address=address)
        except BaseException as error:
            self.close()
            if isinstance(error, TunesmithError) or not isinstance(error, Exception):
                raise
            raise TunesmithError(_complaint(address, error)) from error

    def nodes(self) -> list[Mapping[str, Any]]:
        """Ray's entry of each living node. Raises ``MeasurerLostError`` if it cannot be asked."""
        import ray

        # Ray would end this process when its head has not answered for a minute, and would wait
        # forever without a node of this machine.
        context = ray.get_runtime_context()
        head, _, port = context.gcs_address.rpartition(":")
        if not answers(head.strip("[]"), int(port)):
            raise MeasurerLostError("the head of the cluster is gone")
        entries = [entry for entry in ray.nodes() if entry["Alive"]]
        if context.get_node_id() not in {entry["NodeID"] for entry in entries}:
            raise MeasurerLostError("this machine's node of the cluster is gone")
        return entries

    def close(self) -> None:
        """Disconnect; end a cluster that was started. Safe to call twice."""
        import ray

        if self._ours:
            ray.shutdown()
            self._ours = False
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        parent = tempfile.gettempdir()
        short = parent if len(parent) <= _LONGEST_FOLDER else "/tmp"
        self._folder = tempfile.mkdtemp(prefix="ray-", dir=short)
        _init(
            num_cpus=usable_cores(),
            object_store_memory=_OBJECT_STORE,
            include_dashboard=False,
            _node_ip_address=_LOOPBACK,
            _temp_dir=self._folder,
        )


def _init(**options: Any) -> None:
    import ray

    # What Ray and its processes have to say is in Ray's log. This function prints what is said of
    # dead processes, on standard output, which is for our results; no option turns that off.
    if hasattr(ray._private.worker, "print_to_stdstream"):
        ray._private.worker.print_to_stdstream = _say_nothing
    ray.init(log_to_driver=False, logging_level="critical", **options)


def _say_nothing(*_: object, **__: object) -> None:
    pass


def _split(address: str) -> tuple[str, int]:
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(
            f"a cluster's address is HOST:PORT or '{LOCAL}', not '{address}': 'ray status' tells it"
        )
    return host.strip("[]"), int(port)


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there, or may do so: it is too busy to say."""
    try:
        socket.create_connection((host, port), _ANSWER).close()
    except OSError as error:
        return isinstance(error, TimeoutError)
    return True


def asks_for_token(port: int) -> bool:
    """Whether this machine's node of the cluster whose head has this port asks for a token.

    ``ray start`` decides that by itself: it does if there is a token. To join by an address Ray has
    to be told; otherwise it tries for long, and says that nobody answers.
    """
    for process in psutil.process_iter():
        try:
            is_node = process.name() == "raylet" and any(
                "gcs-address" in word and word.endswith(f":{port}") for word in process.cmdline()
            )
            if is_node and process.environ().get("RAY_AUTH_MODE") == "token":
                return True
        except psutil.Error:  # it has ended, or is somebody else's
            continue
    return False


def _check_answers(address: str, host: str, port: int) -> None:
    """Raises ``TunesmithError`` if nobody listens there: Ray would try for minutes."""
    try:
        socket.create_connection((host, port), _ANSWER).close()
    except OSError as error:
        raise TunesmithError(
            f"no cluster answers at {address}: {system_reason(error)}; start one by 'ray start "
            "--head'"
        ) from error


def _complaint(address: str, error: Exception) -> str:
    hint = ""
    if isinstance(error, ConnectionError) and "RAY_AUTH_MODE" not in os.environ:
        hint = "; if it asks for a token, set RAY_AUTH_MODE=token"
    return f"cannot use the cluster at {address}: {describe(error)}{hint}"
