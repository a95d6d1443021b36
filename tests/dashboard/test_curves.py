"""Best times over trials and over time, from few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.samples import begin, measured
from tunesmith.dashboard.curves import Curve, Curves
from tunesmith.dashboard.watch import Watch
from tunesmith.store import open_overview, open_store

TIMES = [None, 5.0, 6.0, 4.0, None, 4.5, 3.0, 3.5, 9.0, 2.0]


@pytest.fixture
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunesmith.dashboard.curves.MOST_POINTS", 8)


def _curve(path: Path, count: int) -> Curve:
    """The curve of a run after its first so many trials."""
    with open_store(path) as store, open_overview(path) as overview:
        session = begin(store)
        for place in range(count):
            store.append(session, [measured(TIMES[place % len(TIMES)], tile=place)])
        return Curves(overview).of(Watch(overview).snapshot().runs[0])


def test_each_trial_of_a_short_run_has_its_point(tmp_path: Path) -> None:
    curve = _curve(tmp_path / "records.db", 10)
    assert curve.together == 1
    assert [point.seconds for point in curve.points] == TIMES
    assert [point.number for point in curve.points] == list(range(1, 11))
    assert [point.elapsed for point in curve.points] == sorted(it.elapsed for it in curve.points)
    assert [(it.number, it.seconds) for it in curve.improvements] == [
        (2, 5.0),
        (4, 4.0),
        (7, 3.0),
        (10, 2.0),
    ]


@pytest.mark.usefixtures("few_points")
def test_a_long_run_has_few_points_and_the_same_best(tmp_path: Path) -> None:
    curve = _curve(tmp_path / "records.db", 100)
    assert curve.together == 16
    assert len(curve.points) <= 8 + 1
    assert curve.trials == 100
    assert sum(point.trials for point in curve.points) == 100
    assert sum(point.valid for point in curve.points) == 80
    assert curve.improvements[-1].seconds == 2.0


@pytest.mark.usefixtures("few_points")
def test_a_run_that_goes_on_adds_to_its_curve(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with open_store(path) as store, open_overview(path) as overview:
        curves, watch = Curves(overview), Watch(overview)
        session, other = begin(store), begin(store, seed=1)
        for place in range(40):
            store.append(session, [measured(TIMES[place % len(TIMES)], tile=place)])
            if place % 3 == 0:  # another run stores between them
                store.append(other, [measured(1.0, tile=place)])
            run = watch.snapshot().runs[0]
            curve = curves.of(run)
            fresh = Curves(overview).of(run)
            assert curve.points == fresh.points
            assert curve.trials == place + 1


def test_a_run_without_trials_has_no_points(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with open_store(path) as store, open_overview(path) as overview:
        begin(store)
        curve = Curves(overview).of(Watch(overview).snapshot().runs[0])
    assert (curve.points, curve.improvements, curve.trials) == ([], [], 0)
