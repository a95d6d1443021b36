"""``tunesmith bench operators``: our best kernels against those of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from tunesmith.bench.operators.tuned import tune_workload
from tunesmith.bench.operators.workloads import FUSED
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.instruction_sets import held_to
from tunesmith.bench.peers.library_peers import (
    library_peer,
    library_peers,
    library_versions_of_peers,
)
from tunesmith.bench.peers.metaschedule import MetaSchedule, compare_with_metaschedule
from tunesmith.bench.peers.sides import kernel_side_of, library_sides
from tunesmith.bench.timing.rotation import Rotation, Turns, ratio_of, rotate
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.store import Store
from tunesmith.target import Target

# Long enough for a hundred calls of most layers, short enough for nine sides to see one machine.
_TURN_SECONDS = 0.025
_OURS = "tunesmith"

Row = dict[str, Any]
Watch = Callable[[float, float], AbstractContextManager[Callable[[Progress], None]]]


@dataclass(frozen=True)
class OperatorSettings:
    """How long to tune a workload, and one with bias and ReLU (half of that by default), in
    seconds; how often every side takes its turn; how to search.

    ``metaschedule`` names the workloads that MetaSchedule is tuned for, too. With ``again``
    workloads that have a row are tuned further and compared anew; with ``fresh`` tuning does not
    look at earlier trials, either. Raises ``UsageError`` for a figure that is not positive.
    """

    seconds: float = 60.0
    fused_seconds: float | None = None
    pairs: int = 25
    seed: int = 0
    prior: bool = True
    metaschedule: Sequence[str] = ()
    again: bool = False
    fresh: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "fused_seconds", "pairs"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive, not {value}")

    def budget(self, workload: str) -> float:
        """The seconds to tune a workload for."""
        if not workload.endswith(FUSED):
            return self.seconds
        return self.seconds / 2 if self.fused_seconds is None else self.fused_seconds


@dataclass(frozen=True)
class OperatorBench:
    """Measures rows, one a workload. ``say`` hears what goes on, ``watch`` follows the tuning."""

    settings: OperatorSettings
    target: Target
    store: Store
    rival: MetaSchedule
    say: Callable[[str], None]
    watch: Watch

    def row(self, name: str, operator: Operator, known: Row | None) -> Row | None:
        """The row of a workload; what is ``known`` of it stays, unless it is to be done again.

        None if there was nothing to do. Raises ``TunesmithError`` if tuning or our own side of a
        comparison fails, ``KeyboardInterrupt`` if Ctrl-C ended the tuning.
        """
        row = None
        rival = name in self.settings.metaschedule
        if known is None or self.settings.again or self.settings.fresh:
            row = self._measured(name, operator)
        elif rival and "ratio" not in known.get("metaschedule", {}):
            row = known
        if row is not None and rival:
            row = {**row, "metaschedule": self._metaschedule(name, operator, row)}
        return None if row is known else row

    def _measured(self, name: str, operator: Operator) -> Row:
        seconds = self.settings.budget(name)
        self.say(f"{name}: tuning for {seconds:g} s ...")
        with self.watch(seconds, float(operator.flops)) as progress:
            tuned = tune_workload(
                operator,
                self.target,
                self.store,
                seconds,
                seed=self.settings.seed,
                prior=self.settings.prior,
                fresh=self.settings.fresh,
                watch=progress,
            )
        held = held_to(self.target)
        libraries, missing = library_sides(operator, self.target.core_count, held)
        sides = {_OURS: tuned.side, **libraries}

        def preparing(side: str) -> None:
            self.say(f"{name}: preparing {side} ...")

        rotation = rotate(SIDE, sides, self.settings.pairs, seconds=_TURN_SECONDS, say=preparing)
        if _OURS in rotation.failed:
            raise TunesmithError(f"our kernel failed: {rotation.failed[_OURS]}")
        row = {
            "workload": name,
            "operator": operator.to_json(),
            "origin": self._origin(name),
            **comparison(rotation, operator.flops, missing),
            **tuned.fields,
            "held_to": None if held is None else held.name,
        }
        for peer, found in row["peers"].items():
            how = library_peer(peer).how_held(operator, held)
            found["held"] = None if how is None else asdict(how)
        self.say(f"{name}: {verdict(row)}")
        return row

    def _origin(self, name: str) -> dict[str, Any]:
        settings = {
            "seconds": self.settings.budget(name),
            "pairs": self.settings.pairs,
            "turn_seconds": _TURN_SECONDS,
            "seed": self.settings.seed,
            "prior": self.settings.prior,
            "fresh": self.settings.fresh,
        }
        return origin_now(library_versions_of_peers(), settings)

    def _metaschedule(self, name: str, operator: Operator, row: Row) -> dict[str, Any]:
        seconds = row["tuning_seconds"]
        self.say(f"{name}: MetaSchedule, for {seconds:.0f} s, too ...")
        ours = kernel_side_of(operator, row)
        try:
            found = compare_with_metaschedule(
                self.rival, ours, seconds, self.settings.pairs, self.settings.seed
            )
        except TunesmithError as error:
            self.say(f"{name}: {error}")
            return {"missing": str(error)}
        found["origin"] = self._origin(name)
        found["trials_per_second"] = found["trials"] / found["seconds"]
        # Programs that were measured before, under another config, do not count.
        found["our_trials_per_second"] = (row["trials"] - row.get("repeated", 0)) / seconds
        self.say(f"{name}: {found['ratio']:.2f} times as fast as MetaSchedule's kernel")
        return found


def comparison(rotation: Rotation, flops: int, missing: Mapping[str, str]) -> Row:
    """The fields of a row about speeds; see the page on the command line."""
    ours = rotation.turns[_OURS]
    peers = {
        name: {**asdict(ratio_of(turns, ours)), **_speed(turns, flops), "way": turns.way}
        for name, turns in rotation.turns.items()
        if name != _OURS
    }
    best = min(peers, key=lambda name: float(peers[name]["ratio"]), default=None)
    return {
        **_speed(ours, flops),
        "peers": peers,
        "missing": {**missing, **rotation.failed},
        "best_peer": best,
        "best_peer_ratio": None if best is None else peers[best]["ratio"],
    }


def _speed(turns: Turns, flops: int) -> dict[str, Any]:
    return {
        "gflops": flops / turns.seconds / 1e9,
        "seconds": turns.seconds,
        "alone": turns.alone,
        "disturbed": turns.disturbed,
    }


def verdict(row: Row) -> str:
    """A row in a line."""
    speed = f"{row['gflops']:.0f} GFLOP/s"
    if row["best_peer"] is None:
        return f"{speed}; no peer to compare with"
    title = library_peers()[row["best_peer"]].title
    return f"{speed}, {row['best_peer_ratio']:.2f} times as fast as {title}, the best peer"
