"""A model that leaves what it does not know to another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tunesmith.measure.task.problem import TaskProblem
from tunesmith.space import Config
from tunesmith.transfer.encoding import Estimates
from tunesmith.transfer.model import GlobalModel


@dataclass(frozen=True)
class CompletedModel(GlobalModel):
    """A model as it is, but for the sketches that it does not know, of which ``otherwise`` says
    what there is to say."""

    otherwise: GlobalModel | None = None

    def corrects(self, problem: TaskProblem) -> bool:
        """Whether it, or ``otherwise``, knows the problem's sketch."""
        return super().corrects(problem) or self._leaves(problem) is not None

    def log_speeds(
        self, problem: TaskProblem, configs: Sequence[Config], estimates: Estimates | None = None
    ) -> npt.NDArray[np.float64]:
        """As in ``GlobalModel``."""
        other = self._leaves(problem)
        if other is None:
            return super().log_speeds(problem, configs, estimates)
        return other.log_speeds(problem, configs, estimates)

    def _leaves(self, problem: TaskProblem) -> GlobalModel | None:
        """The model that a problem is left to."""
        if self.otherwise is None or super().corrects(problem):
            return None
        return self.otherwise if self.otherwise.corrects(problem) else None


def completed(model: GlobalModel, otherwise: GlobalModel | None) -> GlobalModel:
    """A model, with another one for what it does not know."""
    own = {each.name: getattr(model, each.name) for each in fields(GlobalModel)}
    return CompletedModel(**own, otherwise=otherwise)
