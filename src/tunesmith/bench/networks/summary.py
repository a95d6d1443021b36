"""The figures that sum up ``tunesmith bench networks``, beside what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from tunesmith.bench.networks.bench import EARLY, UNTUNED
from tunesmith.bench.networks.workloads import network_workloads

Row = Mapping[str, Any]

_DEEP = ("resnet18", "vgg16", "resnet50")
_MOBILE = ("mobilenet_v1", "mobilenet_v2")


@dataclass(frozen=True)
class NetworkFigure:
    """A figure, what it came to (None: nothing to tell it from), and what was wanted of it.

    ``most`` says that it is to be no more than ``wanted``, else it is to be no less. ``have`` of
    ``of`` networks are in it.
    """

    name: str
    value: float | None
    wanted: float
    have: int
    of: int
    most: bool = False

    @property
    def reached(self) -> bool:
        """Whether it is what was wanted, of all networks."""
        if self.value is None or self.have < self.of:
            return False
        return self.value <= self.wanted if self.most else self.value >= self.wanted


def network_summary(rows: Iterable[Row]) -> list[NetworkFigure]:
    """All figures, in the order of the page. Those of the zoo are of batch 1."""
    known = {row["workload"]: row for row in rows}
    zoo = tuple(name for name, each in network_workloads().items() if each.batch == 1)

    def figure(
        name: str,
        wanted: float,
        networks: Sequence[str],
        of_row: Callable[[Row], float | None],
        together: Callable[[Sequence[float]], float] = geometric_mean,
        *,
        most: bool = False,
    ) -> NetworkFigure:
        there = [of_row(known[network]) for network in networks if network in known]
        values = [value for value in there if value is not None]
        value = together(values) if values else None
        return NetworkFigure(name, value, wanted, len(values), len(networks), most)

    return [
        figure("the zoo against the best peer, geometric mean", 1.4, zoo, best_ratio),
        figure("the least of all", 1.0, tuple(network_workloads()), best_ratio, min),
        *(figure(name, 1.5, (name,), best_ratio) for name in _DEEP),
        *(figure(name, 1.3, (name,), best_ratio) for name in _MOBILE),
        figure("untuned: the zoo, geometric mean", 1.1, zoo, untuned_ratio),
        figure(
            "untuned: seconds to build ResNet-18",
            60.0,
            _DEEP[:1],
            lambda row: float(row["untuned_build_seconds"]),
            most=True,
        ),
        figure("ResNet-18: share of the gain after 3 minutes", 0.8, _DEEP[:1], early_share),
        figure(
            "the runtime's share of a call in %, the most of all",
            1.0,
            zoo,
            runtime_percent,
            max,
            most=True,
        ),
        figure(
            "memory over ONNX Runtime's, the most of all", 1.5, zoo, memory_ratio, max, most=True
        ),
    ]


def best_ratio(row: Row) -> float | None:
    """Against the fastest peer of the row."""
    ratio: float | None = row["best_peer_ratio"]
    return ratio


def untuned_ratio(row: Row) -> float | None:
    """The same of the model's picks."""
    found = row["builds"].get(UNTUNED, {}).get("best_peer")
    return None if found is None else float(found["ratio"])


def early_share(row: Row) -> float | None:
    """Which part of what tuning took off a call it had taken off when it was built early."""
    builds = row["builds"]
    if UNTUNED not in builds or EARLY not in builds:
        return None
    before, early = (builds[name]["milliseconds"] for name in (UNTUNED, EARLY))
    gain = before - row["milliseconds"]
    return float((before - early) / gain) if gain > 0 else None


def memory_ratio(row: Row) -> float | None:
    """The most memory that our process used, as a multiple of ONNX Runtime's."""
    theirs = row["peers"].get("onnxruntime")
    return row["peak_bytes"] / theirs["peak_bytes"] if theirs and theirs["peak_bytes"] else None


def runtime_percent(row: Row) -> float:
    """Which part of a call is outside of all functions that compute something."""
    return 100.0 * float(row["where"]["runtime_share"])


def is_disturbed(row: Row) -> bool:
    """Whether any side of the comparison was."""
    return bool(row["disturbed"] or any(peer["disturbed"] for peer in row["peers"].values()))
