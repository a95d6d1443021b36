"""The job of a measuring server. It is sent once, when the server starts."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tunesmith.errors import TunesmithError, UsageError, describe
from tunesmith.measurement import Candidate
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config
from tunesmith.target import Target


class Programs(Protocol):
    """The part of ``Sketch`` that measuring uses."""

    @property
    def name(self) -> str: ...

    def supports(self, operator: Operator, target: Target) -> bool: ...

    def program(self, operator: Operator, target: Target, config: Config) -> Any: ...


@dataclass(frozen=True)
class Job:
    """An operator, the sketches that schedule it, the target, and how trials are measured."""

    operator: Operator
    sketches: tuple[Programs, ...]
    target: Target
    settings: MeasureSettings

    @property
    def workers(self) -> int:
        """The number of programs that are built in parallel."""
        return self.settings.workers or self.target.core_count

    def program(self, candidate: Candidate) -> Any:
        """The scheduled ``tvm.IRModule`` of a candidate.

        If there is only one sketch, the candidate need not name it. Raises ``InstantiationError``
        if the config cannot be scheduled, ``UsageError`` if the job does not have the sketch.
        """
        named = {sketch.name: sketch for sketch in self.sketches}
        if len(named) == 1:
            named[""] = self.sketches[0]
        if candidate.sketch not in named:
            raise UsageError(
                f"cannot measure a config of the sketch '{candidate.sketch}': this job has "
                f"{', '.join(sketch.name for sketch in self.sketches)}"
            )
        return named[candidate.sketch].program(self.operator, self.target, candidate.config)

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
                f"cannot send the sketch {self.sketches[0]!r:.80} to the measuring process: "
                f"make it picklable ({describe(error)})"
            ) from error

    @classmethod
    def from_text(cls, text: str) -> Job:
        """The inverse of ``to_text``. Raises what unpickling raises."""
        import pickle

        job = pickle.loads(base64.b64decode(text))
        assert isinstance(job, cls)
        return job
