"""TVM's own tuner on a whole network: tuned for as long as ours, then compared in turn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tunesmith.bench.networks import SIDE
from tunesmith.bench.networks.comparison import (
    OURS,
    PATIENCE,
    TURN_SECONDS,
    our_side,
    with_inputs,
)
from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.bench.pages.provenance import installed_versions, origin_now
from tunesmith.bench.peers.metaschedule import MetaSchedule
from tunesmith.bench.timing.rotation import ratio_of, rotate
from tunesmith.errors import TunesmithError
from tunesmith.networks import from_torch
from tunesmith.networks.zoo import ZOO
from tunesmith.store import Store
from tunesmith.target import Target

Row = dict[str, Any]

_PROCESS = "tunesmith.bench.networks.metaschedule_process"
_THEIRS = "metaschedule"
# On top of the time for tuning: importing and fusing the network come before it, and the round that
# is under way when it is up comes after it.
_GRACE_SECONDS = 300.0
# What MetaSchedule calls its file of records.
_RECORDS = "database_tuning_record.json"


@dataclass(frozen=True)
class MetaScheduleBench:
    """Adds MetaSchedule to rows: for ``seconds``, by default as long as ours was tuned.

    With ``again`` also to rows that have it. ``say`` hears what goes on.
    """

    seconds: float | None
    rounds: int
    seed: int
    store: Store
    say: Callable[[str], None]
    again: bool = False

    def row(self, workload: NetworkWorkload, known: Row | None) -> Row | None:
        """The ``known`` row with the field ``metaschedule``; None if it stays as it is.

        Raises ``TunesmithError`` without a row. What fails is a field, too.
        """
        if known is None:
            raise TunesmithError("it has no row to add MetaSchedule to: run without --against")
        if not self.again and "ratio" in known.get("metaschedule", {}):
            return None
        seconds = known["tuning_seconds"] if self.seconds is None else self.seconds
        settings = {"seconds": seconds, "rounds": self.rounds, "seed": self.seed}
        origin = origin_now(installed_versions(["xgboost"]), settings)
        try:
            found = self._compared(workload, seconds)
        except TunesmithError as error:
            self.say(f"{workload.name}: {error}")
            found = {"missing": str(error)}
        else:
            self.say(
                f"{workload.name}: {found['ratio']:.2f} times as fast as with MetaSchedule, "
                f"which tuned {tasks(found)}"
            )
        return {**known, "metaschedule": {**found, "origin": origin}}

    def _compared(self, workload: NetworkWorkload, seconds: float) -> dict[str, Any]:
        target, zoo = Target(), ZOO.get(workload.network)
        network = from_torch(zoo.model(), zoo.example(workload.batch), target)
        with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as made:
            folder = Path(made)
            model = ComparedModel(workload.network, None, workload.batch)
            model = with_inputs(model, network.example(), folder)
            self.say(f"{workload.name}: building ...")
            library = network.build(self.store).save(folder / "net.so")
            return compare_with_metaschedule(
                model,
                library,
                target,
                seconds,
                rounds=self.rounds,
                seed=self.seed,
                say=lambda text: self.say(f"{workload.name}: {text}"),
            )


def compare_with_metaschedule(
    model: ComparedModel,
    library: Path,
    target: Target,
    seconds: float,
    *,
    rounds: int,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Tune a network with MetaSchedule for so many seconds, and compare it with our ``library``.

    ``model`` has its inputs. JSON-ready: the answer of ``metaschedule_process`` and the speeds of
    both; they are ``disturbed`` if either side was. Raises ``TunesmithError`` if there is nothing
    to compare with.
    """
    with tempfile.TemporaryDirectory(prefix="tunesmith-metaschedule-") as folder:
        described = {
            "model": model.to_json(),
            "target": asdict(target),
            "seconds": seconds,
            "seed": seed,
            "folder": folder,
        }
        say(f"MetaSchedule tunes for {seconds:g} s ...")
        run = _tuned(described, target, seconds)
        say(f"MetaSchedule made {run['trials']} trials, and tuned {tasks(run)}")
        sides = {
            OURS: our_side(model, library, target.core_count),
            _THEIRS: {**described, "kind": _THEIRS, "cores": target.core_count},
        }
        rotation = rotate(SIDE, sides, rounds, seconds=TURN_SECONDS, patience=PATIENCE)
    for name, reason in rotation.failed.items():
        title = "our network" if name == OURS else "the network with MetaSchedule's programs"
        raise TunesmithError(f"{title} failed: {reason}")
    ours, theirs = rotation.turns[OURS], rotation.turns[_THEIRS]
    return {
        **run,
        **asdict(ratio_of(theirs, ours)),
        "milliseconds": 1e3 * theirs.seconds,
        "alone": 1e3 * theirs.alone,
        "our_milliseconds": 1e3 * ours.seconds,
        "disturbed": ours.disturbed or theirs.disturbed,
    }


def tasks(run: Mapping[str, Any]) -> str:
    """How many tasks were tuned, of how many if the process lived to say so."""
    known = run["tasks"]
    return f"{run['tasks_tuned']} {'' if known is None else f'of {known} '}tasks"


def _tuned(described: dict[str, Any], target: Target, seconds: float) -> dict[str, Any]:
    """The process's answer; if there is none in time, what its records say.

    Raises ``TunesmithError`` if no task has a valid program.
    """
    with MetaSchedule(_PROCESS) as rival:
        try:
            run = rival.run(described, target, seconds + _GRACE_SECONDS)
        except TunesmithError:
            run = recorded(Path(described["folder"]))
            if not run["tasks_tuned"]:
                raise
            run["seconds"] = seconds
    if not run["tasks_tuned"]:
        raise TunesmithError(
            f"MetaSchedule found nothing valid for any of {run['tasks']} tasks in {seconds:g} s"
        )
    return run


def recorded(folder: Path) -> dict[str, Any]:
    """What a run that was ended from outside left in its folder.

    A last record that was not written to its end is removed, since TVM would not read any then.
    """
    file = folder / _RECORDS
    if not file.exists():
        return {"trials": 0, "valid": 0, "tasks": None, "tasks_tuned": 0}
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    records = [json.loads(line) for line in whole.splitlines()]
    # A record is the number of its task, and a trace, seconds (1e10 if it failed), and more.
    valid = [task for task, (_, seconds, *_) in records if seconds and max(seconds) < 1e9]
    return {
        "trials": len(records),
        "valid": len(valid),
        "tasks": None,
        "tasks_tuned": len(set(valid)),
    }
