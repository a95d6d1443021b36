"""A folder with all that programs in C and C++ need to run networks."""

from __future__ import annotations

import shutil
from pathlib import Path

from tunesmith.errors import TunesmithError, system_reason
from tunesmith.networks.c_interface.source import INCLUDE

_EXAMPLE = Path(__file__).parent / "example"


def write_folder(folder: Path) -> list[Path]:
    """Write headers, TVM's runtime libraries, examples in C and C++ and their Makefile.

    Returns the files in order. Files of these names that are there are replaced. Raises
    ``TunesmithError`` if the folder cannot be written.
    """
    written = []
    try:
        for source, place in _files():
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            written.append(Path(shutil.copyfile(source, target)))
    except OSError as error:
        raise TunesmithError(
            f"cannot write {folder}: {system_reason(error)}: name a folder that you may write to"
        ) from error
    return written


def flags(folder: Path) -> list[str]:
    """What compilers of C and C++ are told to find the headers and libraries of such a folder.

    Programs look for the libraries there. ``-rpath,$ORIGIN/lib`` instead lets them be shipped.
    """
    here = folder.resolve()
    return [
        *(f"-I{here}/include", f"-L{here}/lib", f"-Wl,--no-as-needed,-rpath,{here}/lib"),
        *("-ltvm_runtime", "-ltvm_ffi", "-ldl"),
    ]


def _files() -> list[tuple[Path, Path]]:
    """Files, and where they go."""
    import tvm
    import tvm_ffi.libinfo as ffi

    headers = (
        (INCLUDE, "tunesmith/*.h"),
        (Path(ffi.find_include_path()), "tvm/ffi/c_api.h"),
        (Path(ffi.find_dlpack_include_path()), "dlpack/dlpack.h"),
    )
    # The second one is for networks that sort: the header loads it if it is there.
    folder = Path(str(tvm.__file__)).parent / "lib"
    runtime = [folder / f"lib{name}.so" for name in ("tvm_runtime", "tvm_runtime_extra")]
    return [
        *(
            (path, Path("include", path.relative_to(base)))
            for base, pattern in headers
            for path in sorted(base.glob(pattern))
        ),
        *((path, Path("lib", path.name)) for path in (*runtime, Path(ffi.find_libtvm_ffi()))),
        *((path, Path(path.name)) for path in sorted(_EXAMPLE.iterdir())),
    ]
