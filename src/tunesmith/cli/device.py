"""``tunesmith device`` and ``tunesmith tracker``: devices that other machines measure on."""

from __future__ import annotations

import importlib.util
import os
from typing import Annotated

from typer import Option

from tunesmith.cli.output import remark
from tunesmith.errors import MissingDependencyError, UsageError


def device(
    *,
    tracker: Annotated[str, Option(help="HOST:PORT of the tracker.")],
    key: Annotated[str, Option(help="The name of devices of this kind, such as rpi4.")],
    host: Annotated[str, Option(help="The address to listen on.")] = "0.0.0.0",
    port: Annotated[
        int, Option(help="The port to listen on; 0 is any free one.", min=0, max=65535)
    ] = 0,
    known_as: Annotated[
        str | None, Option(help="The host name of this device, if not as the tracker sees it.")
    ] = None,
    memory_limit: Annotated[
        int | None, Option(help="MiB a trial may use at most; default: half of the memory.")
    ] = None,
) -> None:
    """Run programs on this machine for 'tunesmith tune --rpc' on others."""
    _load_runtime()
    from tunesmith.measure.remote.device.server import DeviceOptions, DeviceServer
    from tunesmith.measure.remote.tracker import Address

    address = Address.of(tracker, "--tracker")
    if not key or any(not sign.isprintable() or sign in " :" for sign in key):
        raise UsageError(f"--key must be a word without colons, not '{key}'")
    if memory_limit is not None and memory_limit < 1:
        raise UsageError(f"--memory-limit must be at least 1 MiB, not {memory_limit}")
    limit = _half_of_memory() if memory_limit is None else memory_limit << 20
    options = DeviceOptions(address, key, host, port, known_as, limit)
    server = DeviceServer(options, remark)
    remark(f"serving as '{key}' of the tracker at {address}, on port {server.port}; Ctrl-C ends")
    server.serve()


def tracker(
    *,
    host: Annotated[str, Option(help="The address to listen on.")] = "0.0.0.0",
    port: Annotated[
        int, Option(help="The port to listen on; 0 is any free one.", min=0, max=65535)
    ] = 9190,
) -> None:
    """Keep track of devices, for 'tunesmith device' and 'tunesmith tune --rpc'."""
    if importlib.util.find_spec("tornado") is None:
        raise MissingDependencyError(
            "the tracker needs tornado: install it with pip install 'tunesmith[rpc]'"
        )
    from tunesmith.measure.remote.listening import listen
    from tunesmith.measure.remote.tracker import run_tracker

    listener = listen(host, port)
    _load_runtime()

    remark(f"tracking devices on port {listener.getsockname()[1]}; Ctrl-C ends")
    run_tracker(listener)


def _load_runtime() -> None:
    """Import TVM without its compiler, which nothing is asked of here."""
    from tunesmith.compiler.importing import load_compiler

    name = "TVM_USE_RUNTIME_LIB"  # read when TVM is imported
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        load_compiler()
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _half_of_memory() -> int:
    import psutil

    return int(psutil.virtual_memory().total) // 2
