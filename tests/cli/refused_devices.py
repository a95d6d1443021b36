"""Options about devices elsewhere that every command which tunes refuses: words, and the line."""

from __future__ import annotations

_NAMED = ("--rpc", "127.0.0.1:1", "--device-key", "a")

REFUSED = [
    (("--rpc", "127.0.0.1:9190"), "devices elsewhere need both --rpc and --device-key"),
    (("--device-key", "a"), "devices elsewhere need both --rpc and --device-key"),
    (
        ("--rpc", "rpi4", "--device-key", "a"),
        "the tracker must be HOST:PORT, such as 10.0.0.2:9190, not 'rpi4'",
    ),
    (
        ("--rpc", "rpi4:99999", "--device-key", "a"),
        "the tracker must be HOST:PORT, such as 10.0.0.2:9190, not 'rpi4:99999'",
    ),
    (
        (*_NAMED, "--cluster", "local"),
        "--rpc measures on devices alone: leave out --cluster, or it",
    ),
    (
        (*_NAMED, "--triple", "aarch64-linux-gnu"),
        "--rpc measures on CPUs, for their platform: leave out --target, --triple",
    ),
    (
        (*_NAMED, "--target", "cuda"),
        "--rpc measures on CPUs, for their platform: leave out --target, --triple",
    ),
    (
        _NAMED,
        "nobody answers at 127.0.0.1:1 (connection refused): start 'tunesmith tracker' there, or "
        "correct the address",
    ),
]
