"""Compares built networks with other runtimes, each in a process of its own, in turn."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.bench.networks import SIDE
from tunesmith.bench.networks.model import ComparedModel, write_onnx
from tunesmith.bench.networks.peers import NetworkPeer, network_peers
from tunesmith.bench.timing.rotation import Rotation, Turns, ratio_of, rotate
from tunesmith.bench.timing.side_process import Side
from tunesmith.errors import TunesmithError
from tunesmith.networks.graph import Array
from tunesmith.target import Target

OURS = "tunesmith"

TURN_SECONDS = 0.05
"""Long enough for several calls of a small network, and for one of a large one."""
PATIENCE = 900.0
"""In seconds. Some sides take minutes for the largest networks while all prepare themselves."""

# A slow side's first call counts if it takes longer: it would take minutes to repeat it.
_REPEATED = 2.0


@dataclass(frozen=True)
class Comparison:
    """What sides took: those that took ``turns``, those that were timed once (``slow``, seconds),
    and why others are ``missing``. ``ours`` are the sides that we built."""

    ours: Collection[str]
    turns: Mapping[str, Turns]
    slow: Mapping[str, float]
    missing: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The fields of a row about speeds: a ratio is how many times as fast ours is."""
        ours = self.turns[OURS]
        peers: dict[str, dict[str, Any]] = {
            name: {**asdict(ratio_of(turns, ours)), **_of(turns)}
            for name, turns in self.turns.items()
            if name not in self.ours
        }
        best = min(peers, key=lambda name: float(peers[name]["ratio"]), default=None)
        slow = {
            name: {"ratio": seconds / ours.seconds, "milliseconds": 1e3 * seconds}
            for name, seconds in self.slow.items()
        }
        return {
            **_of(ours),
            "peers": peers,
            "timed_once": slow,
            "missing": dict(self.missing),
            "best_peer": best,
            "best_peer_ratio": None if best is None else peers[best]["ratio"],
            "builds": {
                name: {**_of(self.turns[name]), "best_peer": self._ratio(best, name)}
                for name in self.ours
                if name != OURS and name in self.turns
            },
        }

    def _ratio(self, peer: str | None, ours: str) -> dict[str, float] | None:
        return None if peer is None else asdict(ratio_of(self.turns[peer], self.turns[ours]))


def _of(turns: Turns) -> dict[str, Any]:
    return {
        "milliseconds": 1e3 * turns.seconds,
        "alone": 1e3 * turns.alone,
        "disturbed": turns.disturbed,
        "peak_bytes": turns.peak_bytes,
        "way": turns.way,
    }


def our_side(model: ComparedModel, library: Path, cores: int) -> dict[str, Any]:
    """A network that we built as a side of a comparison."""
    return {"kind": "ours", "library": str(library), "model": model.to_json(), "cores": cores}


def with_inputs(model: ComparedModel, inputs: Mapping[str, Array], folder: Path) -> ComparedModel:
    """The model with its inputs, by name, in a file in the folder."""
    arrays: dict[str, Any] = dict(inputs)
    np.savez(folder / "inputs.npz", **arrays)
    return dataclasses.replace(model, inputs=str(folder / "inputs.npz"))


@contextmanager
def prepared_model(
    model: ComparedModel, inputs: Mapping[str, Array], kind: str = "cpu"
) -> Iterator[ComparedModel]:
    """The model with its inputs, by name, and its ONNX file if a peer for this kind of target may
    read it, in a folder for the meantime."""
    with tempfile.TemporaryDirectory(prefix="tunesmith-compare-") as made:
        folder = Path(made)
        model = with_inputs(model, inputs, folder)
        if not model.is_torch:
            yield dataclasses.replace(model, onnx=model.file)
            return
        if all(peer.takes == "torch" for peer in network_peers(kind).values()):
            yield model
            return
        why = write_onnx(model, folder / "model.onnx")
        onnx = None if why else str(folder / "model.onnx")
        yield dataclasses.replace(model, onnx=onnx, why_no_onnx=why)


def compare(
    model: ComparedModel,
    libraries: Mapping[str, Path],
    target: Target,
    *,
    rounds: int,
    slow: bool = True,
    only: Collection[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Time networks that were built for a target, by the names of their sides, in turn with peers.

    ``model`` is a prepared one; ``slow`` peers are timed, too, if that is asked for; ``only``
    these peers are asked, all by default. Raises ``TunesmithError`` if our own network fails.
    """
    sides: dict[str, dict[str, Any]] = {
        name: our_side(model, path, target.core_count) for name, path in libraries.items()
    }
    missing: dict[str, str] = {}
    once: list[NetworkPeer] = []
    for peer in network_peers(target.kind).values():
        if only is not None and peer.name not in only:
            continue
        reason = peer.missing(model)
        if reason is not None:
            missing[peer.name] = reason
        elif not peer.slow:
            sides[peer.name] = peer.side(model, target)
        elif slow:
            once.append(peer)

    def preparing(side: str) -> None:
        say(f"preparing {side} ...")

    rotation: Rotation = rotate(
        SIDE, sides, rounds, seconds=TURN_SECONDS, patience=PATIENCE, say=preparing
    )
    if OURS in rotation.failed:
        raise TunesmithError(f"our network failed: {rotation.failed[OURS]}")
    missing |= rotation.failed
    slowly = {}
    for peer in once:
        preparing(peer.name)
        try:
            slowly[peer.name] = _seconds_once(peer.side(model, target))
        except TunesmithError as error:
            missing[peer.name] = str(error)
    return Comparison(libraries.keys(), rotation.turns, slowly, missing)


def _seconds_once(described: Mapping[str, Any]) -> float:
    """Seconds of a call of a side alone."""
    with Side(SIDE, described, PATIENCE) as side:
        side.ready()
        return side.first if side.first > _REPEATED else side.round(TURN_SECONDS)
