"""What the measuring server is to measure: sent to it once, when it starts."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from tunesmith.errors import TunesmithError
from tunesmith.measure.failure import describe
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target


@dataclass(frozen=True)
class Job:
    """An operator, the sketch that schedules it, the target, and how trials are measured."""

    operator: Operator
    sketch: Sketch
    target: Target
    settings: MeasureSettings

    @property
    def workers(self) -> int:
        """How many programs are built at a time."""
        return self.settings.workers or self.target.core_count

    def to_text(self) -> str:
        """The job pickled, with classes of the user's main module by value.

        Raises ``TunesmithError`` for a sketch that cannot be pickled.
        """
        import cloudpickle

        try:
            return base64.b64encode(cloudpickle.dumps(self)).decode()
        except Exception as error:
            raise TunesmithError(
                f"cannot send the sketch {self.sketch!r:.80} to the measuring process: "
                f"make it picklable ({describe(error)})"
            ) from error

    @classmethod
    def from_text(cls, text: str) -> Job:
        """The inverse of ``to_text``. Raises what unpickling raises."""
        import pickle

        job = pickle.loads(base64.b64decode(text))
        assert isinstance(job, cls)
        return job
