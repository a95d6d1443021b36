"""The client: what it does about servers that cannot start or die, and what it tells servers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cli.command import eventually
from tests.measure.local.faulty_sketch import FaultySketch, config
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.local import measurer as local_module
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import conv2d, matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

MATMUL = matmul(m=16, n=16, k=16)
JOB = Job(MATMUL, (FaultySketch(),), Target(), MeasureSettings(workers=2))


def collect_all(measurer: LocalMeasurer) -> list[Measurement]:
    measurements: list[Measurement] = []
    while measurer.pending:
        measurements += measurer.collect(60.0)
    return measurements


# -- servers that cannot start --------------------------------------------------------------------


class Unpicklable(FaultySketch):
    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("no way")


class BadPickle(FaultySketch):
    def __reduce__(self) -> tuple[object, ...]:
        return _fail, ()


def _fail() -> None:
    raise LookupError("lost")


def test_a_sketch_that_cannot_be_sent() -> None:
    with pytest.raises(TunesmithError, match=r"make it picklable \(TypeError: no way\)$"):
        LocalMeasurer(Job(MATMUL, (Unpicklable(),), Target(), MeasureSettings()))


def test_a_sketch_that_cannot_be_received() -> None:
    job = Job(MATMUL, (BadPickle(),), Target(), MeasureSettings())
    with LocalMeasurer(job) as measurer:
        measurer.submit(candidates([config("none")]))
        with pytest.raises(TunesmithError, match=r"^cannot measure: LookupError: lost$"):
            measurer.collect(60.0)
        assert measurer.pending == 0


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("raise ImportError('no compiler')", "ImportError: no compiler"),
        ("import os; os.write(2, b'broken\\nbadly\\n'); os.abort()", "badly"),
        ("import os; os._exit(1)", "its process dies"),
    ],
)
def test_a_server_without_a_working_tvm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, message: str
) -> None:
    (tmp_path / "tvm.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none")]))
        with pytest.raises(TunesmithError, match=f"^cannot measure: {message}$"):
            collect_all(measurer)
        with pytest.raises(TunesmithError, match="closed"):
            measurer.submit(candidates([config("none")]))


def test_an_operator_that_the_sketch_does_not_support() -> None:
    job = Job(
        conv2d(ci=1, h=4, w=4, co=1, kernel=1), (FaultySketch(),), Target(), MeasureSettings()
    )
    with LocalMeasurer(job) as measurer:
        measurer.submit(candidates([config("none")]))
        with pytest.raises(TunesmithError, match=r"'faulty' cannot schedule conv2d\("):
            measurer.collect(60.0)


# -- what has ended when the measurer does --------------------------------------------------------


def told(measurer: LocalMeasurer, kind: str) -> bool:
    """Whether the server has said this, which the measurer has not taken in."""
    server = measurer._server
    assert server is not None
    words = server._channel._socket
    with contextlib.suppress(BlockingIOError):
        return f'"kind":"{kind}"'.encode() in words.recv(1 << 20, socket.MSG_PEEK)
    return False


@pytest.mark.parametrize("end", [LocalMeasurer.cancel, LocalMeasurer.close])
def test_what_was_measured_can_still_be_collected(end: Callable[[LocalMeasurer], None]) -> None:
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none"), config("hang_build")]))
        eventually(lambda: told(measurer, "measured"), "one is measured")
        end(measurer)
        assert measurer.pending == 1
        (measurement,) = measurer.collect(0.0)
        assert measurement.valid and measurement.config == config("none")
        assert (measurer.pending, measurer.collect(0.0)) == (0, [])


def test_what_was_measured_can_be_collected_where_measuring_breaks_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_module, "_SERVER_EXITS", 1)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none")]))
        while not measurer._finished:
            measurer._pump(60.0)
        measurer.submit(candidates([config("kill_worker")]))
        with pytest.raises(TunesmithError, match="cannot measure"):
            while True:
                measurer._pump(60.0)
        assert [it.config for it in measurer.collect(0.0)] == [config("none")]
        assert measurer.pending == 0


# -- servers that die -----------------------------------------------------------------------------


def test_a_culprit_among_several_suspects_is_found() -> None:
    """Two trials build when the server dies: each is tried again alone."""
    settings = MeasureSettings(workers=2, build_timeout=30.0)
    with LocalMeasurer(Job(MATMUL, (FaultySketch(),), Target(), settings)) as measurer:
        measurer.submit(candidates([config("none", number) for number in range(2)]))
        assert all(m.valid for m in collect_all(measurer))
        measurer.submit(
            candidates([config("slow_build"), config("kill_worker_late"), config("none", 3)])
        )
        outcomes = {m.config["fault"]: m.outcome for m in collect_all(measurer)}
    assert outcomes == {
        "slow_build": Outcome.NO_ERROR,
        "kill_worker_late": Outcome.UNKNOWN_ERROR,
        "none": Outcome.NO_ERROR,
    }


def test_servers_that_die_again_and_again_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "_SERVER_EXITS", 2)
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("kill_worker", number) for number in range(4)]))
        with pytest.raises(TunesmithError, match=r"^cannot measure: .*dies$"):
            collect_all(measurer)


def test_a_server_that_is_killed_from_outside_is_replaced() -> None:
    before = {child.pid for child in psutil.Process().children()}
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none", 0)]))
        assert collect_all(measurer)[0].valid
        (server,) = (c for c in psutil.Process().children() if c.pid not in before)
        server.kill()
        measurer.submit(candidates([config("none", number) for number in range(3)]))
        assert [m.outcome for m in collect_all(measurer)] == [Outcome.NO_ERROR] * 3


def test_a_server_may_be_silent_while_it_has_no_work() -> None:
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none", 0)]))
        assert collect_all(measurer)[0].valid
        server = measurer._server
        measurer._heard -= 1e6
        assert measurer.collect(0.0) == []
        measurer.submit(candidates([config("none", 1)]))
        assert collect_all(measurer)[0].valid
        assert measurer._server is server


def test_a_death_after_a_cancelled_run_is_nobody_elses_fault() -> None:
    settings = MeasureSettings(workers=1)
    with LocalMeasurer(Job(MATMUL, (FaultySketch(),), Target(), settings)) as measurer:
        measurer.submit(candidates([config("hang_run")]))
        while not measurer._running:
            measurer._pump(60.0)
        measurer.cancel()
        measurer.submit(candidates([config("kill_worker_late"), config("none")]))
        outcomes = {m.config["fault"]: m.outcome for m in collect_all(measurer)}
    assert outcomes == {
        "kill_worker_late": Outcome.UNKNOWN_ERROR,
        "none": Outcome.NO_ERROR,
    }


def test_when_a_build_begins_no_program_runs_any_more() -> None:
    """Its result may come later; if the build ends the server, it is not the program's fault."""
    with LocalMeasurer(JOB) as measurer:
        measurer._hear({"kind": "running", "id": 0})
        measurer._hear({"kind": "building", "id": 1})
        assert (measurer._running, measurer._building) == (set(), {1})


