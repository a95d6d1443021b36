"""``tunesmith bench scale``, small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tunesmith.store import ANY_MACHINE, open_store

SMALL = ("--devices", "1,12", "--tuners", "random,auto", "--seconds", "2", "--trials", "9")


def test_a_small_run(command: Command, tmp_path: Path) -> None:
    folder, kept = tmp_path / "figures", tmp_path / "kept.db"
    words = ["bench", "scale", *SMALL, "--batches", "1,20", "--batch-trials", "40"]
    ran = command(*words, "--repeats", "2", "--store", kept, "-o", folder, "--json")
    figures = ran.json
    assert figures == json.loads((folder / "scale.json").read_text(encoding="utf-8"))
    rows = [(row["tuner"], row["devices"]) for row in figures["rows"]]
    assert rows == [("random", 1), ("random", 12), ("auto", 1), ("auto", 12)]
    for row in figures["rows"]:
        assert row["trials"] >= 9
        assert row["seconds"] >= 2.0
        assert 0.0 < row["busy"] <= 1.0
    goals = [(row["tuner"], row["devices"]) for row in figures["goals"]]
    assert goals == rows
    assert all(len(row["seconds_to_95"]) == 2 for row in figures["goals"])
    assert [row["batch"] for row in figures["batches"]] == [1, 20] * 3
    assert figures["settings"]["store"] is True
    page = (folder / "scale.md").read_text(encoding="utf-8")
    assert page.startswith("# Past these machines, by simulation\n")
    with open_store(kept, create=False) as store:
        (summary,) = store.tasks(machine=ANY_MACHINE)
        assert summary.trials == sum(row["trials"] for row in figures["rows"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--devices 1,x", "--devices must be whole numbers such as 1,10, not '1,x'"),
        ("--devices 0", "at least one device is needed, not 0"),
        ("--devices ''", "name at least one number of devices"),
        ("--seconds 0", "seconds must be positive, not 0.0"),
        ("--trials 0", "trials must be positive, not 0"),
        ("--tuners genetics", "unknown tuner 'genetics': did you mean genetic?"),
        ("--batches 8,-1", "a batch must be positive, not -1"),
        ("--repeats 0", "repeats must be positive, not 0"),
        ("--seed -1", "the seed is -1: give 0 or more"),
        ("--recorded none.json.gz", "none.json.gz: cannot be read: no such file"),
        ("--device 5", "no such option: --device"),
    ],
)
def test_bad_options(command: Command, tmp_path: Path, words: str, complaint: str) -> None:
    ran = command("bench", "scale", *words.replace("''", "").split(" "), "-o", tmp_path / "none")
    assert complaint in ran.complaint
    assert ran.code == 2
    assert not (tmp_path / "none").exists()
