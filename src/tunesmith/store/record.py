"""What a store holds, as plain objects: sessions, records, and a line about each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tunesmith.measurement import Measurement

if TYPE_CHECKING:
    from tunesmith.space import Config

ANY_MACHINE: Final = "*"
"""Given as ``machine``: records of all machines, though their times do not compare."""


@dataclass(frozen=True)
class Session:
    """One tuning run: one task, one machine, one tuner, and the sketch that a record is by.

    ``uid`` identifies it in any store. ``machine`` holds its ``fingerprint`` (see `this_machine`).
    ``sketch`` is empty where a problem has none (a Python function, a command). A run over several
    sketches is the same session seen with each of them (`by`); on its own it has the first one,
    whose default the others are compared with. ``finished`` is
    None, ``stopped`` empty and ``time_split`` empty while the run lasts, and for ever if it was
    killed; afterwards ``stopped`` says why the run ended and ``time_split`` holds the seconds spent
    by phase (see ``PHASES``). All mappings are JSON-ready.
    """

    uid: str
    task_key: str
    description: Mapping[str, Any]
    sketch: str
    sketch_version: int
    target: Mapping[str, Any]
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    tuner: str
    tuner_settings: Mapping[str, Any]
    seed: int
    budget: Mapping[str, Any]
    started: datetime
    finished: datetime | None = None
    stopped: str = ""
    time_split: Mapping[str, float] = field(default_factory=dict)

    @property
    def sketches(self) -> list[tuple[str, int]]:
        """Name and version of each sketch of the run, whichever this session is seen with."""
        listed = self.description.get("sketches")
        if not listed:
            return [(self.sketch, self.sketch_version)]
        return [(str(sketch["name"]), int(sketch["version"])) for sketch in listed]

    @property
    def default(self) -> Config | None:
        """The config that the run compared with, if it said which; it is for the first sketch."""
        from tunesmith.space import Config

        config = self.description.get("default")
        return None if config is None else Config.from_json(config)

    def by(self, sketch: str, version: int) -> Session:
        """The same run, as the records by one of its sketches see it."""
        return replace(self, sketch=sketch, sketch_version=version)

    def record(self, measurement: Measurement, *, play_off: bool = False) -> Record:
        """A record of this session, made now. What `rescue` takes when the store cannot."""
        return Record(self, measurement, datetime.now(UTC), play_off)


@dataclass(frozen=True)
class Record:
    """A measurement with all that reproduces it.

    A record is a trial, or, with ``play_off``, one config's share of the play-off that ends a run.
    ``created`` is when it was stored (UTC).
    """

    session: Session
    measurement: Measurement
    created: datetime
    play_off: bool = False

    @property
    def config(self) -> Config:
        return self.measurement.config

    @property
    def task_key(self) -> str:
        return self.session.task_key

    @property
    def description(self) -> Mapping[str, Any]:
        return self.session.description

    @property
    def sketch(self) -> str:
        return self.session.sketch

    @property
    def sketch_version(self) -> int:
        return self.session.sketch_version

    @property
    def target(self) -> Mapping[str, Any]:
        return self.session.target

    @property
    def machine(self) -> Mapping[str, Any]:
        return self.session.machine

    @property
    def versions(self) -> Mapping[str, str]:
        return self.session.versions

    @property
    def tuner(self) -> str:
        return self.session.tuner

    @property
    def tuner_settings(self) -> Mapping[str, Any]:
        return self.session.tuner_settings

    @property
    def seed(self) -> int:
        return self.session.seed


@dataclass(frozen=True)
class Run:
    """A tuning run in a list: how many trials it made, and how fast its best is.

    ``best_seconds`` is the least of its play-off or, if that gave none, of its trials; None if
    nothing valid was measured. ``sketches`` counts the trials of each sketch, and ``best_sketch``
    is the best's; empty where nothing was measured, and where a problem has no sketch.
    """

    session: Session
    trials: int
    best_seconds: float | None
    sketches: Mapping[str, int] = field(default_factory=dict)
    best_sketch: str = ""


@dataclass(frozen=True)
class TaskSummary:
    """A task in a list: how often it was measured, and how fast it got.

    ``description`` is that of its latest session. ``best_seconds`` is None if nothing valid was
    measured, ``last`` None if nothing was measured at all.
    """

    key: str
    description: Mapping[str, Any]
    trials: int
    best_seconds: float | None
    last: datetime | None
