"""Records a uniform sample of a layer's space on a GPU, with the outcome of each config."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tunesmith.bench.recording.record_space import SpacePart, check_output, record, write_recording
from tunesmith.budget import Stop
from tunesmith.errors import StoreError, TunesmithError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.reports import format as fmt
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task

# More than there is time for; in random order, so that those that were measured are a sample.
PLANNED = 20_000

FOLDER, FILE = "gpu-recording", "recorded.json.gz"


@dataclass(frozen=True)
class SpaceSample:
    """What is recorded: of a layer the space of a sketch, as many configs as there is time for."""

    layer: str
    operator: Operator
    sketch: str
    target: Target
    seed: int

    def part(self) -> SpacePart:
        """The space, whole. Raises ``UsageError`` where the sketch cannot schedule the layer."""
        problem = TaskProblem.of(Task(self.operator, self.target), self.sketch)
        return SpacePart(problem, problem.space, MeasureSettings())

    def write(
        self, folder: Path, store: Store, seconds: float, watch: Callable[[Progress], None]
    ) -> tuple[dict[str, Any], Stop]:
        """Measure for so many seconds, on top of what the store has of it, and write the T4 file.

        Returns what came of it, and why it ended. Raises ``TunesmithError`` where nothing could be
        measured or written.
        """
        part, output = self.part(), folder / FOLDER / FILE
        check_output(output, part)
        recording = record(
            part, sample=PLANNED, seed=self.seed, store=store, seconds=seconds, progress=watch
        )
        if recording.result.failure:
            raise StoreError(recording.result.failure)
        count = len(recording.trials)
        valid = [measurement.seconds for measurement, _ in recording.trials if measurement.valid]
        if not valid:
            measured = fmt.counted(count, "config")
            raise TunesmithError(f"{measured} in {seconds:.0f} s, and none that is valid")
        sampled = replace(recording, planned=count, sample=count)
        write_recording(output, sampled)
        return {
            "layer": self.layer,
            "operator": self.operator.to_json(),
            "sketch": self.sketch,
            "file": f"{FOLDER}/{FILE}",
            "configs": count,
            "space_size": part.space.size,
            "outcomes": {outcome.name: n for outcome, n in sampled.outcomes.items()},
            "seconds": recording.result.time["total"],
            "best_seconds": min(valid),
        }, recording.result.stopped