# -- what a measurer is told ----------------------------------------------------------------------


def test_what_is_slower_than_the_best_known_is_cut_off() -> None:
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(candidates([config("none")]), best=1e-12)
        (measurement,) = collect_all(measurer)
    assert measurement.valid and measurement.cut_off
    assert len(measurement.run_seconds) == 1


def test_repeats_flushed_caches_and_no_verification() -> None:
    settings = MeasureSettings(repeats=5, flush_cache=True, verify=False)
    with LocalMeasurer(Job(MATMUL, (FaultySketch(),), Target(), settings)) as measurer:
        measurer.submit(candidates([config("none"), config("wrong")]))
        measurements = collect_all(measurer)
        (played,) = measurer.play_off(candidates([config("wrong")]), rounds=2)
    assert all(m.valid for m in measurements)
    counts = [len(m.run_seconds) for m in measurements if not m.cut_off]
    assert counts and all(count in (5, 10, 15, 20) for count in counts), "one to four series"
    assert len(played.run_seconds) == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_operators_of_every_type(dtype: str) -> None:
    job = Job(matmul(m=8, n=8, k=8, dtype=dtype), (FaultySketch(),), Target(), MeasureSettings())
    with LocalMeasurer(job) as measurer:
        measurer.submit(candidates([config("none"), config("negated")]))
        outcomes = {m.config["fault"]: (m.outcome, m.message) for m in collect_all(measurer)}
    assert outcomes["none"] == (Outcome.NO_ERROR, "")
    assert outcomes["negated"][0] is Outcome.WRONG_ANSWER


def test_a_play_off_needs_a_round() -> None:
    with (
        LocalMeasurer(JOB) as measurer,
        pytest.raises(UsageError, match="at least one round, not 0"),
    ):
        measurer.play_off(candidates([config("none")]), rounds=0)


# -- long runs ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_does_not_grow_with_trials() -> None:
    before = {child.pid for child in psutil.Process().children()}
    settings = MeasureSettings(min_repeat_time=0.001, repeats=1)
    with LocalMeasurer(Job(MATMUL, (FaultySketch(),), Target(), settings)) as measurer:
        faults = ("none", "schedule_error", "wrong", "segfault")

        def measure(count: int) -> tuple[int, int, int]:
            measurer.submit(candidates([config(faults[i % len(faults)], i) for i in range(count)]))
            collect_all(measurer)
            (server,) = (c for c in psutil.Process().children() if c.pid not in before)
            return server.memory_info().rss, server.num_fds(), len(server.children())

        rss, descriptors, _ = measure(40)
        later_rss, later_descriptors, children = measure(100)
    assert rss < 1.5e9
    assert later_rss - rss < 8 << 20
    assert later_descriptors == descriptors
    assert children == 0
