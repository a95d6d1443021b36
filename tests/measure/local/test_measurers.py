"""Measurers of this machine: a server that is started before its job is known."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, replace

import psutil
import pytest

from tests.cli.command import eventually
from tests.measure.local.faulty_sketch import FaultySketch, config
from tests.patience import PATIENCE
from tunesmith.errors import TunesmithError
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.local.server_process import ServerProcess
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.request import Request
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates


def job(size: int = 16) -> Job:
    return Job(
        matmul(m=size, n=size, k=size), (FaultySketch(),), Target(cores=1), MeasureSettings()
    )


def servers() -> set[int]:
    found = psutil.Process().children()
    return {child.pid for child in found if "tunesmith.measure.local.server" in words_of(child)}


def words_of(process: psutil.Process) -> list[str]:
    """Its command line, which a process that has just begun does not have yet."""
    words: list[str] = []
    while not words and process.status() != psutil.STATUS_ZOMBIE:
        words = process.cmdline()
    return words


def measured(measurer: LocalMeasurer) -> Outcome:
    measurer.submit(candidates([config("none")]))
    while True:
        for measurement in measurer.collect(1.0):
            return measurement.outcome


def test_the_next_measurer_takes_it() -> None:
    before = servers()
    with LocalMeasurers() as measurers:
        (early,) = servers() - before
        known = job()
        measurers.prepare(known)
        with measurers.measurer(known) as measurer:
            assert servers() - before == {early}
            assert measured(measurer) is Outcome.NO_ERROR
        assert servers() - before == {early}
    assert servers() == before


def test_a_server_measures_one_job_after_another() -> None:
    before = servers()
    with LocalMeasurers() as measurers:
        (early,) = servers() - before
        for size in (16, 32, 16):
            with measurers.measurer(job(size)) as measurer:
                assert measured(measurer) is Outcome.NO_ERROR
                # Nobody waits for these: what comes of them must not reach the next measurer.
                measurer.submit(candidates([config("none"), config("wrong")]))
            assert servers() - before == {early}
    assert servers() == before


def test_a_server_that_is_kept_gives_up_what_nobody_waits_for() -> None:
    """Otherwise it would build and run beside whatever comes next."""
    patient = replace(job(), settings=MeasureSettings(build_timeout=10 * PATIENCE))
    before = servers()
    with LocalMeasurers() as measurers:
        with measurers.measurer(patient) as measurer:
            assert measured(measurer) is Outcome.NO_ERROR
            (kept,) = map(psutil.Process, servers() - before)
            measurer.submit(candidates([config("spin_build")]))
            eventually(lambda: bool(kept.children()), "it builds")
        eventually(lambda: not kept.children(), "it gives the build up")


def test_a_change_of_job_leaves_nothing_open() -> None:
    """Trials of the job before are ended, and what connected the server to them is closed."""
    before = servers()
    server = ServerProcess()
    (process,) = map(psutil.Process, servers() - before)
    settings = MeasureSettings(workers=2, build_timeout=10 * PATIENCE)
    try:
        opened = []
        for size in (16, 32, 16, 32):
            server.prepare(replace(job(size), settings=settings))
            for id, fault in enumerate(("spin_build", "none")):
                request = asdict(Request(id, config(fault).to_json(), ""))
                server.send({"kind": "measure", "requests": [request], "best": math.inf})
            heard: list[str] = []
            while "measured" not in heard:
                heard += [message["kind"] for message in server.receive(PATIENCE)]
            opened.append(process.num_fds())
    finally:
        server.stop(grace=0.0)
    assert opened == [opened[0]] * 4


def test_a_server_that_has_died_is_not_kept() -> None:
    before = servers()
    with LocalMeasurers() as measurers:
        with measurers.measurer(job()) as measurer:
            assert measured(measurer) is Outcome.NO_ERROR
        (kept,) = servers() - before
        psutil.Process(kept).kill()
        while psutil.Process(kept).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        with measurers.measurer(job(32)) as measurer:
            assert measured(measurer) is Outcome.NO_ERROR
    assert servers() == before


def test_for_another_job_there_is_another_one() -> None:
    before = servers()
    with LocalMeasurers() as measurers:
        (early,) = servers() - before
        measurers.prepare(job(32))
        with measurers.measurer(job(16)) as measurer:
            assert len(servers() - before) == 2
            assert measured(measurer) is Outcome.NO_ERROR
        assert servers() - before == {early}
    assert servers() == before


def test_it_ends_with_the_block_whatever_happens_there() -> None:
    before = servers()
    with pytest.raises(TunesmithError, match="no task"), LocalMeasurers():
        assert len(servers() - before) == 1
        raise TunesmithError("no task")
    assert servers() == before
