"""AutoTVM's search: algorithm 1 of "Learning to Optimize Tensor Programs".

A cost model learns from all trials. Simulated annealing finds configs that the model likes, a batch
of them is measured that is good and diverse, and the model learns again. Differences from the
paper:

- Nothing waits. When a batch is proposed, the next one is planned with what is known by then.
- A model that cannot learn, as fewer than two trials differ, is not asked: configs are random.
- Scores are divided by their deviation over the observed configs, before temperatures and α are
  applied to them: the scale of a rank model is arbitrary.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.features.config_rows import ConfigRows, Keys, Rows
from tunesmith.measurement import Measurement
from tunesmith.models import CostModel, cost_model
from tunesmith.models.acquisition import Acquisition, acquire
from tunesmith.models.ensemble import BootstrapEnsemble
from tunesmith.space import Config, Space
from tunesmith.tuners.autotvm.chains import Chains
from tunesmith.tuners.autotvm.diversity import diverse
from tunesmith.tuners.tuner import Search, Tuner, fitness, option

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AutoTVM(Tuner):
    """AutoTVM: simulated annealing on a cost model, and batches that are good and diverse."""

    name: ClassVar[str] = "autotvm"

    batch: int = option(64, "configs planned at a time (b)")
    epsilon: float = option(0.05, "share of random configs in a batch (ε)")
    diversity_ratio: int = option(2, "best configs that each config of a batch is chosen from (λ)")
    diversity_weight: float = option(0.1, "worth of a parameter's new value in a batch (α)")
    chains: int = option(128, "annealing chains, which move in parallel")
    steps: int = option(500, "moves of each chain for a batch, at most")
    model: str = option("boosted-trees", "the cost model")
    objective: Literal["rank", "regression"] | None = option(
        None, "what the model learns, if it has a choice; none: its default"
    )
    acquisition: Literal["mean", "expected-improvement", "upper-confidence-bound"] = option(
        "mean", "what a config is worth, by the model's prediction"
    )

    def check(self) -> None:
        self.require_least(1, "batch", "diversity_ratio", "chains", "steps")
        self.require_share("epsilon")
        self.require(
            0.0 <= self.diversity_weight < np.inf,
            f"diversity_weight must be a number from 0, not {self.diversity_weight}",
        )

    def start(self, space: Space, seed: int) -> AutoTVMSearch:
        return AutoTVMSearch(self, space, seed)

    def made_model(self, features: int) -> CostModel:
        """A new model for so many features, with uncertainty if the acquisition needs it.

        Raises ``UsageError`` for an unknown model, or an objective that it does not have, and
        ``MissingDependencyError`` if its package is not installed.
        """

        def make() -> CostModel:
            return cost_model(self.model, features, self.objective)

        try:
            return make() if self.acquisition == "mean" else BootstrapEnsemble(make)
        except UsageError as error:
            raise UsageError(f"tuner '{self.name}': {error}") from None


class AutoTVMSearch(Search):
    """A running search. The first ``batch`` configs are random."""

    def __init__(self, settings: AutoTVM, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self.settings = settings
        self._rows = ConfigRows(space)
        self._model = settings.made_model(self._rows.coordinates.count)
        self._chains: Chains | None = None
        self._configs: list[Config] = []  # all observed ones
        self._speeds: list[float] = []  # in calls per second
        self._keys: dict[Config, int] = {}  # of the seen ones
        self._batch: deque[Config | None] = deque()  # None: a random one

    def next_config(self) -> Config | None:
        if not self._batch:
            self._batch.extend(self._planned())
        while self._batch:
            config = self._batch.popleft()
            if config is None:
                break
            if config not in self.seen:
                return config
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        self._configs.append(measurement.config)
        self._speeds.append(fitness(measurement))

    def _planned(self) -> list[Config | None]:
        """The next batch."""
        settings = self.settings
        speeds = np.array(self._speeds)
        if len(speeds) < settings.batch or not np.ptp(speeds) > 0.0:
            return [None]
        random = round(settings.epsilon * settings.batch)
        score = self._learned(speeds / speeds.max())
        if self._chains is None:
            self._chains = Chains(self._rows, settings.chains, self.rng)
        keep = settings.diversity_ratio * settings.batch
        best = self._chains.run(score, settings.steps, keep, self._known())
        chosen = diverse(best.rows, best.scores, settings.batch - random, settings.diversity_weight)
        planned: list[Config | None] = [*self._rows.configs(best.rows[chosen])]
        for place in sorted(self.rng.integers(len(planned) + 1, size=random).tolist()):
            planned.insert(place, None)
        return planned

    def _learned(self, values: Array) -> _Score:
        rows = self._rows.of(self._configs)
        return _Score(self._rows, rows, values, self._model, self.settings.acquisition)

    def _known(self) -> Keys:
        """The keys of all seen configs."""
        new = [config for config in self.seen if config not in self._keys]
        if new:
            keys = self._rows.keys(self._rows.of(new)).tolist()
            self._keys.update(zip(new, keys, strict=True))
        return np.fromiter(self._keys.values(), dtype=np.uint64, count=len(self._keys))


class _Score:
    """What rows are worth, by a model that has learned ``values``, shape (n,), of ``rows``."""

    def __init__(
        self,
        of: ConfigRows,
        rows: Rows,
        values: Array,
        model: CostModel,
        acquisition: Acquisition,
    ) -> None:
        self._of = of
        self._model = model
        self._acquisition = acquisition
        features = of.features(rows)
        model.fit(features, values)
        known = model.predict(features).means
        self._best = float(known.max())
        self._scale = float(known.std()) or 1.0

    def __call__(self, rows: Rows) -> Array:
        """The worth of rows, shape (rows,), in deviations."""
        prediction = self._model.predict(self._of.features(rows))
        return acquire(self._acquisition, prediction, self._best) / self._scale
