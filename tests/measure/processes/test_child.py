"""How forked children end, seen from a process with a single thread."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.patience import PATIENCE

_CHILDREN = """
import json, os, select
from tunesmith.measure.processes.child import Child

def receive(end):
    while True:
        end.wait()
        end.receive()

def fail(end):
    raise ValueError("two\\nlines")

def killed(end):
    os.abort()

ends = []
for body in (lambda end: None, receive, fail, killed):
    child = Child(body, None, 1)
    if body is receive:
        child.channel.close()
    select.select([child.handle], [], [])
    ended = child.reap()
    ends.append([os.waitstatus_to_exitcode(ended.status), ended.last_line])
print(json.dumps(ends))
"""


def test_a_child_ends_with_what_it_runs() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _CHILDREN],
        check=True, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    done, closed, failed, killed = json.loads(ran.stdout)
    assert done == closed == [0, ""]
    assert failed == [1, "ValueError: two lines"]
    assert killed[0] < 0


_OPEN_FILES = """
import os, select
from tunesmith.measure.processes.child import Child

def closes_by_number(low, high):
    raise AssertionError("that takes minutes where very many may be open")

os.closerange = closes_by_number
extra = os.open(os.devnull, os.O_RDONLY)

def body(end):
    os.fstat(end.fileno())
    try:
        os.fstat(extra)
    except OSError:
        return
    raise AssertionError("it is open")

child = Child(body, None, 1)
select.select([child.handle], [], [])
ended = child.reap()
print(ended.status, ended.last_line)
"""


def test_a_child_has_no_files_of_its_parent() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _OPEN_FILES],
        check=True, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.stdout.strip() == "0"
