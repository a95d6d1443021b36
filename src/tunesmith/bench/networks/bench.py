"""``tunesmith bench networks``: the zoo, tuned, built and compared with other runtimes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tunesmith.bench.networks.comparison import OURS, compare, prepared_model
from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.networks.peers import network_peers, versions_of_network_peers
from tunesmith.bench.networks.where import runtime_seconds, where_time_goes
from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.networks import (
    CompiledNetwork,
    Network,
    NetworkProgress,
    NetworkResult,
    from_torch,
)
from tunesmith.networks.reporting.profile import call_times
from tunesmith.networks.zoo import ZOO
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.tuners import tuner
from tunesmith.tuning.result import check_finished

Row = dict[str, Any]
Watch = Callable[[], AbstractContextManager[Callable[[NetworkProgress], None]]]

UNTUNED = "untuned"
"""The side of a network of the model's picks alone."""
EARLY = "early"
"""The side of a network that was built after ``NetworkSettings.early`` seconds of tuning."""


@dataclass(frozen=True)
class NetworkSettings:
    """How long to tune a network, in seconds, and how often all sides take their turn.

    After ``early`` seconds of tuning the network is built as well, unless that is 0 or all there
    are. With ``again`` networks that have a row are tuned further and compared anew. Raises
    ``UsageError`` for a figure that makes no sense.
    """

    seconds: float = 600.0
    early: float = 0.0
    rounds: int = 15
    seed: int = 0
    slow: bool = True
    again: bool = False

    def __post_init__(self) -> None:
        if self.seconds < 0 or self.early < 0:
            raise UsageError("seconds must not be negative")
        if self.rounds < 3:
            raise UsageError(f"rounds must be 3 or more, not {self.rounds}")


@dataclass(frozen=True)
class NetworkBench:
    """Measures rows, one a network and batch, for a target that this machine can measure. ``say``
    hears what goes on, ``watch`` follows the tuning."""

    settings: NetworkSettings
    store: Store
    say: Callable[[str], None]
    watch: Watch
    target: Target = field(default_factory=Target)

    def row(self, workload: NetworkWorkload, known: Row | None) -> Row | None:
        """The row of a workload; None if what is ``known`` of it stays.

        Raises ``TunesmithError`` if tuning or our own side of a comparison fails,
        ``KeyboardInterrupt`` if Ctrl-C ended the tuning.
        """
        if known is not None and not self.settings.again:
            return None
        kind, zoo = self.target.kind, ZOO.get(workload.network)
        model = ComparedModel(workload.network, None, workload.batch)
        network = from_torch(zoo.model(), zoo.example(workload.batch), self.target)
        with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as made:
            folder = Path(made)
            self.say(f"{workload.name}: building with the model's picks ...")
            begun = time.monotonic()
            # The model that ships has learned from trials of these very networks.
            untuned = network.build(contenders=1, transfer=False)
            libraries = {UNTUNED: untuned.save(folder / "untuned.so")}
            picked = time.monotonic() - begun
            seconds = self._tuned_before(network, known)
            seconds += self._tuned(network, workload, folder, libraries)
            compiled = network.build(self.store)
            libraries[OURS] = compiled.save(folder / "net.so")
            with prepared_model(model, network.example(), kind) as prepared:
                comparison = compare(
                    prepared,
                    libraries,
                    self.target,
                    rounds=self.settings.rounds,
                    slow=self.settings.slow,
                    say=lambda text: self.say(f"{workload.name}: {text}"),
                )
            size = libraries[OURS].stat().st_size
            where = _where(network, compiled)
        row = {
            "workload": workload.name,
            "network": workload.network,
            "batch": workload.batch,
            "dtype": network.inputs[0].dtype,
            "origin": origin_now(versions_of_network_peers(kind), asdict(self.settings), kind),
            **comparison.to_json(),
            "tuning_seconds": seconds,
            "untuned_build_seconds": picked,
            "relative_error": compiled.relative_error,
            "where": where,
            "file_bytes": size,
            "weight_bytes": network.constant_bytes,
            "tasks": len(network.tasks),
            "layers": len(network.layers),
            "uncovered": sorted(_uncovered(network)),
            **_kept(known),
        }
        self.say(f"{workload.name}: {verdict(row)}")
        return row

    def _tuned_before(self, network: Network, known: Row | None) -> float:
        """The seconds of tuning that made the records of the store, as far as a row tells."""
        has_records = any(self.store.count(task.key) for task in network.tasks)
        return float(known["tuning_seconds"]) if known is not None and has_records else 0.0

    def _tuned(
        self,
        network: Network,
        workload: NetworkWorkload,
        folder: Path,
        libraries: dict[str, Path],
    ) -> float:
        """Tune; returns the seconds. The network that was built early is added to ``libraries``."""
        settings, spent = self.settings, 0.0
        parts = [settings.seconds]
        if 0 < settings.early < settings.seconds:
            parts = [settings.early, settings.seconds - settings.early]
        for number, part in enumerate(parts, 1):
            if part <= 0:
                break
            self.say(f"{workload.name}: tuning for {part:g} s ...")
            with self.watch() as progress:
                result: NetworkResult = network.tune(
                    tuner("auto"),
                    Budget(seconds=part),
                    self.store,
                    seed=settings.seed,
                    progress=progress,
                )
            spent += result.seconds
            check_finished(result)
            if number < len(parts):
                libraries[EARLY] = network.build(self.store).save(folder / "early.so")
        return spent


def _where(network: Network, compiled: CompiledNetwork) -> dict[str, Any] | None:
    """Where the time goes; None for a GPU, which runs functions after their calls have returned."""
    if network.target.kind != "cpu":
        return None
    return where_time_goes(call_times(compiled), runtime_seconds(network))


def _kept(known: Row | None) -> Row:
    """What stays of a row that is measured anew: MetaSchedule's time says what it was beside."""
    return {name: value for name, value in (known or {}).items() if name == "metaschedule"}


def _uncovered(network: Network) -> set[str]:
    return {str(getattr(step, "op", "")) for step in network.steps} - {""}


def verdict(row: Row) -> str:
    """A row in a line."""
    speed = f"{row['milliseconds']:.3f} ms a call"
    if row["best_peer"] is None:
        return f"{speed}; no peer to compare with"
    title = network_peers()[row["best_peer"]].title
    return f"{speed}, {row['best_peer_ratio']:.2f} times as fast as {title}, the best peer"
