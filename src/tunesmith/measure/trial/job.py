"""The job of a measuring server, which it gets once, when it starts."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tunesmith.errors import TunesmithError
from tunesmith.measure.failure import describe
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config
from tunesmith.target import Target


class Programs(Protocol):
    """The part of ``Sketch`` that measuring needs; also implemented for several sketches."""

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
        """The number of programs that are built in parallel."""
        return self.settings.workers or self.target.core_count

    def to_text(self) -> str:
        """The pickled job, with classes of the user's main module by value.

        The target's GPU architecture is resolved here: the server forks, and if it queried the
        driver first, its children could not use it. Raises ``TunesmithError`` for a sketch that
        cannot be pickled, ``UsageError`` if there is no GPU.
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
