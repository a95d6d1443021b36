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

# Rounds in which all networks take turns: at least one, and so many as fit the seconds.
_SECONDS = 6.0
_MOST = 40
# A call that takes longer is not called twice: it brings its data to the caches by itself.
_LONG_CALL = 0.5

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
    for _ in range(_MOST):
        for network in networks:
            network.run(examples)
        if time.perf_counter() >= ends:
            break
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
        self._recorder = _Recorder()
        self._network = network.watched(self._recorder)

    @property
    def rounds(self) -> Sequence[Mapping[str, float]]:
        return self._recorder.rounds

    def run(self, examples: Sequence[Sequence[Array]]) -> None:
        """Call it twice with each example: the first call brings its data to the caches."""
        rounds = self._recorder.rounds
        rounds.append({})
        for inputs in examples:
            known = dict(rounds[-1])
            begun = time.perf_counter()
            self._network(*inputs)
            if time.perf_counter() - begun <= _LONG_CALL:
                rounds[-1] = known
                self._network(*inputs)


class _Recorder:
    """Hears of each function of a call before and after it, and adds its seconds to the last round.

    TVM's virtual machine holds it. It does not hold the network: Python's collector does not see
    that TVM holds it, and would free neither.
    """

    def __init__(self) -> None:
        self.rounds: list[dict[str, float]] = []
        self._begun = 0.0

    def __call__(self, _: Any, name: str, before: bool, *_others: Any) -> int:
        now = time.perf_counter()
        if before:
            self._begun = time.perf_counter()
        else:
            last = self.rounds[-1]
            last[str(name)] = last.get(str(name), 0.0) + now - self._begun
        return 0
