"""The default search: Bayesian optimisation over neighbours of the best configs and random ones.

It combines ideas of the papers' tuners and their baselines. Local search along the topology of the
parameters refines good configs (OpEvo, G-BFS). A model of all observations selects the candidates
that are worth a trial (NoSE, AutoTVM). Random candidates, and those that estimates like most, are
ranked by the same model, and escape local optima.

The model is a Gaussian process over the logarithm of seconds, in coordinates in which powers of two
are similar. The next config has the largest expected improvement (Jones, Schonlau and Welch,
"Efficient Global Optimization of Expensive Black-Box Functions", 1998, equation 15) per second that
its trial is expected to take (Snoek, Larochelle and Adams, "Practical Bayesian Optimization of
Machine Learning Algorithms", 2012, section 3.2), times the chance that it works at all (Gelbart,
Snoek and Adams, "Bayesian Optimization with Unknown Constraints", 2014, section 3).

A long search that finds nothing better begins anew elsewhere, as trust regions do (Eriksson et al.,
"Scalable Global Optimization via Local Bayesian Optimization", 2019, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.features import Coordinates
from tunesmith.measurement import Measurement
from tunesmith.models.gaussian_process import FITTED, GaussianProcess
from tunesmith.space import Config, Space
from tunesmith.tuners.auto.favourites import Favourites
from tunesmith.tuners.auto.neighbourhood import Choices, Neighbourhood, Pool
from tunesmith.tuners.auto.observations import Observations, Standardised, standardised
from tunesmith.tuners.auto.prospects import Prospects
from tunesmith.tuners.auto.region import Region
from tunesmith.tuners.auto.trend import Trend
from tunesmith.tuners.tuner import Search, Tuner, option
from tunesmith.tuners.view import View

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# The number of successive proposals, without an observation between them, from the same candidates.
_PROPOSALS_PER_POOL = 4

# A call that asks for more than ``_FEW`` proposals takes a ``_SHARE`` of them, but no more than
# ``_MOST_PER_POOL``, from the same candidates. The next candidates are also around the
# ``_PROMISING`` that the model predicts to be best of those that this call proposed.
_FEW = 64
_SHARE = 1 / 8
_MOST_PER_POOL = 64
_PROMISING = 8

# The size of the pool of random configs. It is renewed when the model is refitted, but not before
# this many proposals.
_POOL = 500
_POOL_LASTS = 8

# The most pending configs, the newest: some are never observed, as sparse recordings lack them.
_MOST_PENDING = 64


@dataclass(frozen=True)
class Auto(Tuner):
    """Surrogate-guided neighbourhood search: Tunesmith's own, and its default."""

    name: ClassVar[str] = "auto"

    initial: int = option(6, "random configs to begin with")
    model_size: int = option(150, "observations that the model knows at a time")
    told_apart: float = option(1.0, "share of the observations whose differences count")
    near: int = option(8, "best configs whose neighbours are candidates")
    varied: int = option(3, "best configs with all variations of a parameter as candidates")
    random: int = option(90, "random candidates for each proposal")
    liked: int = option(64, "candidates that estimates like most, where there are some")
    round_share: float = option(0.67, "share of the random configs that favours powers of two")
    refit: float = option(0.15, "growth of the observations after which the model is refitted")
    patience: int = option(400, "trials without a better config until it begins anew elsewhere")

    def check(self) -> None:
        self.require_least(2, "initial")
        self.require_least(10, "model_size")
        self.require_least(1, "near", "patience")
        self.require_least(0, "varied", "random", "liked")
        self.require_share("told_apart", above_0=True)
        self.require_share("round_share")
        self.require(self.refit > 0.0, f"refit must be above 0, not {self.refit}")

    def start(self, space: Space, seed: int) -> AutoSearch:
        return self.start_on(View(space), seed)

    def start_on(self, view: View, seed: int) -> AutoSearch:
        return AutoSearch(self, view, seed)


