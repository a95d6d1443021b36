"""Notes when a run gets how far, from its command to its first trial: see ``bench startup``.

Where the environment names a file, the processes of a run write down in it what they have reached,
one line each, with the time on the clock that all of them share. Else nothing happens.
"""

from __future__ import annotations

import os
import time

FILE_VARIABLE = "TUNESMITH_MILESTONES"


def reached(milestone: str) -> None:
    """Note that this process has just got so far."""
    path = os.environ.get(FILE_VARIABLE)
    if not path:
        return
    line = f"{time.monotonic()} {milestone}\n".encode()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line)
    finally:
        os.close(file)
