"""Whole networks of the zoo on a GPU: tuned, checked, and compared with PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.bench.networks import SIDE
from tunesmith.bench.networks.comparison import OURS, Comparison
from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.timing.rotation import rotate
from tunesmith.budget import Budget, Stop
from tunesmith.errors import TunesmithError
from tunesmith.networks import Network, from_torch
from tunesmith.networks.zoo import ZOO
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.tuners import tuner

NETWORKS = ("resnet18", "bert_base")
"""What is compared unless others are named: images and text."""

PEERS = ("pytorch", "torch-compile")
"""Sides of PyTorch on the GPU, by their names among the peers of networks."""

# The share of a network's time in which it is tuned; the rest is for building and comparing.
_TUNING = 0.6
_TURN_SECONDS = 0.05
# torch.compile takes minutes for large networks.
_PATIENCE = 900.0

Row = dict[str, Any]


@dataclass(frozen=True)
class NetworkRuns:
    """Makes a row for each of the networks ``names``, for a batch of 1, in float32.

    ``device`` is where PyTorch computes, ``rounds`` how often the sides take turns. Raises
    ``UsageError`` for a network that is not in the zoo.
    """

    target: Target
    names: Sequence[str] = NETWORKS
    peers: Sequence[str] = PEERS
    rounds: int = 25
    seed: int = 0
    device: str = "cuda"

    def __post_init__(self) -> None:
        for name in self.names:
            ZOO.get(name)

    def row(self, name: str, store: Store, seconds: float, say: Callable[[str], None]) -> Row:
        """The row of a network, in about so many seconds; it is tuned unless there are none.

        Raises ``MissingDependencyError`` without PyTorch, ``TunesmithError`` where the network
        cannot be built or differs from PyTorch's results, and ``KeyboardInterrupt``.
        """
        zoo = ZOO.get(name)
        network = from_torch(zoo.model(), zoo.example(1), self.target)
        tuned = self._tuned(network, name, store, seconds * _TUNING, say)
        say(f"{name}: building ...")
        compiled = network.build(store)
        with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as made:
            library = compiled.save(Path(made) / "net.so")
            comparison = self._compared(network, name, library, say)
        return {
            "network": name,
            **comparison.to_json(),
            "relative_error": compiled.relative_error,
            "tuning_seconds": tuned,
            "tasks": len(network.tasks),
            "stored_tasks": compiled.stored_tasks,
        }

    def _tuned(
        self,
        network: Network,
        name: str,
        store: Store,
        seconds: float,
        say: Callable[[str], None],
    ) -> float:
        if seconds <= 0:
            return 0.0
        say(f"{name}: tuning for {seconds:.0f} s ...")
        result = network.tune(tuner("auto"), Budget(seconds=seconds), store, seed=self.seed)
        if result.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        if result.failure:
            raise TunesmithError(result.failure)
        return result.seconds

    def _compared(
        self, network: Network, name: str, library: Path, say: Callable[[str], None]
    ) -> Comparison:
        inputs = library.with_name("inputs.npz")
        arrays: dict[str, Any] = network.example()
        np.savez(inputs, **arrays)
        model = ComparedModel(name, None, 1, inputs=str(inputs)).to_json()
        common = {"model": model, "cores": self.target.core_count, "device": self.device}
        sides = {OURS: {"kind": "ours", "library": str(library), **common}}
        sides |= {peer: {"kind": "peer", "peer": peer, **common} for peer in self.peers}
        rotation = rotate(
            SIDE,
            sides,
            self.rounds,
            seconds=_TURN_SECONDS,
            patience=_PATIENCE,
            say=lambda side: say(f"{name}: preparing {side} ..."),
        )
        if OURS in rotation.failed:
            raise TunesmithError(f"our network failed: {rotation.failed[OURS]}")
        return Comparison((OURS,), rotation.turns, {}, rotation.failed)
