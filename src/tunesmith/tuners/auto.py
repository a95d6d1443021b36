"""The default search: Bayesian optimisation over neighbours of the best configs and random ones.

It combines ideas of the papers' tuners and their baselines. Local search along the topology of the
parameters refines good configs (OpEvo, G-BFS). A model of all observations selects the candidates
that are worth a trial (NoSE, AutoTVM). Random candidates, ranked by the same model, escape local
optima.

The model is a Gaussian process over the logarithm of seconds, in coordinates in which powers of two
are similar. The next config has the largest expected improvement (Jones, Schonlau and Welch,
"Efficient Global Optimization of Expensive Black-Box Functions", 1998, equation 15) per second that
its trial is expected to take (Snoek, Larochelle and Adams, "Practical Bayesian Optimization of
Machine Learning Algorithms", 2012, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.features import Coordinates
from tunesmith.measurement import Measurement
from tunesmith.models.acquisition import expected_improvement
from tunesmith.models.gaussian_process import GaussianProcess, Posterior
from tunesmith.space import Config, Space
from tunesmith.tuners.neighbourhood import Choices, Neighbourhood, Pool
from tunesmith.tuners.trend import Trend
from tunesmith.tuners.tuner import Search, Tuner, fitness, option
from tunesmith.tuners.view import View

Array = npt.NDArray[np.float64]

# The most observations that hyperparameters are fitted to: it takes cubic time.
_FITTED = 120

# The least cost of a trial in seconds, to take its logarithm.
_LEAST_COST = 1e-6

# The number of successive proposals, without an observation between them, from the same candidates.
_PROPOSALS_PER_POOL = 4

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
    told_apart: float = option(0.7, "share of the observations whose differences count")
    near: int = option(8, "best configs whose neighbours are candidates")
    varied: int = option(3, "best configs with all variations of a parameter as candidates")
    random: int = option(90, "random candidates for each proposal")
    round_share: float = option(0.67, "share of the random configs that favours powers of two")
    refit: float = option(0.15, "growth of the observations after which the model is refitted")

    def check(self) -> None:
        self.require_least(2, "initial")
        self.require_least(10, "model_size")
        self.require_least(1, "near")
        self.require_least(0, "varied", "random")
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
    """

    def __init__(self, settings: Auto, view: View, seed: int) -> None:
        super().__init__(view.space, seed)
        space = view.space
        self.settings = settings
        self._trend = Trend(view)
        self._coordinates = Coordinates(space)
        self._neighbourhood = Neighbourhood(space, self._coordinates, self.rng)
        self._pool: Pool | None = None
        self._pool_lasts = 0
        self._first: list[Config] | None = None
        self._model = GaussianProcess(self._coordinates.count)
        self._refit_at = 0
        self._configs: list[Config] = []
        self._rows: list[Array] = []
        self._logs: list[float] = []  # of seconds; infinite for failures
        self._costs: list[float] = []  # logarithms of the seconds of trials
        self._pending: dict[Config, tuple[Array, Array]] = {}  # coordinates and prediction
        self._prospects: _Prospects | None = None
        self._valid = 0

    def next_config(self) -> Config | None:
        if self._pool is None:
            self._renew_pool()
        few = self._valid < 2 or len(self.seen) < self.settings.initial
        config = self._initial() if few else None
        if config is None and self._valid >= 2 and self._coordinates.count:
            config = self._best_candidate()
        return self.fresh_config() if config is None else config

    def learn(self, measurement: Measurement) -> None:
        self._pending.pop(measurement.config, None)
        self._prospects = None
        throughput = fitness(measurement)
        self._configs.append(measurement.config)
        self._rows.append(self._coordinates.of(measurement.config))
        self._logs.append(-math.log(throughput) if throughput > 0.0 else math.inf)
        self._valid += throughput > 0.0
        cost = measurement.build_time + measurement.run_time
        self._costs.append(math.log(max(_LEAST_COST, cost)))

    def _initial(self) -> Config | None:
        """The next new initial config; None if there is none left."""
        if self._first is None:
            assert self._pool is not None
            self._first = self._pool.first(2 * self.settings.initial)
        while self._first:
            config = self._first.pop()
            if config not in self.seen:
                return config
        return None

    def _renew_pool(self) -> None:
        share = self.settings.round_share
        self._pool = Pool(self.space, self._coordinates, _POOL, share, self.rng)
        self._pool_lasts = len(self.seen) + _POOL_LASTS

    def _best_candidate(self) -> Config | None:
        """The new config with the most expected improvement per second; None without candidates."""
        if self._prospects is None or self._prospects.taken >= _PROPOSALS_PER_POOL:
            self._prospects = self._new_prospects()
        number = self._prospects.take(self.seen)
        if number is None:
            self._prospects = None
            return None
        config = self._prospects.candidates.configs[number]
        prediction = self._prospects.posterior.means[number]
        self._expect(config, self._prospects.candidates.rows[number], prediction)
        return config

    def _new_prospects(self) -> _Prospects:
        """New candidates with the model's prediction for them."""
        values = _standardised(np.array(self._logs), self.settings.told_apart)
        order = np.argsort(values, kind="stable")
        known = self._known(order)
        rows = np.array(self._rows)
        if len(values) >= self._refit_at:
            self._refit(rows[known], (values - self._trend.fit(self._configs, values))[known])
        candidates = self._candidates(order).without(self.seen)
        costs = np.array(self._costs)
        trend = self._trend.fit(self._configs, values)
        observed = np.column_stack([values - trend, costs - costs.mean()])
        pending = self._pending.values()
        self._model.condition(
            np.vstack([rows[known], *(row for row, _ in pending)]),
            np.vstack([observed[known], *(prediction for _, prediction in pending)]),
        )
        posterior = self._model.posterior(candidates.rows)
        expected = self._trend.of(candidates.configs)
        return _Prospects(candidates, posterior, expected, float(values[order[0]]))

    def _expect(self, config: Config, row: Array, prediction: Array) -> None:
        # Copies: a view would keep all candidates of a proposal.
        self._pending[config] = row.copy(), prediction.copy()
        while len(self._pending) > _MOST_PENDING:
            del self._pending[next(iter(self._pending))]  # the oldest

    def _known(self, order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The observations for the model: half of them the best, the others random."""
        size = self.settings.model_size
        if len(order) <= size:
            return order
        best = order[: size // 2]
        others = self.rng.choice(order[size // 2 :], size - size // 2, replace=False)
        return np.concatenate([best, others])

    def _refit(self, rows: Array, values: Array) -> None:
        """Refit the model's hyperparameters."""
        self._refit_at = 1 + int(len(self._logs) * (1 + self.settings.refit))
        if len(values) > _FITTED:
            some = self.rng.choice(len(values), _FITTED, replace=False)
            rows, values = rows[some], values[some]
        self._model.adapt(rows, values)
        if len(self.seen) >= self._pool_lasts:
            self._renew_pool()

    def _candidates(self, order: npt.NDArray[np.intp]) -> Choices:
        settings = self.settings
        assert self._pool is not None
        nearest = [self._configs[i] for i in order[: settings.near] if self._logs[i] < math.inf]
        parts = [self._pool.draw(settings.random)]
        parts += [self._neighbourhood.neighbours(config) for config in nearest]
        parts += [self._neighbourhood.variations(config) for config in nearest[: settings.varied]]
        return Choices.joined(parts)


@dataclass
class _Prospects:
    """Candidates with their posterior. ``best`` is the best value observed."""

    candidates: Choices
    posterior: Posterior
    trend: Array
    best: float
    taken: int = 0

    def take(self, seen: Container[Config]) -> int | None:
        """The index of the new one with the most expected improvement per second; None if none.

        The posterior then treats its mean as observed.
        """
        means = self.posterior.means
        gains = self.best - self.trend - means[:, 0]
        improvement = expected_improvement(gains, self.posterior.deviations)
        for number in np.argsort(-improvement / np.exp(means[:, 1]), kind="stable").tolist():
            if self.candidates.configs[number] not in seen:
                self.posterior.expect(number)
                self.taken += 1
                return int(number)
        return None


def _standardised(logs: Array, told_apart: float) -> Array:
    """Logarithms of seconds, standardised to mean 0 and deviation 1.

    They are clipped at the quantile ``told_apart``: how slow a slow config is says little about
    where fast ones are. Failures are worse than that by half of the range that is left.
    """
    valid = np.isfinite(logs)
    best, worst = logs[valid].min(), np.quantile(logs[valid], told_apart)
    failed = worst + ((worst - best) / 2 or 1.0)
    values = np.where(valid, np.minimum(logs, worst), failed)
    deviation = float(values.std())
    centred: Array = values - values.mean()
    return centred / deviation if deviation > 0.0 else centred
