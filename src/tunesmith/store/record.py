"""The content of a store as plain objects: sessions, records, and summaries of runs and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tunesmith.measurement import Measurement, Outcome
from tunesmith.notebook import html_table

if TYPE_CHECKING:
    from tunesmith.space import Config

ANY_MACHINE: Final = "*"
"""As ``machine``: records of all machines, although their times are not comparable."""


@dataclass(frozen=True)
class Session:
    """One tuning run: a task, a machine, a tuner and a sketch.

    ``uid`` identifies it in any store. ``machine`` includes its ``fingerprint`` (see
    `this_machine`). ``sketch`` is empty if the problem has none (a Python function, a command). A
    run over several sketches is one session; `by` gives a copy for each of them. By itself it has
    the first one, whose default is the baseline.

    While a run lasts, and if it was killed, ``finished`` is None and ``stopped`` and ``time_split``
    are empty. Afterwards ``stopped`` is the reason why the run ended, and ``time_split`` holds the
    seconds of each phase (see ``PHASES``). All mappings are JSON-ready.
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
        """Name and version of each sketch of the run."""
        listed = self.description.get("sketches")
        if not listed:
            return [(self.sketch, self.sketch_version)]
        return [(str(sketch["name"]), int(sketch["version"])) for sketch in listed]

    @property
    def device(self) -> str:
        """What its programs ran on: the accelerator, or the processor."""
        known = (self.machine.get(name) for name in ("device", "cpu", "fingerprint"))
        return next((str(it) for it in known if it), "")

    @property
    def default(self) -> Config | None:
        """The run's baseline config, if known; it is for the first sketch."""
        from tunesmith.space import Config

        config = self.description.get("default")
        return None if config is None else Config.from_json(config)

    def by(self, sketch: str, version: int) -> Session:
        """The same run with another of its sketches."""
        return replace(self, sketch=sketch, sketch_version=version)

    def record(self, measurement: Measurement, *, play_off: bool = False) -> Record:
        """A record of this session, created now. `rescue` takes it if the store cannot."""
        return Record(self, measurement, datetime.now(UTC), play_off)


@dataclass(frozen=True)
class Record:
    """A measurement with all data to reproduce it.

    A record is a trial, or with ``play_off`` the measurement of a config in the play-off that ends
    a run. ``created`` is when it was stored (UTC).
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

    def _repr_html_(self) -> str:
        measurement = self.measurement
        given = ", ".join(f"{name} = {value}" for name, value in self.config.items())
        rows = [
            ("outcome", measurement.outcome.meaning),
            ("time of a call", _microseconds(measurement.seconds if measurement.valid else None)),
            ("sketch", self.sketch),
            ("config", given),
            ("message", measurement.message),
            ("stored", f"{self.created:%Y-%m-%d %H:%M:%S}"),
        ]
        return html_table(self.task_key, ("", ""), [row for row in rows if row[1]])


@dataclass(frozen=True)
class Run:
    """The summary of a tuning run.

    ``best_seconds`` is the best time of its play-off or, without one, of its trials; None if
    nothing valid was measured. ``sketches`` counts the trials of each sketch, and ``best_sketch``
    is that of the best; both are empty if nothing was measured or the problem has no sketch.
    """

    session: Session
    trials: int
    best_seconds: float | None
    sketches: Mapping[str, int] = field(default_factory=dict)
    best_sketch: str = ""


class Runs(list[Run]):
    """The runs of a task, oldest first: a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{run.session.started:%Y-%m-%d %H:%M}",
                run.session.tuner,
                f"{run.trials:,}",
                _microseconds(run.best_seconds),
                run.best_sketch,
                run.session.device,
            )
            for run in self
        ]
        heads = ("started (UTC)", "tuner", "trials", "best", "sketch", "device")
        return html_table(self[0].session.task_key if self else "no runs", heads, rows)


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:,.3f} µs"


@dataclass(frozen=True)
class TaskSummary:
    """The summary of a task.

    ``description`` is that of its latest session. ``best_seconds`` is None if nothing valid was
    measured, ``last`` None if nothing was measured at all.
    """

    key: str
    description: Mapping[str, Any]
    trials: int
    best_seconds: float | None
    last: datetime | None


@dataclass(frozen=True)
class StoredEvaluation:
    """An evaluation of a program that ``edits``, which are JSON-ready, make of the original.

    ``program`` is the digest of the program. ``ratio`` is its time as a share of the original's,
    ``seconds`` the time itself, ``error`` how wrong it is. Those of a program that failed are
    infinite.
    """

    program: str
    edits: Sequence[Mapping[str, Any]]
    outcome: Outcome
    ratio: float
    seconds: float
    error: float
    message: str
    created: datetime
