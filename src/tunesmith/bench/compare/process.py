"""A process that runs searches by a simulated clock, one after the other.

It reads a job as a JSON line from standard input, saves the run's trace, and answers with a JSON
line: ``{"done": true}``, ``{"crash": why}`` where the tuner failed, ``{"failure": why}`` where the
trace could not be saved. It ends with its input, and with the process that started it, whose number
is its argument.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunesmith.bench.compare.recorded_task import (
    MadePrograms,
    estimates_seen,
    features_of,
    learned_from,
)
from tunesmith.bench.compare.simulated import Answers, RecordedSpace, simulate
from tunesmith.bench.compare.simulated_trace import save_trace
from tunesmith.bench.pages.provenance import today
from tunesmith.bench.synthetic.families import synthetic
from tunesmith.errors import TunesmithError, first_line
from tunesmith.measure.processes.containment import die_with
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Ordinal, Space
from tunesmith.store import library_versions
from tunesmith.tuners import Tuner, View, tuner


def main() -> None:
    die_with(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what a tuner prints is no answer
        for line in sys.stdin:
            answers.write(json.dumps(run_job(json.loads(line))) + "\n")
            answers.flush()


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job: ``tuner`` and ``options``, the ``record`` or the ``synthetic`` space, ``seed``, the
    limits ``seconds`` and ``trials`` (None: no limit), and the ``path`` and ``identity`` of the
    trace. With ``sources``, other records, the tuner has a model of these, by ``transfer``, a kind
    of features. The trace says that ``version`` made it, on this ``machine``.
    """
    made = MadePrograms()
    try:
        algorithm = _tuner(job["tuner"], json.dumps(job["options"]))
        trace = simulate(
            algorithm,
            _answers(job),
            job["seed"],
            seconds=job["seconds"] or math.inf,
            trials=job["trials"] or math.inf,
            clock=lambda: time.process_time() + made.seconds,
            view=_view(job, made),
        )
    except Exception as error:
        return {"crash": reason(error)}
    try:
        version, machine = job.get("version", ""), job.get("machine", {})
        trace = replace(
            trace, version=version, date=today(), machine=machine, libraries=library_versions()
        )
        save_trace(Path(job["path"]), trace, job["identity"])
    except TunesmithError as error:
        return {"failure": str(error)}
    return {"done": True}


def reason(error: BaseException) -> str:
    """Why a run crashed, in one line: what was raised, and where."""
    if isinstance(error, TunesmithError):
        return first_line(error)
    kind = type(error).__name__
    said = f"{kind}: {first_line(error)}" if str(error).strip() else kind
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return said + place


def _view(job: Mapping[str, Any], made: MadePrograms) -> Callable[[Space], View]:
    """What the tuner is shown: the features of a sketch's programs, which are ``made`` when it asks
    for them, and a model."""
    if "record" not in job:
        return View
    record, kind = Path(job["record"]), job.get("transfer")
    sees = job.get("sees", "space")
    features, estimates = features_of(record, sees, made), estimates_seen(record, sees)
    if kind is None:
        return lambda space: View(space, estimates, features)
    sources = [Path(each) for each in job["sources"]]
    learned = learned_from(sources, record, kind, job["seed"], made)
    return lambda space: View(space, estimates, features, learned)


def _answers(job: Mapping[str, Any]) -> Answers:
    return _recorded(job["record"]) if "record" in job else synthetic(job["synthetic"])


@functools.cache
def _recorded(path: str) -> RecordedSpace:
    return RecordedSpace(load_recording(path))


@functools.cache
def _tuner(name: str, options: str) -> Tuner:
    """The tuner, with all that it imports, so that imports do not count as search time."""
    algorithm = tuner(name, **json.loads(options))
    # The space that it begins with has no programs. What learns from them imports the same.
    first: Any = algorithm
    if hasattr(first, "features"):
        first = replace(first, features="configuration")
    with contextlib.suppress(Exception):  # the run itself will tell
        search = first.start(Space([Ordinal("x", tuple(range(64)))]), 0)
        for _ in range(8):
            configs = search.propose(1)
            search.observe([Measurement(each, Outcome.NO_ERROR, (1.0,)) for each in configs])
    return algorithm


if __name__ == "__main__":
    main()
