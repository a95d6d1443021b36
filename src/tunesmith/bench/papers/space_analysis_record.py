"""What ``tunesmith bench space-analysis`` records where it is not quick: all of a space of C12.

ResNet-18's C12 is the layer whose space the NoSE paper measured as a whole (section V-C).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tunesmith.bench.recording.record_space import (
    SpacePart,
    check_output,
    count_configs,
    record,
    restricted,
    write_recording,
)
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.tuning.result import check_stored

LAYER = "resnet18.C12"
SKETCH = "cpu_winograd"
"""Of the sketches that can schedule it the one with the smallest space."""
PART = "prefetch == 0"
"""Some 35,000 configs of it: few enough to measure all of them."""

FILE = Path("C12") / "recorded.json.gz"
"""Where it goes within the folder of recordings."""


def whole() -> SpacePart:
    """What is recorded."""
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.operators import workload
    from tunesmith.target import Target
    from tunesmith.task import Task

    problem = TaskProblem.of(Task(workload(LAYER), Target()), SKETCH)
    return SpacePart(problem, restricted(problem.space, [PART]), MeasureSettings())


def record_whole(
    part: SpacePart, folder: Path, progress: Callable[[Progress], None] | None = None
) -> Path:
    """The T4 file of a part of a space, which is measured unless it was, or goes on.

    Trials are kept in ``tuning.db`` in the ``folder``. Raises ``KeyboardInterrupt`` where Ctrl-C
    ended it, ``StoreError`` if a trial could not be stored, and what ``record`` raises.
    """
    output = folder / FILE
    check_output(output, part)
    with open_store(str(folder / "tuning.db")) as store:
        recording = record(part, sample=None, seed=0, store=store, progress=progress)
    check_stored(recording.result)
    if not recording.complete:
        raise KeyboardInterrupt
    write_recording(output, recording)
    return output


def configs_to_record(part: SpacePart) -> int:
    """How many there are."""
    return count_configs(part.space, None)
