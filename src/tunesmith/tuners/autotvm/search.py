"""AutoTVM's search: algorithm 1 of "Learning to Optimize Tensor Programs".

A cost model learns from all trials. Simulated annealing finds configs that the model likes, a batch
of them is measured that is good and diverse, and the model learns again. Differences from the
paper:

- Nothing waits. When a batch is proposed, the next one is planned with what is known by then.
- A model that cannot learn, as fewer than two trials differ, is not asked: configs are random.
- Scores are divided by their deviation over the observed configs, before temperatures and α are
  applied to them: the scale of a rank model is arbitrary.
- Making a program takes milliseconds, and the chains visit tens of thousands of configs. So with
  features of programs, the chains follow a second model, of the configuration, and the programs of
  only the best few hundred are made, for the model of the programs to choose from.
- A model of other tasks (equation 4) takes as long, and joins in there, too; the chains follow a
  quick copy of it. While there is less than a batch of trials, those of earlier runs included, what
  it likes is measured; without it, such trials are random. While it has weight, the local models
  learn what it gets wrong, which is a regression, and batches are smaller: what it likes is alike,
  so few tell enough.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tunesmith.features.config_rows import ConfigRows, Keys, Rows
from tunesmith.features.kinds import loops_in
from tunesmith.measurement import Measurement
from tunesmith.space import Config
from tunesmith.tuners.autotvm.chains import Chains
from tunesmith.tuners.autotvm.diversity import diverse
from tunesmith.tuners.autotvm.finite import finite
from tunesmith.tuners.autotvm.guarded import ModelFailedError
from tunesmith.tuners.autotvm.judge import Judge
from tunesmith.tuners.autotvm.prior import GlobalPrior
from tunesmith.tuners.tuner import Search, fitness
from tunesmith.tuners.view import View

if TYPE_CHECKING:
    from tunesmith.tuners.autotvm.tuner import AutoTVM

Array = npt.NDArray[np.float64]

_LOGGER = logging.getLogger("tunesmith")


class AutoTVMSearch(Search):
    """A running search. Until a batch of trials is known, configs are random, or those that a model
    of other tasks likes, if there is one.

    Raises ``UsageError`` for features that the problem does not have, an unknown model, or an
    objective that it lacks, and ``MissingDependencyError`` without the model's package.
    """

    def __init__(self, settings: AutoTVM, view: View, seed: int) -> None:
        super().__init__(view.space, seed)
        self.settings = settings
        self._view = view
        view.features([], settings.features)  # whose complaint is due now
        self._rows = ConfigRows(view.space)
        self._model = settings.made_model(self._rows.coordinates.count)
        self._chains: Chains | None = None
        self._configs: list[Config] = []  # all observed ones
        self._observed_rows = self._rows.of([])  # their rows, as far as they were asked for
        self._speeds: list[float] = []  # in calls per second
        self._keys: dict[Config, int] = {}  # of the seen ones
        self._batch: deque[Config | None] = deque()  # None: a random one
        self._first = True
        self._said: set[str] = set()
        self._prior: GlobalPrior | None = None
        if settings.transfer and view.has_transferred:
            count = self._rows.coordinates.count
            quick, self._local = (settings.made_model(count, regression=True) for _ in range(2))
            self._prior = GlobalPrior(view, self._rows, quick)

    def next_config(self) -> Config | None:
        if not self._batch:
            try:
                self._batch.extend(self._planned())
            except ModelFailedError as error:
                self._say(f"{error}: the search goes on without it, configs are random")
                self._batch.extend([None] * self.settings.batch)
        while self._batch:
            config = self._batch.popleft() or self.fresh_config()
            if config is not None and config not in self.seen:
                return config
        return self.fresh_config()

    def learn(self, measurement: Measurement) -> None:
        self._configs.append(measurement.config)
        self._speeds.append(fitness(measurement))

    def _planned(self) -> list[Config | None]:
        """The next batch."""
        settings = self.settings
        speeds = np.array(self._speeds)
        prior = self._prior
        size = least = settings.batch
        if prior is not None and (prior.counts or len(speeds) < size):
            size = min(size, settings.transfer_batch)
            least = max(2, size // 2)
        if prior is not None and self._first and len(speeds) < size:
            self._first = False
            rows, scores = self._liked(prior, settings.diversity_ratio * size)
        elif len(speeds) < least:
            return [None]
        elif not np.ptp(speeds) > 0.0:
            which = "are equally fast" if speeds.max() > 0.0 else "failed"
            self._say(
                f"all trials {which}, so there is nothing to learn from: configs are random until "
                "some differ"
            )
            return [None]
        else:
            rows, scores = self._candidates(speeds / speeds.max(), size)
        wanted = size - round(settings.epsilon * size)
        chosen = diverse(rows, scores, wanted, settings.diversity_weight)
        planned: list[Config | None] = [*self._rows.configs(rows[chosen])]
        random = size - len(planned)
        for place in sorted(self.rng.integers(len(planned) + 1, size=random).tolist()):
            planned.insert(place, None)
        return planned

    def _candidates(self, values: Array, size: int) -> tuple[Rows, Array]:
        """The best rows by the model and their scores, λ for each config of a batch of that size.

        ``values`` are what the model learns of the observed configs.
        """
        settings, of = self.settings, self._rows
        if self._chains is None:
            begin = self.some_configs(settings.chains)
            self._chains = Chains(of, begin, settings.chains, self.rng)
        keep = settings.diversity_ratio * size
        prior = self._weighty(values)
        worth = self._quick_worth(values, prior)
        chosen_again = settings.features != "configuration" or prior is not None
        # The chains go on from batch to batch: for small ones they move less, and less far, and
        # fewer of what they find is looked at closely.
        share = size / settings.batch
        close = max(keep, math.ceil(settings.programs * share))
        best = self._chains.run(
            lambda rows: worth(of.features(rows)),
            math.ceil(settings.steps * share),
            close if chosen_again else keep,
            self._known(),
            hottest=share,
        )
        if not chosen_again:
            return best.rows, best.scores
        rows = best.rows
        if prior is not None:
            rows = self._with_liked(rows, prior, close)
        scores = self._scores(rows, values, prior)
        order = np.argsort(-scores, kind="stable")[:keep]
        return rows[order], scores[order]

    def _weighty(self, values: Array) -> GlobalPrior | None:
        """The model of other tasks, fitted to the values; None where there is none of weight."""
        prior = self._prior
        if prior is None:
            return None
        prior.learn(self._configs, values)
        if not prior.counts:
            return None
        prior.look(int(self.rng.integers(1 << 32)))
        return prior

    def _quick_worth(self, values: Array, prior: GlobalPrior | None) -> Callable[[Array], Array]:
        """What configs are worth by their features, which takes the chains no time."""
        configs = self._configs[len(self._observed_rows) :]
        self._observed_rows = np.concatenate([self._observed_rows, self._with_keys(configs)])
        known = self._rows.features(self._observed_rows)
        judge = Judge(self._model if prior is None else self._local, self.settings.acquisition)
        if prior is None:
            judge.learn(known, values)
            return judge.worth
        judge.learn(known, values, prior.quick_values(known))
        return lambda features: judge.worth(features, prior.quick_values(features))

    def _scores(self, rows: Rows, values: Array, prior: GlobalPrior | None) -> Array:
        """What rows are worth, by a model of the features and the prior."""
        configs, kind = self._rows.configs(rows), self.settings.features
        known = self._view.features(self._configs, kind)
        model = self.settings.made_model(
            known.shape[1], loops=loops_in(kind), regression=prior is not None
        )
        judge = Judge(model, self.settings.acquisition)
        observed, candidates = finite(known), finite(self._view.features(configs, kind))
        if prior is None:
            judge.learn(observed.rows, values)
            scores = judge.worth(candidates.rows)
        else:
            judge.learn(observed.rows, values, prior.values(self._configs))
            scores = judge.worth(candidates.rows, prior.values(configs))
        if observed.empty.all():
            self._say(f"no program could be made yet, so nothing is learned from {kind} features")
        elif observed.partly or candidates.partly:
            self._say(f"some {kind} features are no numbers: they count as 0")
        # A config without a program would be a failed trial.
        return np.where(candidates.empty, scores.min(initial=0.0), scores)

    def _liked(self, prior: GlobalPrior, keep: int) -> tuple[Rows, Array]:
        """What a model of other tasks likes most, and its scores."""
        prior.look(int(self.rng.integers(1 << 32)))
        configs, scores = prior.favourites(keep)
        spread = float(scores.std()) if len(scores) else 0.0
        return self._rows.of(configs), scores / (spread or 1.0)

    def _with_liked(self, rows: Rows, prior: GlobalPrior, count: int) -> Rows:
        """Rows, and ``count`` that a model of other tasks likes that were not tried yet."""
        new, _ = prior.favourites(count, without=self.seen)
        joined = np.concatenate([rows, self._rows.of(new)])
        _, first = np.unique(self._rows.keys(joined), return_index=True)
        return joined[np.sort(first)]

    def _say(self, text: str) -> None:
        """Log a line, once in a search."""
        if text not in self._said:
            self._said.add(text)
            _LOGGER.warning("tunesmith: tuner '%s': %s", self.settings.name, text)

    def _with_keys(self, configs: Sequence[Config]) -> Rows:
        """The rows of configs, whose keys are known from now on."""
        rows = self._rows.of(configs)
        self._keys.update(zip(configs, self._rows.keys(rows).tolist(), strict=True))
        return rows

    def _known(self) -> Keys:
        """The keys of all seen configs."""
        new = [config for config in self.seen if config not in self._keys]
        # In an order that is the same in every process, as some values get numbers by it.
        self._with_keys(sorted(new, key=lambda config: config.key))
        return np.fromiter(self._keys.values(), dtype=np.uint64, count=len(self._keys))
