"""The policy: who builds, who runs, and when. With trials that only keep a diary."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from tunesmith.measure.activity import Activity
from tunesmith.measure.failure import Verdict
from tunesmith.measure.local.pool_scheduler import PoolScheduler
from tunesmith.measure.local.scheduler import READY_BATCH, Scheduler
from tunesmith.measure.trial.request import Phase, Request
from tunesmith.measurement import Outcome


class Trial:
    """A trial that does nothing by itself."""

    def __init__(self, request: Request, diary: list[str]) -> None:
        self.request = request
        self.phase = Phase.BUILD
        self.ready_since = 0.0
        self.rounds_run: list[float] = []
        self.verdict: Verdict | None = None
        self.paused = False
        self.cut_off_seconds = 0.0
        self._diary = diary

    def run(self, cut_off_seconds: float) -> None:
        self.phase, self.paused = Phase.RUN, False
        self.cut_off_seconds = cut_off_seconds
        self._diary.append(f"run {self.request.id}")

    def run_again(self) -> None:
        self.phase, self.paused = Phase.RUN, False
        self._diary.append(f"again {self.request.id}")

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False


class OnDevice(Trial):
    """One that a device runs."""

    worker: object = None

    def __init__(self, request: Request) -> None:
        super().__init__(request, [])


class OneDevice:
    """A pool whose only device is always free."""

    first = object()
    running = False
    wait_left = math.inf

    @property
    def free(self) -> Iterator[object]:
        return iter([self.first])

    def begin(self) -> None:
        pass

    def check_starts(self) -> None:
        pass

    def forget(self, trial: object) -> None:
        pass


class Stage:
    """A scheduler, its trials, and a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, workers: int, best: float = 1.0):
        self.now = 1000.0
        self.diary: list[str] = []
        self.announced: list[int] = []
        self.no_process = False
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        self.scheduler: Scheduler[Trial] = Scheduler(
            start=self._start,
            on_run=lambda trial: self.announced.append(trial.request.id),
            workers=workers,
            cut_off=3.0,
        )
        self.scheduler.submit([], best)

    def _start(self, request: Request) -> Trial:
        if self.no_process:
            raise BlockingIOError("no more processes")
        return Trial(request, self.diary)

    def submit(self, count: int, rounds: int = 0, first: int = 0) -> None:
        ids = range(first, first + count)
        self.scheduler.submit(Request(id, {}, rounds=rounds) for id in ids)
        self.scheduler.advance()

    def trial(self, id: int) -> Trial:
        return next(trial for trial in self.scheduler.live if trial.request.id == id)

    def ids(self, phase: Phase) -> list[int]:
        return [trial.request.id for trial in self.scheduler.live if trial.phase is phase]

    def built(self, *ids: int) -> None:
        for id in ids:
            trial = self.trial(id)
            trial.phase, trial.ready_since = Phase.READY, self.now
            self.now += 1e-6
        self.scheduler.advance()

    def ended(self, id: int, seconds: float = math.inf) -> None:
        self.scheduler.end(self.trial(id), seconds)
        self.scheduler.advance()

    def rests(self, id: int, *figures: float) -> None:
        trial = self.trial(id)
        trial.phase = Phase.RESTING
        trial.rounds_run += figures
        self.scheduler.advance()


def test_only_so_many_build_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(5)
    assert stage.ids(Phase.BUILD) == [0, 1]
    stage.ended(0)
    assert stage.ids(Phase.BUILD) == [1, 2]
    assert stage.scheduler.activity is Activity.BUILD


def test_nothing_runs_while_the_batch_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1)
    stage.submit(READY_BATCH + 3)
    for id in range(READY_BATCH - 1):
        stage.built(id)
    assert stage.diary == []
    assert stage.ids(Phase.BUILD) == [READY_BATCH - 1]


def test_the_first_that_is_ready_runs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1, best=math.inf)
    stage.submit(READY_BATCH + 3)
    stage.built(0)
    assert stage.diary == ["run 0"]
    stage.ended(0)
    stage.built(1)
    assert stage.diary == ["run 0", "run 1"], "there is no time yet to cut off at"
    stage.ended(1, seconds=0.5)
    stage.built(2)
    assert stage.diary == ["run 0", "run 1"], "the others wait for a batch"


def test_a_full_batch_runs_one_by_one_while_builds_stand_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(READY_BATCH + 3)
    for id in range(READY_BATCH):
        stage.built(id)
    builder = stage.trial(READY_BATCH)
    assert builder.paused and builder.phase is Phase.BUILD
    assert stage.scheduler.activity is Activity.RUN
    for id in range(READY_BATCH):
        assert stage.ids(Phase.RUN) == [id]
        assert stage.ids(Phase.BUILD) == [READY_BATCH]
        stage.ended(id)
    assert not builder.paused
    assert stage.ids(Phase.BUILD) == [READY_BATCH, READY_BATCH + 1]
    assert stage.scheduler.activity is Activity.BUILD
    assert stage.announced == list(range(READY_BATCH))


