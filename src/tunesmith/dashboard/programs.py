"""The text of recorded programs, built on demand in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Final

from tunesmith.errors import TunesmithError, UsageError, last_line
from tunesmith.store import Record

_SECONDS: Final = 120.0

# One at a time: the machine may be measuring. Who waits for longer keeps others from their pages.
_PATIENCE: Final = 20.0
_one = threading.Lock()


def forms_of(record: Record) -> list[str]:
    """The forms in which its program can be shown; none where it is no task's."""
    if not record.description.get("operator") or not record.sketch:
        return []
    cuda = record.target.get("kind") == "cuda"
    return ["tvmscript", "cuda"] if cuda else ["tvmscript", "asm", "llvm"]


def text_of(record: Record, form: str) -> str:
    """The program of a record in one of its `forms_of`.

    Raises ``UsageError`` for another form, ``TunesmithError`` if it cannot be built in time, or
    another one is being built.
    """
    if form not in forms_of(record):
        raise UsageError("this record has no program that can be shown in this form")
    request = {
        "operator": record.description["operator"],
        "target": record.target,
        "sketch": record.sketch,
        "sketch_version": record.sketch_version,
        "config": record.config.to_json(),
        "form": form,
    }
    if not _one.acquire(timeout=_PATIENCE):
        raise TunesmithError("another program is being built: ask again when that is there")
    try:
        return _built(json.dumps(request))
    finally:
        _one.release()


def _built(request: str) -> str:
    command = [sys.executable, "-m", "tunesmith.dashboard.program_process"]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TunesmithError(f"the program was not built within {_SECONDS:.0f} s") from error
    if done.returncode != 0:
        reason = last_line(Exception(done.stderr or f"exit status {done.returncode}"))
        raise TunesmithError(f"the program could not be built: {reason}")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise TunesmithError(answer["error"])
    return str(answer["text"])
