"""The dashboard in a real browser that reaches nothing but loopback."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.dashboard.browser import Browser
from tests.dashboard.conftest import Serve
from tests.dashboard.looking import assert_quiet, drawn, task_page
from tests.dashboard.samples import (
    TASK,
    measured,
    write_hostile_store,
    write_store,
)
from tests.reports.chromium import rgb
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.reports.palette import DARK, LIGHT
from tunesmith.store import open_store
from tunesmith.task import Task


@pytest.fixture(scope="module")
def address(serve_store: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dashboard of the usual store."""
    path = tmp_path_factory.mktemp("store") / "records.db"
    write_store(path)
    return serve_store(path)


def _colours(chromium: Browser, name: str) -> set[str]:
    script = (
        f"[...document.querySelectorAll('#{name}-plot path')].map(it => it.style.stroke)"
        ".filter(it => it)"
    )
    return set(chromium.value(script))


def test_from_the_first_page_to_a_task(chromium: Browser, address: str) -> None:
    chromium.open(address)
    chromium.until("document.querySelectorAll('#run-table tbody tr').length === 2")
    assert "the budget of trials is used up" in chromium.text
    assert "matmul 64×64" in chromium.text
    chromium.click("#task-table tbody a")
    drawn(chromium, "trials", "seconds", "outcomes", "phases", "configs", "importance")
    text = chromium.text
    for words in ("Processor X", "rows", "tiles", "it broke", "50 % went to building programs"):
        assert words in text
    assert chromium.value("document.querySelectorAll('#task-runs tbody tr').length") == 2
    assert chromium.value("document.querySelectorAll('#task-config tbody tr').length") == 3
    lines = chromium.value("document.querySelectorAll('#trials-plot .js-line').length")
    assert lines == 2  # both runs
    assert_quiet(chromium, address)


def test_a_run_alone_shows_its_trials(chromium: Browser, address: str) -> None:
    chromium.open(address)
    chromium.click("#run-table tbody a")
    drawn(chromium, "trials")
    assert chromium.value("document.querySelectorAll('#trials-plot .js-line').length") == 1
    assert chromium.value("document.querySelectorAll('#trials-plot .point').length") == 54
    assert_quiet(chromium, address)


def test_machines(chromium: Browser, address: str) -> None:
    chromium.open(f"{address}machines")
    chromium.until("document.querySelectorAll('#machine-table tbody tr').length === 1")
    assert "Processor X" in chromium.text
    assert "cores = 8" in chromium.text
    assert_quiet(chromium, address)


def test_the_filter(chromium: Browser, address: str) -> None:
    chromium.open(address)
    chromium.until("document.querySelectorAll('#run-table tbody tr').length === 2")
    chromium.value("document.querySelector('#filter').focus()")
    chromium.type("no such task")
    chromium.until("document.querySelector('#task-table').innerText.includes('no task')")


def test_the_page_follows_the_systems_colours(chromium: Browser, address: str) -> None:
    chromium.open(task_page(address), dark=True)
    drawn(chromium, "trials")
    assert rgb(DARK["best"]) in _colours(chromium, "trials")
    assert rgb(LIGHT["best"]) not in _colours(chromium, "trials")
    page = "getComputedStyle(document.documentElement).backgroundColor"
    assert chromium.value(page) == rgb(DARK["page"])
    control = "getComputedStyle(document.querySelector('#chosen-runs')).backgroundColor"
    assert chromium.value(control) in (rgb(DARK["page"]), rgb(DARK["card"]), "rgba(0, 0, 0, 0)")
    chromium.prefer("light")
    chromium.until(
        "[...document.querySelectorAll('#trials-plot path')].some("
        f"it => it.style.stroke === '{rgb(LIGHT['best'])}')"
    )
    assert chromium.value(page) == rgb(LIGHT["page"])
    assert_quiet(chromium, address)


