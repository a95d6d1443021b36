"""Pages in a real browser that follow what is stored meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.dashboard.browser import Browser
from tests.dashboard.conftest import Serve
from tests.dashboard.looking import DRAWN, assert_quiet, drawn, task_page
from tests.dashboard.samples import begin, measured, write_store
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.networks import from_file
from tunesmith.store import open_store


def test_a_run_that_goes_on_is_followed(
    chromium: Browser, serve_store: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "records.db"
    with open_store(path) as store:
        session = begin(store)
        address = serve_store(path)
        chromium.open(task_page(address))
        chromium.until("document.body.innerText.includes('no record of a tensor program yet')")
        store.append(session, [measured(2e-3, sketch="tiles", tile=1)])
        chromium.until("document.querySelector('#show-program') !== null")
        chromium.until("document.querySelector('#series').innerText.includes('tiles, version 1')")
        chromium.until("document.querySelector('#task-cards').innerText.includes('2.00 ms')")
        assert "running" in chromium.text
        store.append(session, [measured(1e-3, sketch="tiles", tile=2)])
        chromium.until("document.querySelector('#task-cards').innerText.includes('1.00 ms')")
        store.finish_session(session, stopped="trials", time_split={"run": 1.0})
        chromium.until("document.querySelector('#task-runs').innerText.includes('used up')")
        chromium.until(DRAWN.format(name="phases"))
    assert_quiet(chromium, address)


def test_a_store_that_fails_is_told_and_asked_again(
    chromium: Browser, serve_store: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "records.db"
    sessions = write_store(path, trials=3)
    address = serve_store(path)
    chromium.open(address)
    chromium.until("document.querySelectorAll('#run-table tbody tr').length === 2")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE evaluations RENAME TO elsewhere")
        chromium.until("!document.querySelector('#failure').hidden")
        told = chromium.value("document.querySelector('#failure').innerText")
        connection.execute("ALTER TABLE elsewhere RENAME TO evaluations")
    assert told.startswith(f"store {path} failed: no such table")
    chromium.until("document.querySelector('#failure').hidden")
    with open_store(path) as store:
        store.append(sessions[0], [measured(1e-9, tile=1)])
    chromium.until("document.querySelector('#run-table').innerText.includes('1.00 ns')")


def test_the_layers_of_a_network(chromium: Browser, serve_store: Serve, tmp_path: Path) -> None:
    small_onnx = pytest.importorskip("tests.networks.small_onnx")
    model = small_onnx.small_model(sizes=(1, 3, 8, 8))
    network = from_file(small_onnx.saved(model, tmp_path))
    path = tmp_path / "records.db"
    with open_store(path) as store:
        address = serve_store(path, network=("small.onnx", network))
        chromium.open(f"{address}network")
        chromium.until(
            f"document.querySelectorAll('#task-list tbody tr').length === {len(network.tasks)}"
        )
        assert "no layer has a time on this machine yet" in chromium.text
        problems = [TaskProblem.of(task) for task in network.tasks]
        for problem in problems:
            session = store.begin_session(
                problem.key,
                tuner="random",
                seed=0,
                description=problem.describe(),
                sketch=problem.sketch.name,
                sketch_version=problem.sketch.version,
            )
            store.append(session, [measured(1e-3, problem.default, sketch=problem.sketch.name)])
        layers = len(network.layers)
        chromium.until(
            f"document.querySelector('#network-cards').innerText.includes('{layers}.00 ms')"
        )
        drawn(chromium, "layers", "operators", "gains")
    assert chromium.value("document.querySelectorAll('#layers-plot .point').length") == layers
    chromium.click("#task-list tbody a")
    chromium.until("document.querySelector('#task-cards').innerText.includes('1.00 ms')")
    assert_quiet(chromium, address)
