"""What the page says of G-BFS and N-A2C, of runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.compare.runs import INF
from tests.bench.papers.search_runs import ABSENT, Runs, data_of, fits, line_of, prose, run, three
from tunesmith.bench.papers import gbfs

SQUARES = gbfs.EXPERIMENT.full.changed(
    workloads=("matmul.512", "matmul.1024"), repeats=3, trials=3, moment=7.0
)
GBFS: Runs = {
    "gbfs": [three(3, 1, 1), three(16, 8, 6)],
    "random": [
        [run(4, 4, 2), run(4, 4), run(4, 4, 3)],
        [run(20, 10, 8), run(16, 16, 12), run(20, 13, 10)],
    ],
}


def test_gbfs_against_the_baselines() -> None:
    data, pictures = data_of(gbfs.EXPERIMENT, SQUARES, GBFS, left_out=ABSENT)
    page = gbfs.section(data)
    assert fits(page)
    found = {(each["tuner"], each["problem"]): each for each in data["found"]}
    random = found["random", "matmul.512"]
    assert (random["visited"], random["reached"]) == ([2e-3, 4e-3, 3e-3], 2)
    assert random["trials"] == [3, 2, 3]
    assert found["random", "matmul.1024"]["moment"] == pytest.approx([10e-3, 16e-3, 13e-3])
    said = prose(page)
    tail = page[page.index("### After 3 trials") :]
    assert line_of(tail, "gbfs") == ["gbfs", "1.00 ms ± 0.0 %", "6.00 ms ± 0.0 %"]
    assert line_of(tail, "random") == ["random", "3.00 ms ± 19.2 % *", "10.0 ms ± 11.5 %"]
    assert "`*`: some runs had visited less when their time was up." in said
    boxes = page[page.index("matmul.1024:\n") :]
    assert line_of(boxes, "random") == [
        *("random", "3", "10.0 ms", "11.5 ms", "13.0 ms", "13.0 ms", "14.5 ms", "16.0 ms"),
        "23 ± 12 %",
    ]
    assert set(pictures) == {f"search-gbfs-{name}.svg" for name in ("trials", "time", "boxes")}
    assert all(picture.startswith("<svg") for picture in pictures.values())
    assert page.count("![how the bests of runs are distributed](search-gbfs-boxes.svg)") == 1


def test_gbfs_that_found_nothing() -> None:
    nothing: Runs = {"gbfs": [[run(INF)], [run(INF)]], "random": [[run(INF)], [run(INF)]]}
    page = gbfs.section(data_of(gbfs.EXPERIMENT, SQUARES, nothing)[0])
    assert line_of(page, "gbfs")[1] == "0.0", "one run has no error"
    tail = page[page.index("### At the end of the runs, none of which came to 3 trials") :]
    assert line_of(tail, "gbfs") == ["gbfs", "–", "–"]


def test_runs_that_are_too_short_are_told_to_be() -> None:
    settings = SQUARES.changed(workloads=("matmul.512",))
    short: Runs = {name: [[run(4, 2)] * 3] for name in GBFS}
    page = gbfs.section(data_of(gbfs.EXPERIMENT, settings, short)[0])
    assert "### At the end of the runs, none of which came to 3 trials\n" in page
    assert "| tuner | matmul.512: 2 of 3 trials |" in page


def test_gbfs_visits_a_share_of_the_space_unless_trials_are_given() -> None:
    settings = SQUARES.changed(workloads=("matmul.512",), seconds=5.0)
    runs: Runs = {name: traces[:1] for name, traces in GBFS.items()}
    data, _ = data_of(gbfs.EXPERIMENT, replace(settings, trials=None), runs)
    assert data["moment"] == 5.0, "the runs are no longer"
    page = gbfs.section(data)
    assert "### At the end of the runs, none of which came to 0.1 % of the space\n" in page
    assert "| tuner | matmul.512: 2–3 of 484 trials |" in page
    assert {each["reached"] for each in data["found"]} == {0}
    for each in data["found"]:
        each["reached"] = len(each["visited"])
    page = gbfs.section(data)
    assert "### At 0.1 % of the space\n" in page
    assert "| tuner | matmul.512: 484 trials |" in page


def test_workloads_of_several_machines() -> None:
    data, _ = data_of(gbfs.EXPERIMENT, SQUARES, GBFS)
    assert "on one" not in prose(gbfs.section(data)), "their runs do not tell"
    zen3, zen4 = ({"cpu": name, "cores": 2} for name in ("Zen 3", "Zen 4"))
    data["machine"] = zen4
    for problem in data["problems"]:
        problem["machine"] = zen4
    assert "Not all were measured on" not in prose(gbfs.section(data))
    data["problems"][0]["machine"] = zen3
    page = gbfs.section(data)
    assert "Not all were measured on the machine above." in page
    assert "- Zen 3, 2 cores: matmul.512\n- Zen 4, 2 cores: matmul.1024\n" in page
    assert fits(page)
