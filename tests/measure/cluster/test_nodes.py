"""Nodes that measure, that only build, that die and that join."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tests.measure.cluster.ray_cluster import RayCluster, described, ray_cluster
from tests.measure.local.faulty_sketch import FaultySketch, config
from tests.patience import PATIENCE
from tunesmith.budget import Budget, Stop
from tunesmith.errors import TunesmithError
from tunesmith.machine import this_machine
from tunesmith.measure.cluster.measurer import RayMeasurer
from tunesmith.measure.cluster.measurers import RayMeasurers
from tunesmith.measure.cluster.orders import Order, Orders
from tunesmith.measure.cluster.worker import Built
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Measurement
from tunesmith.operators import matmul
from tunesmith.problem import Measurer, MeasurerLostError, MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.measurer import MeasurerConformance
from tunesmith.testing.trials import candidates
from tunesmith.tuning.tune import tune

SETTINGS = MeasureSettings(
    build_timeout=60.0, run_timeout=60.0, min_repeat_time=0.001, measure_again=True, workers=1
)
TASK = Task(matmul(m=16, n=16, k=16), Target(cores=1))
JOB = Job(TASK.operator, (FaultySketch(),), TASK.target, SETTINGS)

SLOW = candidates(config("slow_build", number) for number in range(10))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def head() -> Iterator[RayCluster]:
    with ray_cluster() as made:
        yield made


@pytest.fixture
def cluster(head: RayCluster) -> Iterator[RayCluster]:
    """A cluster without nodes. None is left to the next test, however this one ends."""
    yield head
    head.kill_all()


class Said(list[str]):
    """The lines that were remarked."""

    def number(self, what: str) -> int:
        return sum(what in line for line in self)


def some(measurer: RayMeasurer) -> list[Measurement]:
    """At least one of what is pending."""
    found = measurer.collect(PATIENCE)
    assert found
    return found


def the_rest(measurer: RayMeasurer) -> list[Measurement]:
    """What else was measured, without the fillers of ``until``."""
    found: list[Measurement] = []
    while measurer.pending:
        found += some(measurer)
    return [one for one in found if one.config["fault"] != "none"]


def until(measurer: RayMeasurer, holds: Callable[[], bool]) -> list[Measurement]:
    """Go on measuring until something holds. Returns what was measured of ``SLOW``."""
    found: list[Measurement] = []
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        measurer.submit(candidates([config("none")]))
        found += some(measurer)
    assert [one.message for one in found if not one.valid] == []
    return [one for one in found if one.candidate in SLOW]


def assert_all(found: Sequence[Measurement], times: int = 1) -> None:
    """Fail unless each of ``SLOW`` was measured so often."""
    assert [one.message for one in found if not one.valid] == []
    assert Counter(one.candidate for one in found) == Counter(SLOW * times)


def test_others_measure_what_lost_nodes_had_in_hand(cluster: RayCluster) -> None:
    """A node is killed, one joins, a worker is killed; in the end all nodes are."""
    said = Said()
    first, second = cluster.add(), cluster.add()
    with RayMeasurers(cluster.address, remark=said.append) as measurers:
        with measurers.measurer(JOB) as measurer:
            assert measurer.machine == this_machine()
            measurer.submit(SLOW)
            found = until(measurer, lambda: said.number("measures") == 2)
            measurer.submit(SLOW)
            found += until(measurer, lambda: all(node.hand for node in measurer._ours()))
            cluster.kill(first)
            third = cluster.add()
            found += until(measurer, lambda: said.number("is lost") == 1)
            found += until(measurer, lambda: said.number("measures") == 3)
            found += the_rest(measurer)
            assert_all(found, times=2)

            measurer.submit(SLOW)
            found = until(measurer, lambda: all(node.hand for node in measurer._ours()))
            cluster.workers()[0].kill()
            # One that had nothing in hand any more is missed when it is given something.
            found += until(measurer, lambda: said.number("is lost") == 2)
            found += the_rest(measurer)
            assert_all(found)

        problem = TaskProblem(TASK, FaultySketch())
        with open_store("sqlite://") as store:

            def kill_all(progress: Progress) -> None:
                for node in (second, third):
                    if progress.trials > 0 and node not in killed:
                        killed.append(node)
                        cluster.kill(node)

            killed: list[object] = []
            result = tune(
                problem,
                "random",
                Budget(trials=1000),
                settings=SETTINGS,
                store=store,
                measurers=measurers,
                progress=kill_all,
            )
            assert result.stopped is Stop.LOST
            assert "no node is left to measure on: node 127.0.0.2" in result.lost
            kept = list(store.records(problem.key))
            assert len(kept) == result.trials < 1000
            assert result.trials > 0


def test_a_node_of_another_kind_only_builds(
    cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Said()
    shipped: list[bool] = []
    take_built = Orders.take_built

    def watched(self: Orders, orders: Sequence[Order], built: Sequence[Built]) -> None:
        """The second library is broken on its way."""
        shipped.extend(one.library is not None for one in built)
        if shipped.count(True) == 2:
            built = [replace(one, library=b"broken") for one in built]
        take_built(self, orders, built)

    monkeypatch.setattr(Orders, "take_built", watched)
    first, _ = cluster.add(), cluster.add_other()
    with (
        RayMeasurers(cluster.address, remark=said.append, describe=described) as measurers,
        measurers.measurer(JOB) as measurer,
    ):
        measurer.submit(SLOW[:1])
        found = the_rest(measurer)
        found += until(measurer, lambda: shipped.count(True) > 2)
        assert said.number("builds") == 1
        measurer.submit([*SLOW[1:], *candidates([config("wrong"), config("exit_in_build")])])
        found += the_rest(measurer)
        failed = [one for one in found if not one.valid]
        assert {one.config["fault"] for one in failed} == {"wrong", "exit_in_build"}
        assert_all([one for one in found if one.valid])
        # Whoever has built it, that is what a build of this sketch takes.
        assert min(one.build_time for one in found if one.valid) >= 0.4
        (again, _) = measurer.play_off(SLOW[:2], rounds=3)
        assert again.valid and len(again.run_seconds) == 3
        cluster.kill(first)
        measurer.submit(SLOW)
        with pytest.raises(MeasurerLostError, match="no node is left to measure on"):
            the_rest(measurer)
        assert measurer.pending == 0
    with (
        RayMeasurers(cluster.address, describe=described) as measurers,
        pytest.raises(TunesmithError, match="no node of the cluster is of this machine's kind"),
    ):
        measurers.measurer(JOB)


def test_nodes_without_the_same_tunesmith(cluster: RayCluster, tmp_path: Path) -> None:
    other, none = tmp_path / "other", tmp_path / "none"
    (other / "tunesmith-0.0.1.dist-info").mkdir(parents=True)
    (other / "tunesmith-0.0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tunesmith\nVersion: 0.0.1\n"
    )
    (none / "tunesmith").mkdir(parents=True)
    (none / "tunesmith" / "__init__.py").touch()
    for folder in (other, none):
        cluster.add({"PYTHONPATH": f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"})
    said = Said()
    with (
        RayMeasurers(cluster.address, remark=said.append) as measurers,
        pytest.raises(TunesmithError, match=r"^no node of the cluster can be used: node "),
    ):
        measurers.measurer(JOB)
    assert said.number("has tunesmith 0.0.1, and this machine ") == 1
    assert said.number("No module named 'tunesmith.") == 1
    assert all("\n" not in line for line in said)


class TestConformance(MeasurerConformance):
    healthy = candidates(config("none", number) for number in range(3))
    failing = candidates(config(fault) for fault in ("schedule_error", "exit_in_build", "wrong"))
    measurers: ClassVar[RayMeasurers]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def node(cls, head: RayCluster) -> Iterator[None]:
        node = head.add()
        with RayMeasurers(head.address) as cls.measurers:
            yield
        head.kill(node)

    @classmethod
    def make_measurer(cls) -> Measurer:
        return cls.measurers.measurer(JOB)
