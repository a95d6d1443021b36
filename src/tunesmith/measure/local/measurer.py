"""Measures the programs of a sketch on this machine, through a server process."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NoReturn, Self

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.machine import machine_for
from tunesmith.measure.activity import Activity, ActivityClock
from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.local.scheduler import READY_BATCH
from tunesmith.measure.local.server_process import ServerProcess
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.request import Request
from tunesmith.measure.trial.timing import round_seconds
from tunesmith.measurement import Candidate, Measurement, Outcome

# After so many exits of the server without a trial measured in between, we give up.
_SERVER_EXITS = 5

# A server with work to do speaks at each start and end, so at least once in the two timeouts and
# so many seconds. One that is silent for longer has been stopped or hangs.
_SILENCE = 30.0


class LocalMeasurer:
    """A ``Measurer`` for a job. Each trial has a process of its own, so none can harm another.

    Builds run in parallel, runs have the machine to themselves. The server, ``server`` if that
    has the job already, starts at once, is first waited for in ``collect``, and is started again
    should a candidate kill it. In the end it is stopped, or handed to ``keep``.

    Raises ``TunesmithError`` for a sketch that cannot be sent to another process; ``collect``,
    ``play_off`` and ``time_split`` do so if measuring cannot start, or breaks down again and
    again.
    """

    def __init__(
        self,
        job: Job,
        server: ServerProcess | None = None,
        keep: Callable[[ServerProcess], None] | None = None,
    ) -> None:
        self._job = job
        self._keep = keep
        self._best = math.inf
        self._next_id = 0
        self._requests: dict[int, Request] = {}
        self._candidates: dict[int, Candidate] = {}
        self._unsent: set[int] = set()
        self._suspects: list[int] = []
        self._building: set[int] = set()
        self._running: set[int] = set()
        self._finished: list[Measurement] = []
        self._played: dict[int, Measurement] = {}
        self._built: dict[int, BuildResult] = {}
        self._server_exits = 0
        self._clock = ActivityClock()
        self._heard = time.monotonic()
        self._server: ServerProcess | None = server or self._new_server()

    # -- the protocol ----------------------------------------------------------------------------

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        return machine_for(self._job.target.kind)

    @property
    def batch(self) -> int:
        # While a program runs on the processor the tuner must not compute, and nothing is built: a
        # few waiting candidates are enough.
        waiting = 2 * self._job.workers
        alone = self._clock.activity is Activity.RUN and not self._runs_beside_builds
        return waiting if alone else READY_BATCH + waiting

    @property
    def pending(self) -> int:
        waiting = (
            request.rounds == 0 and not request.build_only for request in self._requests.values()
        )
        return len(self._finished) + sum(waiting)

    def submit(
        self, candidates: Sequence[Candidate], best: float = math.inf, libraries: Sequence[str] = ()
    ) -> None:
        """As in ``Measurer``; ``libraries`` has a ``Request``'s ``library`` for each candidate.
        Raises ``TunesmithError`` once the measurer is closed."""
        self._best = min(self._best, best)
        self._order(candidates, libraries=libraries)

    def collect(self, timeout: float) -> list[Measurement]:
        deadline = time.monotonic() + timeout
        self._pump(0.0)
        while self.pending and not self._finished:
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
            self._pump(left)
        finished, self._finished = self._finished, []
        return finished

    def cancel(self) -> None:
        """As in ``Measurer``. Raises ``TunesmithError`` like ``collect``."""
        self._pump(0.0)  # what has been measured meanwhile
        self._forget(set(self._requests))
        self._built.clear()

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        """As in ``Measurer``, after all that was submitted before. Each round is one repeat."""
        if rounds < 1:
            raise UsageError(f"a play-off needs at least one round, not {rounds}")
        ids = self._order(candidates, rounds)
        while any(id in self._requests for id in ids):
            self._pump(math.inf)
        return [self._played.pop(id) for id in ids]

    def build(
        self, candidates: Sequence[Candidate], libraries: Sequence[str] = ()
    ) -> Iterator[BuildResult]:
        """Build the programs of candidates and run none; each as it ends, in any order.

        What is not asked for any more is given up. Raises ``TunesmithError`` like ``collect``.
        """
        ids = set(self._order(candidates, libraries=libraries, build_only=True))
        try:
            while ids & (self._requests.keys() | self._built.keys()):
                if ready := ids & self._built.keys():
                    yield self._built.pop(min(ready))
                else:
                    self._pump(math.inf)
        finally:
            self._forget(ids)

    def round_cost(self, measurement: Measurement) -> float:
        return round_seconds(measurement.seconds, self._job.settings.min_repeat_time)

    @property
    def simulated(self) -> None:
        return None

    def time_split(self) -> dict[str, float]:
        self._pump(0.0)
        return self._clock.split(time.monotonic())

    def close(self) -> None:
        with contextlib.suppress(TunesmithError):  # then there is nothing to give up
            self.cancel()  # a server that is kept would go on with it
        self._played.clear()
        self._clock.stop(time.monotonic())
        server, self._server = self._server, None
        if server is not None and self._keep is not None and server.started:
            self._keep(server)
        elif server is not None:
            server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- requests --------------------------------------------------------------------------------

    def _order(
        self,
        candidates: Sequence[Candidate],
        rounds: int = 0,
        libraries: Sequence[str] = (),
        *,
        build_only: bool = False,
    ) -> list[int]:
        if self._server is None:
            raise TunesmithError("this measurer is closed: make a new one")
        if not build_only:
            self._check_measurable()
        self._clock.start(time.monotonic())
        ids = list(range(self._next_id, self._next_id + len(candidates)))
        self._next_id += len(candidates)
        files = libraries or [""] * len(ids)
        for id, candidate, library in zip(ids, candidates, files, strict=True):
            self._candidates[id] = candidate
            config = candidate.config.to_json()
            self._requests[id] = Request(id, config, candidate.sketch, rounds, build_only, library)
        self._unsent.update(ids)
        self._dispatch()
        return ids

    def _dispatch(self) -> None:
        """Send all requests; but where one of several has killed a server, each of those alone."""
        ids = self._unsent.intersection(self._suspects[:1]) if self._suspects else self._unsent
        if ids and self._server is not None:
            requests = [dataclasses.asdict(self._requests[id]) for id in sorted(ids)]
            self._unsent = self._unsent - ids
            self._heard = time.monotonic()  # it had nothing to say while it had no work
            self._server.send({"kind": "measure", "requests": requests, "best": self._best})

    def _forget(self, ids: Set[int]) -> None:
        """Give up these requests, and what came of them already."""
        waiting = ids & self._requests.keys()
        if self._server is not None and waiting:
            self._server.send({"kind": "cancel", "ids": sorted(waiting)})
        for by_id in (self._requests, self._candidates, self._built):
            for id in ids & by_id.keys():
                del by_id[id]
        self._unsent = self._unsent - ids
        self._suspects = [id for id in self._suspects if id not in ids]

    def _settle(self, id: int, message: Message) -> None:
        request, candidate = self._requests.pop(id), self._candidates.pop(id)
        self._suspects = [other for other in self._suspects if other != id]
        if request.build_only:
            self._built[id] = BuildResult.of(candidate, message)
            return
        measurement = Measurement.from_json(candidate, message)
        if measurement.valid and not measurement.cut_off:
            self._best = min(self._best, measurement.seconds)
        if request.rounds:
            self._played[id] = measurement
        else:
            self._finished.append(measurement)

    # -- the server ------------------------------------------------------------------------------

    def _pump(self, timeout: float) -> None:
        """Take in what the server says; wait up to ``timeout`` seconds for something."""
        if self._server is None:
            return
        try:
            messages = self._server.receive(min(timeout, self._silence_left))
        except (ChannelClosedError, GarbledError):
            self._replace_server(self._server)
            return
        if messages:
            self._heard = time.monotonic()
        elif self._silence_left <= 0.0:
            self._replace_server(self._server)
        for message in messages:
            self._hear(message)
        self._dispatch()

    @property
    def _silence_left(self) -> float:
        """Seconds for which the server may still say nothing; without limit while it prepares."""
        if self._server is None or not self._server.started or not self._requests:
            return math.inf
        longest = self._job.settings.build_timeout + self._job.settings.run_timeout + _SILENCE
        return self._heard + longest - time.monotonic()

    def _hear(self, message: Message) -> None:
        if message["kind"] == "failed":
            self._give_up(message["message"])
        match message["kind"]:
            case "activity":
                self._clock.change(Activity(message["activity"]), message["at"])
            case "building":
                self._building.add(message["id"])
                self._running = self._still_running()
            case "running":
                self._building.discard(message["id"])
                self._running = self._still_running() | {message["id"]}
            case "measured":
                self._server_exits = 0
                self._building.discard(message["id"])
                self._running.discard(message["id"])
                if message["id"] in self._requests:  # it may have been cancelled
                    self._settle(message["id"], message)

    def _still_running(self) -> set[int]:
        """The trials that ran and may still run when another begins to build or to run: none on a
        processor, where a run is alone; what came of it may be told later."""
        return self._running if self._runs_beside_builds else set()

    def _replace_server(self, server: ServerProcess) -> None:
        """The server has died or hangs: blame the trial that ran, and start another server."""
        self._server = None
        last_line = server.stop(grace=0.0)
        self._server_exits += 1
        if not server.started or self._server_exits >= _SERVER_EXITS:
            self._give_up(last_line or "its process dies")
        self._clock.change(Activity.IDLE, time.monotonic())
        # A processor runs one at a time, with all builds paused; GPUs run beside them.
        alone = set() if self._runs_beside_builds else self._running
        self._suspects = sorted(self._requests.keys() & (alone or self._building | self._running))
        if len(self._suspects) == 1:  # then that was its trial
            id = self._suspects[0]
            config, reason = self._candidates[id].config, "it killed its worker process"
            killed = Measurement(config, Outcome.UNKNOWN_ERROR, message=reason)
            self._settle(id, {**killed.to_json(), "resources": None})
        self._building.clear()
        self._running.clear()
        self._unsent = set(self._requests)
        self._heard = time.monotonic()
        self._server = self._new_server()

    def _new_server(self) -> ServerProcess:
        return ServerProcess.with_job(self._job)

    @property
    def _runs_beside_builds(self) -> bool:
        return self._job.target.kind == "cuda"

    def _check_measurable(self) -> None:
        self._job.target.check_measurable()

    def _give_up(self, reason: str) -> NoReturn:
        self.close()
        raise TunesmithError(f"cannot measure: {reason}")
