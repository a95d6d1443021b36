"""The rows and the report of a network agree with its store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.networks.reporting.records import BEGIN, add_run
from tests.networks.small import Residual, SeveralResults, random_input, seeded
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_torch
from tunesmith.networks.reporting.report import network_report, uncovered
from tunesmith.networks.reporting.rows import task_rows
from tunesmith.networks.reporting.stored import stored_tasks
from tunesmith.store import Store, open_store
from tunesmith.task import Task


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


@pytest.fixture(scope="module")
def network() -> Network:
    return from_torch(seeded(Residual()), random_input(1, 3, 8, 8))


def test_rows_have_the_best_of_the_store(network: Network, store: Store) -> None:
    first, *others = network.tasks
    add_run(store, first, [8e-6, 2e-6])
    add_run(store, others[0], [1e-6], version=99)  # of a sketch as it was once
    rows = task_rows(stored_tasks(network.tasks, store))
    assert [row.key for row in rows] == [task.key for task in network.tasks]
    row = rows[0]
    best = store.best(first.key)
    assert best is not None
    assert (row.seconds, row.sketch) == (best.measurement.seconds, best.sketch)
    assert (row.default_seconds, row.trials, row.origin) == (8e-6, 2, "store")
    assert row.gflops == pytest.approx(first.operator.flops / 2e-6 / 1e9)
    assert [(row.seconds, row.trials, row.origin) for row in rows[1:]] == [(None, 0, "")] * 3


def test_a_report_names_every_layer_and_picks_for_the_rest(network: Network, store: Store) -> None:
    first, *others = network.tasks
    add_run(store, first, [8e-6, 2e-6], seconds=30.0)
    asked: list[Task] = []
    report = network_report(
        network,
        "residual",
        stored_tasks(network.tasks, store),
        peers={first: {"OpenVINO": 3e-6}},
        picking=asked.append,
    )
    assert asked == others
    assert [report.tasks[number].key for number in report.layers] == [
        network.task_of(layer).key for layer in network.layers
    ]
    assert [row.origin for row in report.tasks] == ["store", "model", "model", "model"]
    assert all(row.seconds is not None and row.seconds > 0 for row in report.tasks)
    name, ratio = report.tasks[0].best_peer or ("", 0.0)
    assert (name, round(ratio, 6)) == ("OpenVINO", 1.5)
    assert report.gain == pytest.approx((8e-6, 2e-6))
    assert report.curve == [(0.0, 8e-6), (2.0, 2e-6), (30.0, 2e-6)]
    assert (report.tuning_seconds, report.started) == (30.0, BEGIN)
    assert report.inputs.endswith("1×3×8×8 float32")


def test_a_store_without_a_time_is_refused(network: Network, store: Store) -> None:
    add_run(store, next(iter(network.tasks)), [float("inf")])
    with pytest.raises(UsageError, match="no time is recorded for any layer of residual"):
        network_report(network, "residual", stored_tasks(network.tasks, store))


def test_operations_without_a_layer_are_named() -> None:
    network = from_torch(seeded(SeveralResults()), random_input(2, 6))
    assert sorted(uncovered(network)) == ["concat", "cos", "sin", "split"]