def test_what_gets_ready_just_before_its_pause_runs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(READY_BATCH + 1)
    for id in range(READY_BATCH):
        stage.built(id)
    stage.built(READY_BATCH)
    for id in range(READY_BATCH + 1):
        assert stage.ids(Phase.RUN) == [id]
        stage.ended(id)
    assert stage.scheduler.activity is Activity.IDLE


def test_the_last_ones_do_not_wait_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(2)
    stage.built(1)
    assert stage.diary == []
    stage.ended(0)
    assert stage.diary == ["run 1"]


def test_a_build_that_hangs_does_not_hold_up_those_that_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(2)
    stage.built(1)
    left = stage.scheduler.wait_left
    assert 0.0 < left < math.inf
    stage.now += left + 1e-3
    assert stage.scheduler.wait_left < 0.0
    stage.scheduler.advance()
    assert stage.diary == ["run 1"]
    assert stage.trial(0).paused
    stage.ended(1)
    assert not stage.trial(0).paused
    assert stage.scheduler.wait_left == math.inf


def test_the_cut_off_follows_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1, best=math.inf)
    limits = []
    for id, seconds in enumerate((2.0, math.inf, 1.0, 5.0, 1.0)):
        stage.submit(1, first=id)
        stage.built(id)
        limits.append(stage.trial(id).cut_off_seconds)
        stage.ended(id, seconds)
    assert limits == [math.inf, 6.0, 6.0, 3.0, 3.0]


def test_the_best_may_be_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1, best=0.5)
    stage.submit(1)
    stage.built(0)
    assert stage.trial(0).cut_off_seconds == 1.5


def test_a_play_off_goes_back_and_forth(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2, best=0.5)
    stage.submit(3, rounds=3)
    stage.built(0, 1)
    stage.built(2)
    for id in range(3):
        assert stage.trial(id).cut_off_seconds == math.inf
        stage.rests(id)
    for _ in range(8):
        (id,) = stage.ids(Phase.RUN)
        stage.rests(id, 1.0)
    assert stage.diary[:3] == ["run 0", "run 1", "run 2"]
    turns = [int(line.split()[1]) for line in stage.diary[3:]]
    assert turns == [0, 1, 2, 2, 1, 0, 0, 1, 2]


def test_a_play_off_waits_until_nothing_else_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(1)
    stage.submit(1, rounds=2, first=1)
    stage.submit(1, first=2)
    stage.built(0, 1)
    assert stage.diary == []
    stage.built(2)
    stage.ended(0)
    stage.rests(1)
    stage.ended(2)
    assert stage.diary == ["run 0", "run 1", "run 2", "again 1"]


def test_a_play_off_goes_on_without_those_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(2, rounds=2)
    stage.ended(0)
    stage.built(1)
    stage.rests(1)
    stage.rests(1, 1.0)
    assert stage.diary == ["run 1", "again 1", "again 1"]


@pytest.mark.parametrize("phase", [Phase.READY, Phase.RESTING])
def test_what_is_decided_gets_no_turn_while_its_process_ends(
    monkeypatch: pytest.MonkeyPatch, phase: Phase
) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(2, rounds=2)
    first, second = stage.scheduler.live
    first.phase, first.verdict = phase, Verdict(Outcome.NO_ERROR)
    second.phase = phase
    stage.scheduler.advance()
    assert [first.phase, second.phase] == [phase, Phase.RUN]


@pytest.mark.parametrize("phase", [Phase.READY, Phase.RESTING])
def test_no_device_runs_what_is_decided_while_its_process_ends(phase: Phase) -> None:
    pool = OneDevice()
    scheduler: PoolScheduler[OnDevice] = PoolScheduler(
        pool=pool, start=OnDevice, on_run=lambda _: None, workers=1, cut_off=3.0
    )
    scheduler.submit([Request(0, {}, rounds=2)])
    scheduler.advance()
    (trial,) = scheduler.live
    trial.phase, trial.verdict = phase, Verdict(Outcome.NO_ERROR)
    scheduler.advance()
    assert trial.worker is None
    trial.verdict = None
    scheduler.advance()
    assert trial.worker is pool.first


def test_cancelled_orders_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1)
    stage.submit(3)
    stage.scheduler.cancel({0, 1, 2})
    stage.ended(0)
    assert stage.scheduler.live == []
    assert stage.scheduler.activity is Activity.IDLE


def test_other_orders_than_the_cancelled_ones_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=1)
    stage.submit(3)
    stage.scheduler.cancel({1})
    stage.ended(0)
    assert stage.ids(Phase.BUILD) == [2]


def test_orders_wait_while_the_system_has_no_process_to_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.submit(1)
    stage.no_process = True
    stage.submit(1, first=1)
    assert stage.ids(Phase.BUILD) == [0]
    stage.no_process = False
    stage.ended(0)
    assert stage.ids(Phase.BUILD) == [1]


def test_no_process_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, workers=2)
    stage.no_process = True
    with pytest.raises(OSError, match="no more processes"):
        stage.submit(1)
