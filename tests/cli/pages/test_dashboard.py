"""``tunesmith dashboard`` beside a run that goes on, and what it refuses."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Process, eventually, trials_in, tunesmith
from tests.cli.conftest import Command
from tests.dashboard.browser import browser
from tests.dashboard.samples import write_store
from tests.patience import PATIENCE
from tunesmith.reports import format as fmt

pytest.importorskip("dash", reason="the extra 'dashboard' is not installed")
pytest.importorskip("waitress", reason="the extra 'dashboard' is not installed")

MATMUL = "matmul --m 32 --n 32 --k 32"


@contextmanager
def dashboard(store: Path, *words: object) -> Iterator[tuple[Process, str]]:
    """A dashboard in a process, and the address that it printed."""
    process = Process.start(["dashboard", "--store", store, "--port", 0, *words])
    with process.cleaned_up():
        assert process.process.stdout is not None
        line = process.process.stdout.readline()
        assert line.startswith("dashboard: http://"), process.wait().err
        yield process, line.removeprefix("dashboard: ").strip()


@pytest.mark.slow
def test_a_run_is_followed_to_its_end(store: Path, tmp_path: Path) -> None:
    words = (*MATMUL.split(), "--tuner", "random", "--seconds", PATIENCE, "--store", store)
    tune = Process.start(["tune", *words, "--json"])
    with tune.cleaned_up():
        eventually(lambda: trials_in(store) >= 2, "two trials")
        with dashboard(store) as (_, address), browser(tmp_path) as page:
            page.open(address)
            page.until("document.querySelector('#run-table .live') !== null")
            page.click("#run-table tbody a")
            count = "document.querySelector('#task-cards li:nth-of-type(4) strong')?.innerText"
            shown = page.until(count)
            page.until(f"Number({count}) > {shown}")
            tune.interrupt()
            assert tune.wait().json["stopped"] == "interrupted"
            page.until(f"{count} === '{trials_in(store)}'")
            page.until("document.querySelector('#task-runs .live') === null")
            best = tunesmith("best", *MATMUL.split(), "--store", store, "--json").json
            assert page.log == []
            found = page.value("document.querySelector('#task-cards strong').innerText")
    assert found == fmt.seconds(best["best"]["seconds"])


def test_ctrl_c_ends_it(store: Path) -> None:
    write_store(store, trials=3)
    with dashboard(store) as (process, address):
        assert urllib.request.urlopen(address).status == 200
        process.interrupt()
        ended = process.wait()
    assert ended.code == 130
    assert ended.err == "tunesmith: interrupted; every finished trial is saved\n"


def test_a_termination_ends_it(store: Path) -> None:
    write_store(store, trials=3)
    with dashboard(store) as (process, _):
        process.process.terminate()
        ended = process.wait()
    assert (ended.code, ended.err) == (128 + 15, "")


def test_elsewhere_it_asks_for_a_token(store: Path) -> None:
    write_store(store, trials=3)
    with dashboard(store, "--host", "0.0.0.0") as (_, address):
        plain, _, query = address.partition("?")
        port = plain.rstrip("/").rpartition(":")[2]
        assert query.startswith("token=")
        assert len(query) > 30
        here = f"http://127.0.0.1:{port}/"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(here)
        assert refused.value.code == 401
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert opener.open(f"{here}?{query}").status == 200
        assert opener.open(here).status == 200


def test_the_store_is_as_it_was(store: Path) -> None:
    write_store(store, trials=3)
    before = store.read_bytes()
    with dashboard(store, "--token", "12345678") as (process, address):
        assert address.endswith("/?token=12345678")
        process.interrupt()
        process.wait()
    assert store.read_bytes() == before


def test_a_port_in_use(store: Path, command: Command) -> None:
    write_store(store, trials=1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = command("dashboard", "--store", store, "--port", port)
    assert ran.code == 1
    assert ran.complaint == (
        f"port {port} of 127.0.0.1 is in use: name another one by --port, 0 for any"
    )


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (["--host", "no.such.host.invalid"], 2, "--host no.such.host.invalid is no address"),
        (["--host", "192.0.2.1"], 2, "--host 192.0.2.1 is no address of this machine"),
        (["--token", "short"], 2, "--token needs at least 8"),
        (["--port", "70000"], 2, "'--port': Input should be less than or equal to 65535"),
        (["--port", "eighty"], 2, "'--port': Input should be a valid integer"),
    ],
)
def test_words_that_make_no_sense(
    words: list[str], code: int, answer: str, store: Path, command: Command
) -> None:
    write_store(store, trials=1)
    ran = command("dashboard", "--store", store, *words)
    assert ran.code == code
    assert answer in ran.complaint


def test_a_store_that_is_not_there(store: Path, command: Command) -> None:
    ran = command("dashboard", "--store", store)
    assert (ran.code, ran.complaint) == (
        2,
        f"no store at {store}: name the one that you tuned into",
    )
    assert not store.exists()


@pytest.mark.parametrize("name", ["dash", "waitress"])
def test_without_its_libraries(
    name: str, store: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, name, None)
    ran = command("dashboard", "--store", store)
    assert (ran.code, ran.complaint) == (
        1,
        f"the dashboard needs the package '{name}', which is missing: install tunesmith[dashboard]",
    )
