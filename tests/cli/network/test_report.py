"""``tunesmith network show`` and ``report``: what a store and a built network tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.networks.reporting.records import add_run
from tests.networks.small import Residual, random_input, seeded, torch
from tests.reports.chromium import open_page
from tests.reports.documents import Element
from tunesmith.networks import from_file
from tunesmith.networks.importing.pytorch import exported
from tunesmith.networks.reporting import profile
from tunesmith.operators import Operator
from tunesmith.store import open_store
from tunesmith.target import Target


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.pt2"
    torch.export.save(exported(seeded(Residual()), (random_input(1, 3, 8, 8),)), str(path))
    return path


@pytest.fixture
def tuned(model: Path, store: Path) -> Path:
    """A store with runs of the first two of four tasks."""
    network = from_file(model)
    first, second, *_ = network.tasks
    with open_store(store) as opened:
        add_run(opened, first, [8e-6, 2e-6])
        add_run(opened, second, [9e-6, 3e-6], starts=60.0)
    return store


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "_SECONDS", 0.1)


def rows_of(page: Element) -> list[list[str]]:
    """The cells of the table of layers, without its head."""
    (table,) = (table for table in page.all("table") if "layers" in table.classes)
    rows = [
        [cell.text.strip() for cell in row.children if isinstance(cell, Element)]
        for row in table.all("tr")
    ]
    return rows[1:]


def test_show_has_the_records_and_their_shares(command: Command, model: Path, tuned: Path) -> None:
    shown = command("network", "show", model, "--store", tuned, "--json").json
    first, second, *others = shown["tasks"]
    assert (first["seconds"], second["seconds"]) == (2e-6, 3e-6)
    assert first["default_seconds"] == 8e-6
    assert first["share_of_peak"] > 0
    assert first["limit"] in ("arithmetic", "memory")
    assert first["peers"] == {} and first["best_peer"] is None
    assert all(task["seconds"] is None and task["share_of_peak"] is None for task in others)
    assert "call" not in shown
    table = command("network", "show", model, "--store", tuned).out
    assert "conv2d 3×8×8 → 8×8×8, 3×3, bias, relu" in " ".join(table.split())
    assert "2 of 4 tasks have a time: 5.00 µs in all" in table
    assert max(map(len, table.splitlines())) <= 100


def test_peers_are_measured_for_tasks_with_a_record(
    command: Command, model: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ratios(operator: Operator, _: Target, ours: Mapping[str, object]) -> dict[str, float]:
        asked.append(operator.label)
        assert ours["kind"] == "kernel"
        if len(asked) > 1:
            raise KeyboardInterrupt
        return {"OpenVINO": 1.25, "PyTorch": 2.5}

    monkeypatch.setattr("tunesmith.bench.peers.against_libraries.ratios_to_libraries", ratios)
    ran = command("network", "show", model, "--store", tuned, "--peers", "--json")
    first, second, *_ = ran.json["tasks"]
    assert asked == [second["label"], first["label"]], "the dearest first"
    assert (second["best_peer"], second["best_peer_ratio"]) == ("OpenVINO", pytest.approx(1.25))
    assert first["peers"] == {}, "Ctrl-C keeps what was compared"
    assert "1.25 times as fast as OpenVINO, the best peer" in ran.err
    assert ran.err.endswith("interrupted, so the other tasks are not compared\n")


def test_show_of_a_library_says_where_a_call_goes(
    command: Command, model: Path, tuned: Path, tmp_path: Path
) -> None:
    library = tmp_path / "net.so"
    words = ("network", "build", model, "-o", library, "--store", tuned, "--contenders", 1)
    assert command(*words).code == 0
    call = command("network", "show", library, "--json").json["call"]
    labels = [part["label"] for part in call["parts"] if part["label"]]
    assert len(labels) == 4
    spent = sum(part["seconds"] for part in call["parts"]) + call["runtime_seconds"]
    assert spent >= call["seconds"] * 0.999
    table = command("network", "show", library).out
    assert "runtime" in table and " a call" in table
    assert max(map(len, table.splitlines())) <= 100
    refused = command("network", "show", library, "--peers")
    assert refused.code == 2
    assert refused.complaint.endswith("is built: --measure and --peers take the model")


def test_calls_on_gpus_are_refused_before_a_build(
    command: Command, model: Path, tuned: Path
) -> None:
    words = ("network", "show", model, "--store", tuned, "--measure")
    ran = command(*words, "--target", "cuda", "--arch", "sm_90")
    assert ran.code == 2
    assert "on CPUs only" in ran.complaint


@pytest.mark.slow
def test_the_page_agrees_with_the_store(
    command: Command, model: Path, tuned: Path, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    words = ["network", "report", model, "--store", tuned, "--measure", "-o", path]
    told = command(*words, "--json").json
    assert told == {"network": "net.pt2", "report": str(path)}
    page = open_page(path)
    rows = rows_of(page)
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0][1] == "conv2d 3×8×8 → 8×8×8, 3×3, bias, relu"
    assert [rows[0][2], rows[1][2]] == ["2.00 µs", "3.00 µs"]
    assert [row[8] for row in rows] == ["tuned", "tuned", "model's pick", "model's pick"]
    assert [row[9:] for row in rows[:2]] == [["8.00 µs", "4.00×"], ["9.00 µs", "3.00×"]]
    assert all(row[3].endswith(("µs", "ns", "ms")) for row in rows)
    header = page.all("header")[0].text
    assert "3.40× faster than default schedules" in header
    assert "2 of 4" in header and "20 s" in header
    commands = page.all("pre")[0].text.splitlines()
    assert commands[0] == f"tunesmith network tune {model} --seconds 20 --store {tuned}"
    assert commands[1].startswith(f"tunesmith network build {model} --output net.so")
    assert commands[2].startswith("tunesmith network report ")


@pytest.mark.parametrize("there", [False, True])
def test_a_store_without_records_is_one_line(
    command: Command, model: Path, store: Path, tmp_path: Path, there: bool
) -> None:
    said = "no store at"
    if there:
        open_store(store).close()
        said = "no time is recorded for any layer of"
    page = tmp_path / "page.html"
    ran = command("network", "report", model, "--store", store, "-o", page)
    assert ran.code == 2
    assert said in ran.complaint
    assert store.exists() == there, "who reads makes nothing"
    assert not page.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--output", "page.html"),
        ("show", "--measure"),
        ("tune", "--report", "page.html"),
    ],
)
def test_pages_and_measurements_are_about_one_batch(
    command: Command, store: Path, words: tuple[str, ...]
) -> None:
    batches = ["--batch", 1, "--batch", 2]
    ran = command("network", *words, "--zoo", "dqn", *batches, "--store", store)
    assert ran.code == 2
    assert ran.complaint == "a page and a measurement are about one batch: name one --batch"
