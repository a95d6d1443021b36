"""The content of the tables and the page about a network as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

STORE, MODEL, DEFAULT = "store", "model", "default"
"""Where a task's program is from: the best of the store, a pick of the machine's model, of which
the time is an estimate, or the default of a sketch, of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task of a network, and the program that a build would take for it.

    ``brief`` is its operator in a few words, ``label`` with all options. ``seconds`` are those of
    one call, None where nothing is known. ``least_seconds`` is the bound of the roofline, set by
    ``limit``: arithmetic or memory. ``default_seconds`` are those of the default schedule, without
    tuning. ``peers`` maps other libraries to their seconds of a call.
    """

    key: str
    label: str
    brief: str
    operator: str
    flops: float
    layers: int
    least_seconds: float | None = None
    limit: str = ""
    seconds: float | None = None
    default_seconds: float | None = None
    sketch: str = ""
    origin: str = ""
    trials: int = 0
    peers: Mapping[str, float] = field(default_factory=dict)

    @property
    def spent(self) -> float:
        """Seconds of all its layers, 0 where nothing is known."""
        return self.layers * (self.seconds or 0.0)

    @property
    def gflops(self) -> float | None:
        return None if self.seconds is None else self.flops / self.seconds / 1e9

    @property
    def share_of_peak(self) -> float | None:
        """The bound as a share of the time: 1 is the roofline."""
        return share_of_peak(self.least_seconds, self.seconds)

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """The fastest peer, and how many times as fast as it this one is."""
        if not self.peers or self.seconds is None:
            return None
        name = min(self.peers, key=lambda name: self.peers[name])
        return name, self.peers[name] / self.seconds

    def to_json(self) -> dict[str, Any]:
        peer = self.best_peer
        ratios = {name: seconds / (self.seconds or 1.0) for name, seconds in self.peers.items()}
        return {
            "task": self.key,
            "label": self.label,
            "layers": self.layers,
            "seconds": self.seconds,
            "gflops": self.gflops,
            "share_of_peak": self.share_of_peak,
            "limit": self.limit or None,
            "sketch": self.sketch or None,
            "origin": self.origin or None,
            "default_seconds": self.default_seconds,
            "trials": self.trials,
            "peers": ratios,
            "best_peer": None if peer is None else peer[0],
            "best_peer_ratio": None if peer is None else peer[1],
        }


def share_of_peak(least: float | None, seconds: float | None) -> float | None:
    """The least possible time as a share of another one."""
    return None if least is None or not seconds else least / seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """A function that a call of a built network runs, and its ``seconds``.

    A layer has what ``TaskRow`` has; an operation that no operator covers has only TVM's ``name``
    of the function that computes it.
    """

    name: str
    seconds: float
    label: str = ""
    brief: str = ""
    operator: str = ""
    flops: float | None = None
    least_seconds: float | None = None
    limit: str = ""
    sketch: str = ""

    @property
    def covered(self) -> bool:
        return bool(self.operator)


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Where the time of a call goes, measured inside a built network.

    ``seconds`` are those of a whole call, ``parts`` what it runs, in order.
    """

    seconds: float
    parts: Sequence[CallPart]

    @property
    def runtime(self) -> float:
        """Seconds of a call outside of all parts: checks, memory, and calling the functions."""
        return max(0.0, self.seconds - sum(part.seconds for part in self.parts))

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "runtime_seconds": self.runtime,
            "parts": [
                {
                    "name": part.name,
                    "label": part.label or None,
                    "seconds": part.seconds,
                    "share": part.seconds / self.seconds,
                    "gflops": None if part.flops is None else part.flops / part.seconds / 1e9,
                    "share_of_peak": share_of_peak(part.least_seconds, part.seconds),
                    "sketch": part.sketch or None,
                }
                for part in self.parts
            ],
        }


@dataclass(frozen=True, kw_only=True)
class NetworkReport:
    """The content of the page about a network.

    ``layers`` has for each layer, in order, the number of its task in ``tasks``. ``uncovered`` are
    the operations that no operator covers. ``curve`` has after how many seconds of tuning the
    layers took how many seconds a call; ``tuning_seconds`` is the end of it. ``call`` is what was
    measured inside of the network, if it was. ``commands`` are what tunes, builds and reports.
    """

    title: str
    inputs: str
    target: str
    machine: str
    tasks: Sequence[TaskRow]
    layers: Sequence[int]
    uncovered: Sequence[str] = ()
    call: CallTimes | None = None
    curve: Sequence[tuple[float, float]] = ()
    tuning_seconds: float = 0.0
    tuner: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()

    @property
    def seconds(self) -> float:
        """Seconds of all layers whose time is known or estimated."""
        return sum(task.spent for task in self.tasks)

    @property
    def tuned(self) -> Sequence[TaskRow]:
        """The tasks that the store has a time of."""
        return [task for task in self.tasks if task.origin == STORE]

    @property
    def gain(self) -> tuple[float, float] | None:
        """Seconds of the layers with default schedules, and as they are; of tasks that have both.

        None if there are none.
        """
        both = [
            (task.layers * task.default_seconds, task.spent)
            for task in self.tuned
            if task.default_seconds is not None
        ]
        if not both:
            return None
        before, after = (sum(column) for column in zip(*both, strict=True))
        return before, after
