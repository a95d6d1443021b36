"""Shared libraries: TVM's executables are linked into them, and loaded from them."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tunesmith.compiler.cross_linker import CrossLinker, linker_for
from tunesmith.compiler.importing import load_runtime
from tunesmith.errors import MissingDependencyError, TunesmithError, system_reason

# By the numbers that ELF has for them, the architectures that programs are built for.
_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}

# More than the object file of any kernel has; in the library it is there a second time.
_MODULE_BYTES = 1 << 20


def check_linker(what: str) -> None:
    """Raises ``MissingDependencyError`` without a C compiler, which links; ``what`` is saved."""
    from tvm.support.cc import get_cc

    if get_cc() is None:
        raise MissingDependencyError(
            f"saving {what} needs a C compiler to link it: install gcc or clang"
        )


def linker_of(triple: str | None, what: str) -> Sequence[str] | None:
    """The command that links for another machine's platform; None for the C compiler, which links
    for this one. ``what`` is saved.

    Raises ``MissingDependencyError`` where nothing links.
    """
    if triple is not None:
        return linker_for(triple.partition("-")[0])
    check_linker(what)
    return None


def link(
    executable: Any,
    library: Path,
    objects: Sequence[Path] = (),
    linker: Sequence[str] | None = None,
) -> None:
    """Write an executable and further object files as a shared library, whole or not at all.

    ``linker`` is the command that links for another architecture: see ``linker_for``.

    Raises ``OSError`` if it cannot be moved into place, ``TunesmithError`` if linking fails, or if
    there may be no room for it.
    """
    _check_room(library, len(executable.mod.imports) + 1, objects)
    further: dict[str, Any] = {"addons": [str(path) for path in objects]} if objects else {}
    if linker is not None:
        further["fcompile"] = CrossLinker(linker)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".tunesmith-") as folder:
        made = Path(folder) / "linked.so"
        try:
            executable.export_library(str(made), workspace_dir=folder, **further)
        except OSError as error:  # the linker does not start, or cannot read its input
            what = error.filename or "the linker"
            reason = f"{what}: {system_reason(error)}"
            raise TunesmithError(f"cannot link {library}: {reason}") from error
        except RuntimeError as error:  # the linker's output, then its command line
            output = str(error).removeprefix("Compilation error:").partition("Command line:")[0]
            reason = complaint(output) or "the linker gives no reason"
            raise TunesmithError(f"cannot link {library}: {reason}") from error
        made.replace(library)


def complaint(output: str) -> str:
    """The first line of a compiler's output that is no heading; nothing if there is none."""
    lines = output.strip().splitlines()
    return next((line for line in lines if not line.endswith(":")), "")


def _check_room(library: Path, modules: int, objects: Sequence[Path]) -> None:
    """Raises ``TunesmithError`` if the disk may be too full: LLVM would end the process."""
    needed = 2 * modules * _MODULE_BYTES + sum(path.stat().st_size for path in objects)
    free = shutil.disk_usage(library.parent).free
    if free < needed:
        raise TunesmithError(
            f"cannot link {library}: that may take {needed / 1e6:.0f} MB, and {free / 1e6:.0f} are "
            "free: make room, or name a file in another folder"
        )


def architecture_of(path: Path) -> str | None:
    """The architecture of a library as ``uname -m`` tells it; None for one that is not known here,
    and for what is no library. Raises ``OSError``."""
    with path.open("rb") as file:
        header = file.read(20)
    if header[:4] != b"\x7fELF":
        return None
    return _ELF_MACHINES.get(int.from_bytes(header[18:20], "little"))


def load(path: Path) -> Any:
    """The module of a shared library. Raises what TVM raises."""
    load_runtime()
    import tvm_ffi

    with _new_link(path) as linked:
        return tvm_ffi.load_module(linked)


def symbols_of(path: Path) -> ctypes.CDLL:
    """The symbols of a shared library of TVM. Raises ``OSError`` if it is none."""
    load_runtime()
    with _new_link(path) as linked:
        return ctypes.CDLL(str(linked))


@contextlib.contextmanager
def _new_link(path: Path) -> Iterator[Path]:
    """A new link to a library, to be loaded instead of it.

    For a path that was loaded before, dlopen returns the old library even if the file has been
    replaced since. (TVM's own loader resolves links.)
    """
    with tempfile.TemporaryDirectory() as folder:
        linked = Path(folder) / path.name
        linked.symlink_to(path)
        yield linked
