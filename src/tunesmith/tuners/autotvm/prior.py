"""What a model of other tasks adds to the local one: f = f_global + f_local (equation 4).

The global model is worth most while there are few trials. As in AutoTVM's implementation its weight
halves with every 64 trials; below a twentieth it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.features.config_rows import ConfigRows
from tunesmith.models import CostModel
from tunesmith.space import Config
from tunesmith.tuners.autotvm.guarded import Guarded
from tunesmith.tuners.starts import StartFinder
from tunesmith.tuners.view import View

Array = npt.NDArray[np.float64]

# After so many trials the weight is half of what it was.
_HALVED_AFTER = 64
_LEAST_WEIGHT = 0.05

# Where the model's favourites are looked for before there is a trial.
_FINDER = StartFinder(samples=512)


class GlobalPrior:
    """What a model of other tasks says, in the unit of the values that a local one learns.

    Its predictions are right but for a constant and a scale: both are fitted to what was observed.
    A config that it calls impossible is as bad as the worst other one. They take too long for the
    chains, so ``quick``, a model of the configuration, learns from it what it says of the configs
    among which its favourites were found. Methods raise ``ModelFailedError`` where that fails.
    """

    def __init__(self, view: View, rows: ConfigRows, quick: CostModel) -> None:
        self._view = view
        self._rows = rows
        self._quick = Guarded(quick)
        self._known: dict[Config, float] = {}
        self._has_looked = False
        self._offset = 0.0
        self._scale = 0.0
        self._least = 0.0  # what it says of the worst config that is possible

    def learn(self, configs: Sequence[Config], values: Array) -> None:
        """Fit to the values, shape (n,), of observed configs."""
        weight = 2.0 ** (-len(values) / _HALVED_AFTER)
        self._scale = 0.0
        if weight < _LEAST_WEIGHT:
            return
        said = self._said(configs)
        possible = np.isfinite(said)
        said, values = said[possible], values[possible]
        if len(said) and np.ptp(said) > 0.0:
            covariance = float(((said - said.mean()) * (values - values.mean())).mean())
            # A model that has the order the wrong way round has nothing to say.
            self._scale = weight * max(0.0, covariance / float(said.var()))
            self._offset = float(said.mean())
            self._least = min(each for each in self._known.values() if math.isfinite(each))

    @property
    def counts(self) -> bool:
        """Whether it has any weight."""
        return self._scale > 0.0

    def values(self, configs: Sequence[Config]) -> Array:
        """What it adds for configs, shape (configs,)."""
        if not self.counts:
            return np.zeros(len(configs))
        said = self._said(configs)
        said = np.where(np.isfinite(said), said, self._least)
        added: Array = self._scale * (said - self._offset)
        return added

    def quick_values(self, features: Array) -> Array:
        """About what it adds for configs of these features, shape (configs, features)."""
        if not self.counts:
            return np.zeros(len(features))
        added: Array = self._scale * (self._quick.predict(features).means - self._offset)
        return added

    def look(self, seed: int) -> None:
        """Look for its favourites, until there are some: among random configs, and around the best
        of these."""
        if self._has_looked:
            return
        _FINDER.estimated(View(self._view.space, lambda it: np.exp2(-self._said(it))), seed)
        configs = [config for config, said in self._known.items() if math.isfinite(said)]
        if configs:
            self._quick.fit(self._rows.features(self._rows.of(configs)), self._said(configs))
            self._has_looked = True

    def favourites(self, count: int, without: Container[Config] = ()) -> tuple[list[Config], Array]:
        """Up to ``count`` of the configs that it was asked about and calls possible, those that it
        likes most, and their logarithms of speeds."""
        liked = [
            config
            for config, said in self._known.items()
            if math.isfinite(said) and config not in without
        ]
        said = self._said(liked)
        best = np.argsort(-said, kind="stable")[:count]
        return [liked[place] for place in best.tolist()], said[best]

    def _said(self, configs: Sequence[Config]) -> Array:
        new = list(dict.fromkeys(config for config in configs if config not in self._known))
        if new:
            said = self._view.transferred(new)
            assert said is not None
            self._known.update(zip(new, said.tolist(), strict=True))
        return np.array([self._known[config] for config in configs])
