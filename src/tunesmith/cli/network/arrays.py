"""Arrays that a command is given as inputs of a network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

from typer import Option

from tunesmith.errors import UsageError, one_line

if TYPE_CHECKING:
    import numpy as np

Inputs = Annotated[
    list[Path] | None, Option("--input", help="An array as .npy; repeatable, in order.")
]


def arrays_of(paths: Iterable[Path]) -> list[np.ndarray[Any, Any]]:
    """The arrays of files. Raises ``UsageError`` for one that has none."""
    return list(map(_array, paths))


def _array(path: Path) -> np.ndarray[Any, Any]:
    import numpy as np

    try:
        array: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise UsageError(f"{path} is no array of NumPy (.npy): {one_line(str(error))}") from error
    return array
