"""Compares our programs with NVIDIA's libraries on one GPU, in turn, each in its own process.

Both processes stay for all comparisons, for a GPU's context and PyTorch take seconds to start; each
has one program at a time. What is timed is the GPU alone, on either side: the calls are recorded in
CUDA graphs, which run between two of its events.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tunesmith.bench.gpu.facts import read_clocks
from tunesmith.bench.peers.sides import has_torch, kernel_side_of
from tunesmith.bench.peers.torch_gpu import library_of
from tunesmith.bench.timing.line_process import LineProcess
from tunesmith.bench.timing.rotation import Turns, ratio_of
from tunesmith.errors import MissingDependencyError, TunesmithError
from tunesmith.operators import Operator

# Long enough for some calls of the slowest workload, short enough for the clocks not to change.
TURN_SECONDS = 0.01
# Rounds of a side by itself, before it takes turns.
_ALONE = 5

# PyTorch takes half a minute to load from a slow disk; cuDNN tries many algorithms.
_START_SECONDS = 120.0
_LOAD_SECONDS = 60.0
# The first one of a side has cuDNN try its algorithms.
_ROUND_SECONDS = 60.0

_SIDES = ("ours", "torch")

_NO_TORCH = "PyTorch is not installed: cuBLAS and cuDNN are called through a build of it for CUDA"


class GpuSide(LineProcess):
    """A process that loads one program after the other, and times each when asked.

    ``described`` says which side it is, see ``gpu_side``.
    """

    def __init__(self, described: Mapping[str, Any]) -> None:
        super().__init__("tunesmith.bench.gpu.side", {})
        self.say(described)
        self.way: str | None = None
        """How its library computes, known after a round; None where it has but one way."""
        self._versions: Mapping[str, str] | None = None

    def ready(self) -> Mapping[str, str]:
        """Wait until it has its GPU. Returns what computes, by name, with versions.

        Raises ``TunesmithError`` if it cannot.
        """
        if self._versions is None:
            self._versions = self.answer(_START_SECONDS)["versions"]
        return self._versions

    def load(self, described: Mapping[str, Any]) -> None:
        """Have it load a program; ``loaded`` waits for it. Raises ``TunesmithError``."""
        self.ready()
        self.way = None
        self.say({"load": described})

    def loaded(self) -> None:
        """Wait for what it was to load. Raises ``TunesmithError`` if that is impossible."""
        self.answer(_LOAD_SECONDS)

    def round(self) -> float:
        """Mean seconds of a call. Raises ``TunesmithError`` if the program fails."""
        self.say({"seconds": TURN_SECONDS})
        answer = self.answer(_ROUND_SECONDS)
        self.way = answer["way"]
        return float(answer["seconds"])


class GpuPeers:
    """Both sides, until ``close``; a side that breaks down is started anew.

    ``device`` is where PyTorch computes: ``cuda``, or ``cpu`` to try all of this without a GPU.
    Raises ``MissingDependencyError`` where PyTorch is not installed.
    """

    def __init__(self, device: str = "cuda") -> None:
        if not has_torch():
            raise MissingDependencyError(_NO_TORCH)
        self._described = {
            "ours": {"side": "ours"},
            "torch": {"side": "torch", "device": device},
        }
        self._sides: dict[str, GpuSide] = {}

    def versions(self) -> Mapping[str, str]:
        """Of the libraries. Raises ``MissingDependencyError`` if PyTorch cannot use the GPU."""
        try:
            self._side("ours")  # gets ready at the same time
            return self._side("torch").ready()
        except TunesmithError as error:
            raise MissingDependencyError(str(error)) from error

    def compare(self, operator: Operator, found: Mapping[str, Any], rounds: int) -> dict[str, Any]:
        """The fields of a row about speeds; ``found`` has the ones about the best of tuning.

        Raises ``TunesmithError`` if one of the sides cannot compute the operator.
        """
        ours = {**kernel_side_of(operator, found), "program_hash": found["program_hash"]}
        self._load({"ours": ours, "torch": {"operator": operator.to_json()}})
        alone = {name: statistics.median(self._rounds(name, _ALONE)) for name in _SIDES}
        times: dict[str, list[float]] = {name: [] for name in _SIDES}
        for index in range(rounds):
            for name in _SIDES if index % 2 == 0 else reversed(_SIDES):
                times[name] += self._rounds(name, 1)
        ways = {name: self._side(name).way for name in _SIDES}
        mine, theirs = (Turns(alone[name], tuple(times[name]), ways[name]) for name in _SIDES)
        library = {"name": library_of(operator), "way": theirs.way}
        return {
            **_speed(mine, operator),
            "library": {**library, **_speed(theirs, operator)},
            **asdict(ratio_of(theirs, mine)),
            "rounds": rounds,
            "clocks": read_clocks(),
        }

    def _load(self, programs: Mapping[str, Mapping[str, Any]]) -> None:
        """Both sides at a time, for it is the processor that has the work."""
        failures = []
        try:
            for name, described in programs.items():
                with self._blamed(name):
                    self._side(name).load(described)
        except TunesmithError:
            self.close()  # the other one may owe an answer
            raise
        for name in programs:
            try:
                with self._blamed(name):
                    self._side(name).loaded()
            except TunesmithError as error:  # the other one's answer is still to be taken
                failures.append(error)
        if failures:
            raise failures[0]

    def _rounds(self, name: str, count: int) -> list[float]:
        with self._blamed(name):
            return [self._side(name).round() for _ in range(count)]

    def _side(self, name: str) -> GpuSide:
        if name not in self._sides:
            self._sides[name] = GpuSide(self._described[name])
        return self._sides[name]

    @contextlib.contextmanager
    def _blamed(self, name: str) -> Iterator[None]:
        """Whose fault it is if it fails; that side has to start again, for its context is lost."""
        try:
            yield
        except TunesmithError as error:
            self._sides.pop(name).close()
            whose = "our program" if name == "ours" else "PyTorch's"
            raise TunesmithError(f"{whose} failed: {error}") from error

    def close(self) -> None:
        """End both processes."""
        for side in self._sides.values():
            side.close()
        self._sides.clear()


def _speed(turns: Turns, operator: Operator) -> dict[str, Any]:
    return {
        "seconds": turns.seconds,
        "gflops": operator.flops / turns.seconds / 1e9,
        "alone": turns.alone,
        "disturbed": turns.disturbed,
    }
