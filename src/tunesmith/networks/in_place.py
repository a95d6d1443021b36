"""Times programs where they will run: inside of the network.

Trials call one program again and again, so its weights and inputs stay in the caches. In a network
the other layers have used these meanwhile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.graph import Array
from tunesmith.task import Task

# Rounds in which all networks take turns: so many as fit the seconds, within bounds.
_SECONDS = 6.0
_FEWEST, _MOST = 5, 40

Link = Callable[[Mapping[Task, LayerKernel]], CompiledNetwork]
Contenders = Mapping[Task, Sequence[LayerKernel]]


def times_in_place(
    contenders: Contenders, link: Link, examples: Sequence[Sequence[Array]]
) -> Mapping[Task, Sequence[float]]:
    """The seconds that all layers of a task take in a call, with each of its kernels.

    So many networks are linked as the task with the most contenders has. They take turns, and the
    median of the rounds counts. ``examples`` are inputs for each batch. Raises like a call.
    """
    count = max(map(len, contenders.values()), default=0)
    networks = [
        _TimedNetwork(link({task: each[turn % len(each)] for task, each in contenders.items()}))
        for turn in range(count)
    ]
    ends = time.perf_counter() + _SECONDS
    rounds = 0
    while rounds < _FEWEST or (rounds < _MOST and time.perf_counter() < ends):
        for network in networks:
            network.run(examples)
        rounds += 1
    return {
        task: [
            _median(networks[turn :: len(each)], kernel.name) for turn, kernel in enumerate(each)
        ]
        for task, each in contenders.items()
    }


def _median(networks: Sequence[_TimedNetwork], name: str) -> float:
    """Of all rounds of the networks that have a kernel; 0 for one that no call runs."""
    seconds = [each.get(name, 0.0) for network in networks for each in network.rounds]
    return statistics.median(seconds)


class _TimedNetwork:
    """A network whose functions are timed, and in ``rounds`` their seconds, by their names."""

    def __init__(self, network: CompiledNetwork) -> None:
        self.rounds: list[dict[str, float]] = []
        self._network = network.watched(self._watch)
        self._begun = 0.0

    def run(self, examples: Sequence[Sequence[Array]]) -> None:
        """Call it twice with each example: the first call brings its data to the caches."""
        self.rounds.append({})
        for inputs in examples:
            known = dict(self.rounds[-1])
            self._network(*inputs)
            self.rounds[-1] = known
            self._network(*inputs)

    def _watch(self, _: Any, name: str, before: bool, *_others: Any) -> int:
        now = time.perf_counter()
        if before:
            self._begun = time.perf_counter()
        else:
            last = self.rounds[-1]
            last[str(name)] = last.get(str(name), 0.0) + now - self._begun
        return 0
