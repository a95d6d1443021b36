"""What a run of a search did, trial by trial, and the file that keeps it."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.budget import Stop
from tunesmith.errors import SpaceError, TunesmithError, system_reason
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.space import Config
from tunesmith.whole_file import write_whole

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of a search. Arrays hold one value a config, in the order in which these ended.

    ``ended``: seconds of tuning at its end; ``seconds``: of a call, infinite where invalid;
    ``outcomes``: codes of the classes; ``costs``: seconds that building and running it took.
    ``time`` holds the run's seconds by phase (see ``PHASES``; traces of old have no ``record``);
    search is the tuner's thinking. ``stopped`` says why it ended. ``found`` is what a call of the
    run's best config takes, in seconds, infinite where nothing valid was found. ``multiplier`` is
    how many configs count as a trial. ``settled`` tells together with which other runs ``found``
    was measured; empty for alone. ``candidate`` is that best config, with its sketch; None where
    nothing valid was found, nothing was measured, or traces of old do not say, and ``brief`` what
    its trial was measured to take in seconds; None where traces do not say. ``version`` of
    Tunesmith did the run on a ``date``, a day in ISO's form, on a ``machine``, for a ``target``,
    with other ``libraries`` of these versions; empty where traces of old do not say, and the target
    where nothing was measured.
    ``learned_from`` are the versions that measured what its tuner knew of other tasks; empty where
    it knew nothing of them, or traces of old do not say.
    """

    ended: Floats
    seconds: Floats
    outcomes: npt.NDArray[np.uint8]
    costs: Floats
    time: Mapping[str, float]
    stopped: Stop
    found: float
    multiplier: int = 1
    settled: str = ""
    candidate: Candidate | None = None
    brief: float | None = None
    version: str = ""
    date: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    learned_from: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        measurements: Sequence[Measurement],
        ended: Sequence[float],
        time: Mapping[str, float],
        stopped: Stop,
        *,
        best: float | None = None,
        candidate: Candidate | None = None,
    ) -> Trace:
        """That of measurements, each with the seconds of tuning at which it ended.

        ``best`` is what the best was found to take when it was measured again, if it was, and
        ``candidate`` which one it is.
        """
        least = min((measurement.seconds for measurement in measurements), default=math.inf)
        own = [it.seconds for it in measurements if candidate and it.candidate == candidate]
        return cls(
            np.array(ended, np.float64),
            np.array([measurement.seconds for measurement in measurements], np.float64),
            np.array([measurement.outcome.value for measurement in measurements], np.uint8),
            np.array([m.build_time + m.run_time for m in measurements], np.float64),
            time,
            stopped,
            least if best is None else best,
            candidate=candidate,
            brief=min(own, default=None),
        )

    def slowed(self, multiplier: int) -> Trace:
        """The same run by a clock that is so many times as slow; so many configs are one trial."""
        return replace(self._scaled(1 / multiplier), multiplier=multiplier)

    def first(self, configs: int) -> Trace:
        """The run as if it had ended after so many ``configs``, which all count by its real clock:
        what it had ``found`` by then, and their share of its ``time``, in seconds."""
        if configs >= len(self.ended):
            return self
        found = float(self.best[:configs].min(initial=math.inf))
        brief = None
        if math.isfinite(found):  # the trial's time that is in proportion to it
            then = float(self.seconds.min()) if self.brief is None else self.brief
            brief = found * then / self.found
        share = configs / len(self.ended)
        return replace(
            self,
            time={phase: seconds * share for phase, seconds in self.time.items()},
            ended=self.ended[:configs],
            seconds=self.seconds[:configs],
            outcomes=self.outcomes[:configs],
            costs=self.costs[:configs],
            found=found,
            brief=brief,
            candidate=None,
        )

    @property
    def unslowed(self) -> Trace:
        """The same run by the real clock."""
        return replace(self._scaled(self.multiplier), multiplier=1)

    def _scaled(self, by: float) -> Trace:
        time = {phase: seconds * by for phase, seconds in self.time.items()}
        return replace(self, ended=self.ended * by, costs=self.costs * by, time=time)

    @property
    def tells_best(self) -> bool:
        """Whether it tells which config is its best, if there is one."""
        return self.candidate is not None or not math.isfinite(self.found)

    @property
    def trials(self) -> int:
        """How many trials ended in time, the last of which may lack configs."""
        return math.ceil(len(self.ended) / self.multiplier)

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which configs gave a time, one value a config."""
        return np.asarray(self.outcomes == Outcome.NO_ERROR.value)

    @property
    def best(self) -> Floats:
        """Seconds of a call of the best so far, one value a config; infinite before the first.

        Ends at ``found``, which was measured in another moment of a machine that may have been
        slower or faster then. So all trials of the run count as if they had been measured in that
        moment: in proportion, by the trial of the same config, or where that is not known by the
        fastest. Never less than ``found``: what a trial promises beyond that was noise.
        """
        least = np.minimum.accumulate(self.seconds)
        then = least.min(initial=math.inf) if self.brief is None else self.brief
        if not math.isfinite(then):
            return least
        return np.maximum(least * (self.found / then), self.found)

    def best_at(self, times: Floats) -> Floats:
        """Seconds of a call of the best after so many seconds of tuning; infinite before any."""
        best = np.append(np.inf, self.best)
        return np.asarray(best[np.searchsorted(self.ended, times, side="right")])

    def best_after(self, trials: npt.NDArray[np.intp]) -> Floats:
        """Seconds of a call of the best of so many first trials; infinite for none."""
        best = np.append(np.inf, self.best)
        return np.asarray(best[np.minimum(trials * self.multiplier, len(self.ended))])


def save_trace(path: Path, trace: Trace, identity: str) -> None:
    """Write a trace, as a whole or not at all, with what tells which run it is of.

    Raises ``TunesmithError`` where the file cannot be written.
    """
    found = trace.found if math.isfinite(trace.found) else None
    about = {
        "identity": identity,
        "time": dict(trace.time),
        "stopped": trace.stopped.value,
        "found": found,
        "settled": trace.settled,
        "best": None if trace.candidate is None else _described(trace.candidate),
        "brief": trace.brief,
        "version": trace.version,
        "date": trace.date,
        "machine": dict(trace.machine),
        "target": dict(trace.target),
        "libraries": dict(trace.libraries),
        "learned_from": list(trace.learned_from),
    }
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        about=np.array(json.dumps(about)),
        ended=trace.ended,
        seconds=trace.seconds,
        outcomes=trace.outcomes,
        costs=trace.costs,
    )
    try:
        write_whole(path, packed.getvalue())
    except OSError as error:
        raise TunesmithError(
            f"cannot write {path}: {system_reason(error)}: name another folder"
        ) from error


def load_trace(path: Path, identity: str) -> Trace | None:
    """The trace that a file keeps of this run; None if it keeps none, or one of another run."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            if about["identity"] != identity:
                return None
            return Trace(
                stored["ended"],
                stored["seconds"],
                stored["outcomes"],
                stored["costs"],
                about["time"],
                Stop(about["stopped"]),
                math.inf if about["found"] is None else about["found"],
                settled=about.get("settled", ""),
                candidate=_candidate(about.get("best")),
                brief=about.get("brief"),
                version=about.get("version", ""),
                date=about.get("date", ""),
                machine=about.get("machine", {}),
                target=about.get("target", {}),
                libraries=about.get("libraries", {}),
                learned_from=tuple(about.get("learned_from", ())),
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, SpaceError):
        return None


def _described(candidate: Candidate) -> dict[str, Any]:
    return {"sketch": candidate.sketch, "config": candidate.config.to_json()}


def _candidate(described: Mapping[str, Any] | None) -> Candidate | None:
    if described is None:
        return None
    return Candidate(Config.from_json(described["config"]), described["sketch"])