@pytest.mark.parametrize("page", ["", f"task?{urlencode({'key': TASK})}", "machines"])
def test_nothing_is_wider_than_a_phone(chromium: Browser, address: str, page: str) -> None:
    chromium.open(address + page, width=390, height=800)
    chromium.settled()
    if page.startswith("task"):
        drawn(chromium, "trials", "configs")
    assert chromium.value("document.documentElement.scrollWidth") <= 390
    wide = (
        "[...document.querySelectorAll('#trials-plot .main-svg, h1, .cards, table')]"
        ".filter(it => !it.closest('.scroll')).map(it => it.getBoundingClientRect().right)"
    )
    edges = chromium.value(wide)
    assert edges
    assert max(edges) <= 390
    assert_quiet(chromium, address)


def test_hostile_texts_do_nothing(chromium: Browser, serve_store: Serve, tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    write_hostile_store(path)
    address = serve_store(path)
    chromium.open(address)
    chromium.until("document.querySelectorAll('#task-table tbody tr').length === 2")
    _assert_harmless(chromium)
    chromium.click("#task-table tbody a")
    drawn(chromium, "trials", "configs", "importance")
    chromium.value("document.querySelector('#chosen-runs').click()")
    chromium.settled()
    _assert_harmless(chromium)
    chromium.open(f"{address}machines")
    chromium.until("document.querySelectorAll('#machine-table tbody tr').length === 1")
    _assert_harmless(chromium)
    chromium.open(f"{address}task?key=%3Cscript%3Ealert(1)%3C/script%3E&runs=javascript:alert(2)")
    chromium.until("document.body.innerText.includes('No such task')")
    assert_quiet(chromium, address)


def _assert_harmless(chromium: Browser) -> None:
    assert chromium.value("document.title") == "Tunesmith"
    assert (
        chromium.value("document.querySelectorAll('.owned, img, #page script, #page a b').length")
        == 0
    )
    links = chromium.value("[...document.querySelectorAll('a[href]')].map(it => it.protocol)")
    assert set(links) <= {"http:"}
    shown = chromium.text
    assert not [sign for sign in "\0\u202e\u2067" if sign in shown]
    assert "</script>" in shown  # as text
    widest = (
        "Math.max(...[...document.querySelectorAll('#page td')].map(it => it.innerText.length))"
    )
    assert chromium.value(widest) <= 300
    assert chromium.value("document.documentElement.scrollWidth") <= 1300


@pytest.mark.slow
def test_a_program_is_built_when_it_is_asked_for(
    chromium: Browser, serve_store: Serve, tmp_path: Path
) -> None:
    problem = TaskProblem.of(Task(matmul(m=16, n=16, k=16)))
    path = tmp_path / "records.db"
    with open_store(path) as store:
        session = store.begin_session(
            problem.key,
            tuner="random",
            seed=0,
            description=problem.describe(),
            sketch=problem.sketch.name,
            sketch_version=problem.sketch.version,
            target=problem.task.target.to_json(),
        )
        store.append(session, [measured(1e-5, problem.default, sketch=problem.sketch.name)])
    address = serve_store(path)
    chromium.open(task_page(address, problem.key))
    chromium.click("#show-program")
    chromium.until("document.querySelector('#program-text pre') !== null")
    assert "T.prim_func" in chromium.value("document.querySelector('#program-text').innerText")
    chromium.click("#form input[value=asm], #form label:nth-of-type(2) input")
    chromium.click("#show-program")
    text = "document.querySelector('#program-text').innerText"
    chromium.until(f"/[xyz]mm\\d/.test({text}) && !{text}.includes('prim_func')")
    assert_quiet(chromium, address)


def test_a_token_opens_all_pages(chromium: Browser, serve_store: Serve, tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    write_store(path, trials=6)
    address = serve_store(path, token="a token+of/tests".replace(" ", "-"))
    plain = address.partition("?")[0]
    chromium.open(plain)
    chromium.until("document.body.innerText.includes('needs its token')")
    chromium.open(address)
    chromium.until("document.querySelectorAll('#run-table tbody tr').length === 2")
    assert [line for line in chromium.log if "401" not in line] == []
    chromium.log.clear()
    assert "token" not in chromium.value("location.href")
    chromium.click("#task-table tbody a")
    drawn(chromium, "trials")
    assert_quiet(chromium, plain)
