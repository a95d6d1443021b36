"""Atomic writes: a file is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: str | bytes | memoryview, *, lasting: bool = False) -> Path:
    """Write a file atomically, text as UTF-8, and return its path.

    With ``lasting`` its content is on the disk when this returns. Raises ``OSError``, and then
    leaves an existing file unchanged and no draft behind.
    """
    # Containers that share a folder may share the numbers of processes too.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        return draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
