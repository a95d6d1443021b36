"""The versions of the libraries that determine a config's machine code."""

from __future__ import annotations

import platform
from functools import cache

_DISTRIBUTIONS = ("tunesmith", "apache-tvm", "apache-tvm-ffi", "numpy")


@cache
def _installed() -> tuple[tuple[str, str], ...]:
    from importlib import metadata

    found = [("python", platform.python_version())]
    for name in _DISTRIBUTIONS:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:  # run from a source tree, or without a compiler
            continue
    return tuple(found)


def library_versions() -> dict[str, str]:
    """Versions by distribution name, and ``python``; packages that are missing are left out."""
    return dict(_installed())
