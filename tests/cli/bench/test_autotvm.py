"""``tunesmith bench autotvm`` as a command, by replay of a small recorded space."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tunesmith.bench.autotvm import product
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.pool import Pool

pytest.importorskip("xgboost", reason="XGBoost is not installed")

PART = "transfer-template"
ROOT = Path(__file__).parents[3]


def words(folder: Path, *lines: str, **more: Any) -> list[Any]:
    """A command line of a part of figure 8, on one layer, with runs of a few trials."""
    options: dict[str, Any] = {"repeats": 2, "trials": 20, "problem": "template/C7", **more}
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    asked = [word for line in lines for word in ("--line", line)]
    return ["bench", "autotvm", "--part", PART, *given, *asked, "-o", folder]


def figures_of(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / "models.json").read_text())
    part: dict[str, Any] = figures["parts"][PART]
    return part


def runs_of(folder: Path) -> dict[str, int]:
    """The runs of each line that the page tells of."""
    return {row["line"]: row["runs"] for row in figures_of(folder)["lines"] if row["runs"]}


def test_a_part(tmp_path: Path, command: Command) -> None:
    ran = command(*words(tmp_path, "from nothing", "random"))
    assert ran.code == 0, ran.err
    part = figures_of(tmp_path)
    assert runs_of(tmp_path) == {"from nothing": 2, "random": 2}
    assert part["command"].startswith(f"tunesmith bench autotvm --part {PART} --repeats 2")
    assert part["problems"] == ["template/C7"]
    assert part["crashes"] == []
    page = (tmp_path / "models.md").read_text()
    assert "## Transfer in a GPU's template (figure 8)" in page
    assert "There is no run yet of: transfer" in page
    for file in part["pictures"]:
        assert (tmp_path / file).read_text().startswith("<svg")


def test_it_goes_on_and_lines_are_added(tmp_path: Path, command: Command) -> None:
    command(*words(tmp_path, "random"))
    saved = {path: path.read_bytes() for path in tmp_path.rglob("*.npz")}
    assert len(saved) == 2
    ran = command(*words(tmp_path, "from nothing", repeats=3))
    assert ran.code == 0, ran.err
    assert runs_of(tmp_path) == {"from nothing": 3, "random": 2}
    ran = command(*words(tmp_path, "random", repeats=3))
    assert "2 from before" in ran.err
    assert runs_of(tmp_path) == {"from nothing": 3, "random": 3}
    assert all(path.read_bytes() == bytes_ for path, bytes_ in saved.items()), "none is done again"
    ran = command(*words(tmp_path, "random", repeats=3), "--fresh")
    assert "from before" not in ran.err
    assert runs_of(tmp_path) == {"from nothing": 3, "random": 3}


def test_figures_of_more_runs_are_not_replaced_unless_asked_for(
    tmp_path: Path, command: Command
) -> None:
    command(*words(tmp_path, "random", repeats=3))
    shutil.rmtree(tmp_path / "models-runs")
    refused = command(*words(tmp_path, "random", repeats=2))
    assert refused.code == 2
    assert "the figures there are of 3 runs, and these would be of 2" in refused.complaint
    assert runs_of(tmp_path) == {"random": 3}
    assert command(*words(tmp_path, "random", repeats=2), "--fresh").code == 0
    assert runs_of(tmp_path) == {"random": 2}


def test_the_product_is_of_one_machine(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = json.loads((ROOT / "docs" / "benchmarks" / "models.json").read_text())
    for row in figures["product"]:
        row["origin"]["machine"]["fingerprint"] = "another"
    (tmp_path / "models.json").write_text(json.dumps(figures))
    asked = ("bench", "autotvm", "--part", "product", "--operators", 1, "-o", tmp_path)
    refused = command(*asked)
    assert refused.code == 2
    assert "the rows there were measured on another machine" in refused.complaint
    measured: list[Any] = []

    def nothing(*_: Any, known: Any, **__: Any) -> list[Any]:
        measured.append(list(known))
        return []

    monkeypatch.setattr(product, "measure_product", nothing)
    assert command(*asked, "--fresh").code == 0
    assert measured == [[]]


def test_quick_runs_are_kept_apart(tmp_path: Path, command: Command) -> None:
    command(*words(tmp_path, "random"), "--quick")
    (folder,) = (tmp_path / "models-runs").iterdir()
    assert folder.name.endswith("-quick")


@contextmanager
def interrupted_after_one(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C comes when the first run is done."""
    whole = Pool.run

    def one(self: Pool[Any], jobs: Any) -> Any:
        yield next(iter(whole(self, list(jobs)[:1])))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Pool, "run", one)
        yield


def test_ctrl_c_leaves_a_page_of_what_there_is(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with interrupted_after_one(monkeypatch):
        assert command(*words(tmp_path, "random")).code == 130
    assert runs_of(tmp_path) == {"random": 1}
    ran = command(*words(tmp_path, "random"))
    assert "1 from before" in ran.err
    assert runs_of(tmp_path) == {"random": 2}


def test_ctrl_c_leaves_figures_of_more_runs_as_they_are(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(*words(tmp_path, "random", repeats=3))
    shutil.rmtree(tmp_path / "models-runs")
    before = (tmp_path / "models.md").read_text()
    with interrupted_after_one(monkeypatch):
        assert command(*words(tmp_path, "random", repeats=3)).code == 130
    assert runs_of(tmp_path) == {"random": 3}
    assert (tmp_path / "models.md").read_text() == before
    ran = command(*words(tmp_path, "random", repeats=3))
    assert "1 from before" in ran.err
    assert runs_of(tmp_path) == {"random": 3}


def test_every_run_crashed(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparison, "_job", lambda *_: {"tuner": "gone"})
    ran = command(*words(tmp_path, "random"))
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith("tunesmith: every run crashed: KeyError")
    assert not (tmp_path / "models.json").exists()