class AutoSearch(Search):
    """A running search.

    The model takes its own predictions for configs that are proposed but not yet observed. So
    several proposals in a row differ, and none waits.

    The search refines the best configs of a region: of those proposed since it began, or began
    anew. What was pending then is of the region before, or it would lead back there.

    Where many configs are wanted at once, as for a fleet of devices, a model for every few of them
    would take longer than the trials. So more of them come from the same candidates; and these are
    also around the proposals that the model thinks most of, more than a step from observed ones.
    """

    def __init__(self, settings: Auto, view: View, seed: int) -> None:
        super().__init__(view.space, seed)
        self.settings = settings
        self._trend = Trend(view)
        self._coordinates = Coordinates(view.space)
        self._neighbourhood = Neighbourhood(view.space, self._coordinates, self.rng)
        self._favourites = Favourites(view, self._coordinates, self.rng)
        self._pool: Pool | None = None
        self._pool_lasts = 0
        self._first: list[Config] | None = None
        self._model: GaussianProcess | None = None
        self._refit_at = 0
        self._known = Observations(self._coordinates.count)
        self._pending: dict[Config, tuple[Array, Array]] = {}  # coordinates and prediction
        self._prospects: Prospects | None = None
        self._region = Region()
        self._asked = self._most_asked = 0
        self._asked_before: set[Config] = set()
        self._own: dict[Config, int] = {}  # proposed in which region, and not observed yet

    def propose(self, count: int) -> list[Config]:
        self._asked = count
        self._asked_before = set(self._pending) if count > _FEW else set()
        self._most_asked = max(self._most_asked, count)
        proposed = super().propose(count)
        self._own.update(dict.fromkeys(proposed, self._region.number))
        return proposed

    def next_config(self) -> Config | None:
        if self._region.fruitless >= self._patience:
            self._region = self._region.next(self.seen)
            self._first = self._prospects = None
        few = self._region.valid < 2 or self._region.proposed(self.seen) < self.settings.initial
        config = self._initial() if few else None
        if config is None and self._region.valid >= 2 and self._coordinates.count:
            config = self._best_candidate()
        return self.fresh_config() if config is None else config

    def learn(self, measurement: Measurement) -> None:
        self._pending.pop(measurement.config, None)
        self._prospects = None
        own = measurement.config in self._own
        number = self._own.pop(measurement.config, self._region.number)
        log = self._known.add(measurement, self._coordinates.of(measurement.config), number)
        if number == self._region.number:
            self._region.count(log, own=own)

    @property
    def _patience(self) -> int:
        """That of the settings; more where many are proposed before the first of them is known."""
        return self.settings.patience + (2 * self._most_asked if self._most_asked > _FEW else 0)

    @property
    def _per_pool(self) -> int:
        """The number of successive proposals from the same candidates."""
        if self._asked <= _FEW:
            return _PROPOSALS_PER_POOL
        return min(int(_SHARE * self._asked), _MOST_PER_POOL)

    def _initial(self) -> Config | None:
        """The next new initial config; None if there is none left."""
        if self._first is None:
            self._first = self._current_pool().first(2 * self.settings.initial)
        while self._first:
            config = self._first.pop()
            if config not in self.seen:
                return config
        return None

    def _current_pool(self) -> Pool:
        if self._pool is None:
            return self._renewed_pool()
        return self._pool

    def _renewed_pool(self) -> Pool:
        share = self.settings.round_share
        self._pool = Pool(self.some_configs(_POOL), self._coordinates, share, self.rng)
        self._pool_lasts = len(self.seen) + _POOL_LASTS
        return self._pool

    def _current_model(self) -> GaussianProcess:
        if self._model is None:
            apart = self._current_pool().distance
            self._model = GaussianProcess(self._coordinates.count, self._coordinates.groups, apart)
        return self._model

    def _best_candidate(self) -> Config | None:
        """The new config with the most expected improvement per second; None without candidates."""
        if self._prospects is None or self._prospects.taken >= self._per_pool:
            self._prospects = self._new_prospects()
        number = self._prospects.take(self.seen)
        if number is None:
            self._prospects = None
            return None
        config = self._prospects.candidates.configs[number]
        row = self._prospects.candidates.rows[number]
        self._expect(config, row, self._prospects.predicted(number))
        return config

    def _new_prospects(self) -> Prospects:
        """New candidates with the model's prediction for them."""
        known, model = self._known, self._current_model()
        standard = standardised(known.logs, self.settings.told_apart)
        values = standard.values
        own = known.of_region(self._region.number)
        order = own[np.argsort(values[own], kind="stable")]
        some = self._some(order)
        trend = self._trend.fit(known.configs, values)
        if len(values) >= self._refit_at:
            self._refit(known.rows[some], (values - trend)[some])
        works = np.isfinite(known.logs)
        share = float(works.mean())
        mean_cost = float(known.costs.mean())
        observed = np.column_stack(
            [(values - trend)[some], known.costs[some] - mean_cost, works[some] - share]
        )
        rows, expected = self._expected(standard, mean_cost, share)
        model.condition(np.vstack([known.rows[some], rows]), np.vstack([observed, expected]))
        candidates = self._candidates(order).without(self.seen)
        posterior = model.posterior(candidates.rows)
        of_trend = self._trend.of(candidates.configs)
        best = float(values[order[0]])
        return Prospects(candidates, posterior, standard, of_trend, mean_cost, share, best)

    def _expected(
        self, standard: Standardised, mean_cost: float, share: float
    ) -> tuple[Array, Array]:
        """The coordinates of what is pending, and its predictions as what the model learns now."""
        if not self._pending:
            return np.empty((0, self._coordinates.count)), np.empty((0, 3))
        rows, predicted = (np.stack(each) for each in zip(*self._pending.values(), strict=True))
        values = standard.values_of(predicted[:, 0]) - self._trend.of([*self._pending])
        return rows, np.column_stack([values, predicted[:, 1] - mean_cost, predicted[:, 2] - share])

    def _expect(self, config: Config, row: Array, prediction: Array) -> None:
        # A copy: a view would keep all candidates of a proposal.
        self._pending[config] = row.copy(), prediction
        while len(self._pending) > _MOST_PENDING:
            del self._pending[next(iter(self._pending))]  # the oldest

    def _promising(self) -> list[Config]:
        """The best by prediction that this call proposed: older ones would lead ever further."""
        means = {
            config: float(prediction[0])
            for config, (_, prediction) in self._pending.items()
            if config not in self._asked_before
        }
        return sorted(means, key=means.__getitem__)[:_PROMISING]

    def _some(self, order: Places) -> Places:
        """The observations for the model: half of them the region's best, the others random."""
        size, count = self.settings.model_size, len(self._known)
        if count <= size:
            return np.arange(count)
        best = order[: size // 2]
        is_other = np.ones(count, dtype=np.bool_)
        is_other[best] = False
        others = self.rng.choice(np.flatnonzero(is_other), size - len(best), replace=False)
        return np.concatenate([best, others])

    def _refit(self, rows: Array, values: Array) -> None:
        """Refit the model's hyperparameters."""
        self._refit_at = 1 + np.floor(len(self._known) * (1 + self.settings.refit))
        if len(values) > FITTED:
            some = self.rng.choice(len(values), FITTED, replace=False)
            rows, values = rows[some], values[some]
        self._current_model().adapt(rows, values)
        if len(self.seen) >= self._pool_lasts:
            self._renewed_pool()

    def _candidates(self, order: Places) -> Choices:
        settings, known = self.settings, self._known
        best = order[: settings.near]
        nearest = [known.configs[i] for i in best[np.isfinite(known.logs[best])]]
        nearest += self._promising() if self._asked > _FEW else []
        parts = [self._current_pool().draw(settings.random)]
        parts += [self._favourites.new(settings.liked, self.seen)] if settings.liked else []
        parts += [self._neighbourhood.neighbours(config) for config in nearest]
        parts += [self._neighbourhood.variations(config) for config in nearest[: settings.varied]]
        return Choices.joined(parts)
