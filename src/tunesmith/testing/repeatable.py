"""The part of the tuners' conformance suite that asks whether a run can be repeated."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys

import pytest

from tunesmith.space import Config
from tunesmith.testing.suite import TunerSuite
from tunesmith.testing.trials import distance_cost, failed, measured, space_named


class RepeatableConformance(TunerSuite):
    """Tests of seeds and settings."""

    @pytest.mark.parametrize("name", ["mixed", "constrained", "fifteen points"])
    def test_the_same_seed_gives_the_same_proposals(self, name: str) -> None:
        space = space_named(name)
        assert self.run(space, seed=3) == self.run(space, seed=3)

    def test_another_seed_gives_other_proposals(self) -> None:
        space = space_named("mixed")
        assert (self.run(space, seed=3) != self.run(space, seed=4)) == self.stochastic

    def test_searches_of_one_tuner_do_not_disturb_each_other(self) -> None:
        space = space_named("mixed")
        cost = distance_cost(space)
        alone = self.run(space, seed=5)
        one, other = self.start(space, seed=5), self.start(space, seed=6)
        together: list[Config] = []
        while len(together) < self.trials:
            other.observe([failed(config) for config in other.propose(8)])
            configs = one.propose(min(8, self.trials - len(together)))
            if not configs:
                break
            together += configs
            one.observe([measured(config, cost(config)) for config in configs])
        assert together == alone

    def test_the_settings_are_immutable_and_survive_pickling(self) -> None:
        assert pickle.loads(pickle.dumps(self.tuner)) == self.tuner
        assert hash(self.tuner) == hash(dataclasses.replace(self.tuner))
        assert type(self.tuner).__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert self.tuner.name

    def test_another_process_makes_the_same_proposals_and_needs_no_tvm(self) -> None:
        """Nor may they depend on the order of a set, which another hash seed changes."""
        program = (
            "import json, pickle, sys\n"
            "from tunesmith.testing.trials import distance_cost, drive, measured, space_named\n"
            "tuner, trials = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
            "space = space_named('mixed')\n"
            "cost = distance_cost(space)\n"
            "run = drive(tuner.start(space, 7), trials, lambda c: measured(c, cost(c)))\n"
            "print(json.dumps([[config.key for config in run], 'tvm' in sys.modules]))\n"
        )
        pickled = pickle.dumps((self.tuner, self.trials)).hex()
        result = subprocess.run(
            [sys.executable, "-c", program, pickled],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                "PYTHONHASHSEED": "12345",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        keys, has_tvm = json.loads(result.stdout)
        assert not has_tvm, "the tuner imports TVM"
        assert keys == [config.key for config in self.run(space_named("mixed"), seed=7)]
