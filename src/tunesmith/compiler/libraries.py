"""Shared libraries: TVM's executables are linked into them, and loaded from them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, TunesmithError, system_reason


def check_linker(what: str) -> None:
    """Raises ``MissingDependencyError`` without a C compiler, which links; ``what`` is saved."""
    from tvm.support.cc import get_cc

    if get_cc() is None:
        raise MissingDependencyError(
            f"saving {what} needs a C compiler to link it: install gcc or clang"
        )


def link(executable: Any, library: Path, objects: Sequence[Path] = ()) -> None:
    """Write an executable and further object files as a shared library, whole or not at all.

    Raises ``OSError`` if it cannot be moved into place, ``TunesmithError`` if linking fails.
    """
    further = {"addons": [str(path) for path in objects]} if objects else {}
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".tunesmith-") as folder:
        made = Path(folder) / "linked.so"
        try:
            executable.export_library(str(made), **further)
        except OSError as error:  # the linker does not start, or cannot read its input
            what = error.filename or "the linker"
            reason = f"{what}: {system_reason(error)}"
            raise TunesmithError(f"cannot link {library}: {reason}") from error
        except RuntimeError as error:  # the linker's output, then its command line
            output = str(error).removeprefix("Compilation error:").partition("Command line:")[0]
            reason = output.strip().partition("\n")[0] or "the linker gives no reason"
            raise TunesmithError(f"cannot link {library}: {reason}") from error
        made.replace(library)


def load(path: Path) -> Any:
    """The module of a shared library. Raises what TVM raises."""
    import tvm  # noqa: F401 - the library needs its runtime
    import tvm_ffi

    # Load through a new link: for a path that was loaded before, dlopen returns the old library
    # even if the file has been replaced since. (TVM's own loader resolves links.)
    with tempfile.TemporaryDirectory() as folder:
        linked = Path(folder) / path.name
        linked.symlink_to(path)
        return tvm_ffi.load_module(linked)
