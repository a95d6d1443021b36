"""The options of AutoTVM's search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.features.kinds import FeatureKind
from tunesmith.models import CostModel, cost_model
from tunesmith.models.acquisition import Acquisition
from tunesmith.models.cost_model import Objective
from tunesmith.models.ensemble import MEMBERS, BootstrapEnsemble
from tunesmith.models.registry import objectives_of
from tunesmith.space import Space
from tunesmith.tuners.autotvm.search import AutoTVMSearch
from tunesmith.tuners.tuner import Tuner, option
from tunesmith.tuners.view import View


@dataclass(frozen=True)
class AutoTVM(Tuner):
    """AutoTVM: simulated annealing on a cost model, and batches that are good and diverse."""

    name: ClassVar[str] = "autotvm"
    random_start_option: ClassVar[str | None] = "batch"

    batch: int = option(64, "configs planned at a time (b)")
    epsilon: float = option(0.05, "share of random configs in a batch (ε)")
    diversity_ratio: int = option(2, "best configs that each config of a batch is chosen from (λ)")
    diversity_weight: float = option(0.1, "worth of a parameter's new value in a batch (α)")
    chains: int = option(128, "annealing chains, which move in parallel")
    steps: int = option(500, "moves of each chain for a batch, at most")
    model: str = option("boosted-trees", "the cost model")
    features: FeatureKind = option("configuration", "what the model learns from")
    programs: int = option(256, "programs made for a whole batch, where these have the features")
    device: Literal["cpu", "cuda"] = option(
        "cpu", "where a model computes that can use a GPU; on one that measures it disturbs"
    )
    objective: Objective | None = option(
        None, "what the model learns, if it has a choice; none: its default"
    )
    transfer_batch: int = option(
        16, "configs planned at a time, at most, while a model of other tasks has weight"
    )
    transfer: bool = option(True, "whether to use a model of other tasks, if the run has one")
    acquisition: Acquisition = option("mean", "what a config is worth, by the model's prediction")
    members: int | None = option(
        None, "models of resampled trials that predict together; none: 1 for the mean, else 5"
    )

    def check(self) -> None:
        self.require_least(
            1, "batch", "diversity_ratio", "chains", "steps", "programs", "transfer_batch"
        )
        self.require_share("epsilon")
        self.require(
            0.0 <= self.diversity_weight < np.inf,
            f"diversity_weight must be a number from 0, not {self.diversity_weight}",
        )
        least = 1 if self.acquisition == "mean" else 2
        self.require(
            self._member_count >= least,
            f"members must be {least} or more for the acquisition {self.acquisition}, "
            f"not {self.members}",
        )

    @property
    def _member_count(self) -> int:
        if self.members is None:
            return 1 if self.acquisition == "mean" else MEMBERS
        return self.members

    def random_start(self, *, transfers: bool = False) -> int:
        return 0 if transfers and self.transfer else self.batch

    def start(self, space: Space, seed: int) -> AutoTVMSearch:
        return self.start_on(View(space), seed)

    def start_on(self, view: View, seed: int) -> AutoTVMSearch:
        return AutoTVMSearch(self, view, seed)

    def made_model(self, features: int, *, loops: int = 1, regression: bool = False) -> CostModel:
        """A new model for so many features, with uncertainty if the acquisition needs it.

        The features are those of so many ``loops``, if there is more than one. With ``regression``
        it learns values whatever the objective is. Raises ``UsageError`` for an unknown model, or
        an objective that it does not have, and ``MissingDependencyError`` if its package is not
        installed.
        """

        has_choice = regression and "regression" in objectives_of(self.model)
        objective = "regression" if has_choice else self.objective

        def make() -> CostModel:
            return cost_model(self.model, features, objective, loops=loops, device=self.device)

        count = self._member_count
        try:
            return make() if count == 1 else BootstrapEnsemble(make, count)
        except UsageError as error:
            raise UsageError(f"tuner '{self.name}': {error}") from None
