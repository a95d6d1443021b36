"""``tunesmith bench nose``, ``opevo`` and ``gbfs`` as commands, with budgets of a few trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.compare.records import install_faulty
from tests.cli.conftest import Command

# The smallest workload of each, and two tuners that need nothing; not G-BFS, whose untiled start
# takes seconds to measure.
SMALL: dict[str, list[Any]] = {
    "nose": ["--workload", "resnet18.C11", "--tuners", "nose", "--tuners", "genetic"],
    "opevo": [
        *("--workload", "opevo.BMM.NN.b60", "--tuners", "opevo", "--tuners", "opevo:q=0.2"),
    ],
    "gbfs": ["--workload", "matmul.512", "--tuners", "annealing", "--tuners", "random"],
}


def words(name: str, folder: Path, *more: Any) -> list[Any]:
    """A command line of an experiment that takes seconds."""
    given = ["--repeats", 1, "--trials", 3, "--seconds", 60, "-o", folder]
    return ["bench", name, *SMALL[name], *given, *more]


@pytest.mark.parametrize("name", ["nose", "opevo"])
def test_an_experiment(name: str, tmp_path: Path, command: Command) -> None:
    data = command(*words(name, tmp_path, "--json")).json
    assert json.loads((tmp_path / f"search-{name}.json").read_text()) == data
    assert data["runs"] == {"done": 2, "planned": 2}
    assert data["command"].startswith(f"tunesmith bench {name} --workload")
    assert [row["evaluations"] for row in data["rows"]] == [3, 3]
    assert {row["tuner"] for row in data["rows"]} == set(data["tuners"]) == set(SMALL[name][3::2])
    assert data["crashes"] == data["left_out"] == []
    page = (tmp_path / "search.md").read_text()
    assert page.count("\n## ") == 1
    for file in data["pictures"].values():
        assert (tmp_path / file).read_text().startswith("<svg")


def trials_of(folder: Path) -> dict[Path, bytes]:
    """When the trials of each run ended."""
    return {
        path: np.load(path)["ended"].tobytes()
        for path in folder.glob("search-runs/gbfs/runs/*.npz")
    }


def test_an_experiment_goes_on(tmp_path: Path, command: Command) -> None:
    first = command(*words("gbfs", tmp_path))
    assert first.code == 0, first.err
    assert "- The paper: at 0.1 % of the space" in first.out
    assert f"page: {tmp_path}/search.md" in first.out
    runs = trials_of(tmp_path)
    assert len(runs) == 2
    second = command(*words("gbfs", tmp_path, "--repeats", 2, "--json"))
    assert second.json["runs"] == {"done": 4, "planned": 4}
    assert "2 from before" in second.err
    (problem,) = second.json["problems"]
    assert (problem["size"], problem["trials"]) == (484_000, 3)
    assert problem["sketch"]["name"] == "cpu_gemm_424"
    assert runs.items() <= trials_of(tmp_path).items(), "no run is done again"
    fewer = command(*words("gbfs", tmp_path))
    assert fewer.complaint.startswith("the figures there are of 4 runs, and these would be of 2")
    for option, value in (("--trials", "2"), ("--seconds", "59")):
        shorter = command(*words("gbfs", tmp_path, "--repeats", 2, option, value))
        assert shorter.code == 2
        assert shorter.complaint.startswith("the figures there are of runs of ")
        assert "--fresh" in shorter.complaint
    assert json.loads((tmp_path / "search-gbfs.json").read_text()) == second.json
    third = command(*words("gbfs", tmp_path, "--fresh", "--quick"))
    assert "from before" not in third.err
    assert len(list(tmp_path.glob("search-runs/gbfs-quick/runs/*"))) == 2
    assert runs.items() <= trials_of(tmp_path).items(), "quick ones are kept apart"


def test_a_tuner_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.syspath_prepend(install_faulty(tmp_path))
    ran = command(*words("gbfs", tmp_path / "out", "--tuners", "gone", "--json"))
    (left_out,) = ran.json["left_out"]
    assert left_out["tuner"] == "gone"
    assert "without gone: tuner 'gone'" in ran.err
    page = (tmp_path / "out" / "search.md").read_text()
    assert "| gone | – |" in page
    assert "- gone has no figures: tuner 'gone'" in page


def test_what_is_refused(command: Command, tmp_path: Path) -> None:
    def complaint(*more: object, name: str = "nose") -> str:
        ran = command(*words(name, tmp_path), *more)
        assert ran.code in (1, 2)
        return ran.complaint

    said = complaint("--workload", "resnet19.C1")
    assert said.startswith("unknown workload of bench nose 'resnet19.C1': did you mean")
    assert complaint("--tuners", "gnetic").startswith("unknown tuner 'gnetic': did you mean")
    assert complaint("--tuners", "nose").startswith("tuner 'nose' is given twice")
    assert complaint("--repeats", "0") == "repeats must be 1 or more, not 0"
    assert complaint("--seconds", "-1").endswith("seconds must be positive, not -1.0")
    assert complaint("--trials", "0").endswith("trials must be positive, not 0")
    assert complaint("--sketch", "cpu_tile").startswith("unknown sketch 'cpu_tile': did you mean")
    assert "cpu_gemm_424 cannot schedule batch_matmul" in complaint(
        *("--sketch", "cpu_gemm_424"), name="opevo"
    )
    assert not list(tmp_path.iterdir()), "nothing is written before all is known to be right"
    (tmp_path / "file").write_text("")
    assert complaint("-o", tmp_path / "file").endswith("file is not a folder: name another")
    (tmp_path / "search-gbfs.json").write_text("{}")
    assert "search-gbfs.json holds no figures of 'tunesmith bench gbfs'" in complaint()


def test_a_replayed_claim(tmp_path: Path, command: Command) -> None:
    words: list[Any] = ["bench", "replay", "--part", "walks", "--quick", "--trials", 20]
    data = command(*words, "-o", tmp_path, "--json").json
    assert json.loads((tmp_path / "search-replay-walks.json").read_text()) == data
    assert data["runs"] == {"done": 18, "planned": 18}
    assert {row["runs"] for row in data["lines"]} == {2}
    assert {row["trials"] for row in data["lines"]} == {20}
    again = command(*words, "-o", tmp_path)
    assert "| q = 0.1 |" in again.out
    assert "run 18 of 18" not in again.err, "they are all saved"
    for file in data["pictures"].values():
        assert (tmp_path / file).read_text().startswith("<svg")


def test_what_is_visited_in_a_plane(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    words: list[Any] = ["bench", "replay", "--part", "plane", "--repeats", 2, "--trials", 20]
    data = command(*words, "-o", tmp_path, "--json").json
    assert data["settings"]["functions"] == 2
    assert data["command"].startswith("tunesmith bench replay --part plane")
    assert "## G-BFS and N-A2C: what they visit" in (tmp_path / "search.md").read_text()
    fewer = command(*words, "--repeats", 1, "-o", tmp_path)
    assert fewer.code == 2
    assert "the figures there are of 2 functions, and these would be of 1" in fewer.complaint
