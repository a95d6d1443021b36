"""What the measuring server is to measure: sent to it once, when it starts."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tunesmith.errors import TunesmithError, describe
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config
from tunesmith.target import Target


class Programs(Protocol):
    """What measuring has to know of a sketch, or of several; see ``Sketch``."""

    @property
    def name(self) -> str: ...

    def supports(self, operator: Operator, target: Target) -> bool: ...

    def program(self, operator: Operator, target: Target, config: Config) -> Any: ...


@dataclass(frozen=True)
class Job:
    """An operator, the sketch that schedules it, the target, and how trials are measured."""

    operator: Operator
    sketch: Programs
    target: Target
    settings: MeasureSettings

    @property
    def workers(self) -> int:
        """How many programs are built at a time."""
        return self.settings.workers or self.target.core_count

    def to_text(self) -> str:
        """The job pickled, with classes of the user's main module by value.

        It names a GPU's instruction set: who takes the job is going to fork, and must not ask the
        driver, which would be of no use in its children. Raises ``TunesmithError`` for a sketch
        that cannot be pickled, ``UsageError`` for a GPU that is not there.
        """
        import cloudpickle

        job = replace(self, target=self.target.resolved())
        try:
            return base64.b64encode(cloudpickle.dumps(job)).decode()
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
