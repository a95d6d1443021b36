"""The experiments' parts of the page, of runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.compare_runs import INF
from tests.bench.search_runs import Runs, data_of, line_of, prose, run
from tunesmith.bench import search_gbfs, search_nose, search_opevo
from tunesmith.bench.search_experiment import MODEL_TUNER
from tunesmith.bench.search_tables import tables

LATER = {MODEL_TUNER: "AutoTVM's model-based tuner comes later"}


def fits(page: str) -> bool:
    """Whether the page's tables and text are narrow enough."""
    return all(len(line) <= 100 for line in page.splitlines())


# -- nose -----------------------------------------------------------------------------------------

LAYERS = search_nose.EXPERIMENT.full.changed(
    workloads=("resnet18.C5", "resnet18.C9"), repeats=2, seconds=12.0
)
NOSE: Runs = {
    "nose": [
        [run(4, 2, 1, 1), run(4, 2, 1, 1)],
        [run(8, 4, 4, 2), run(8, 4, 4, 2)],
    ],
    "genetic": [
        [run(4, 4, 4, 1.25), run(4, 4, 4, 1.25)],
        [run(8, 8, INF, 2), run(8, 8, INF, 2)],
    ],
}


def test_nose_against_genetic() -> None:
    data, pictures = data_of(search_nose.EXPERIMENT, LAYERS, NOSE, left_out=LATER)
    page = search_nose.section(data)
    assert fits(page)
    told = data["speed_up"]["tuners"]["nose"]
    assert data["speed_up"]["reference"] == "genetic"
    # After the third trial: 4 times as fast on one layer, twice on the other.
    assert told["most"]["times"] == pytest.approx(3.0)
    assert told["end"]["times"] == pytest.approx((1.25 + 1.0) / 2)
    assert data["early"]["nose"] == data["early"]["genetic"] == 0.0, "the first trial takes 3 s"
    said = prose(page)
    assert "The paper: in the mean over the layers NoSE's best is up to 1.4 times" in said
    assert "Here: NoSE's best is 3.00 ± 0.00 times as fast as the GA's at most" in said
    assert "and 1.12 ± 0.00 times at the end" in said
    assert line_of(page, "nose")[:5] == ["nose", "100.0 %", "0.0 %", "0.0 %", "3.00"]
    assert line_of(page, "genetic")[:5] == ["genetic", "90.0 %", "0.0 %", "0.0 %", "–"]
    assert line_of(page, MODEL_TUNER) == [MODEL_TUNER, *["–"] * 8]
    assert f"- {MODEL_TUNER} has no figures: AutoTVM's model-based tuner comes later" in page
    assert line_of(page, "resnet18.C5") == ["resnet18.C5", "1.00 ms", "100.0 ± 0.0", "80.0 ± 0.0"]
    assert "2 runs of each tuner on 2 workloads, in turn" in said
    assert "A run ends after 12 s of tuning. All search the space of the sketch `cpu_tiled`" in said
    assert "**Only" not in page
    assert set(pictures) == set(data["pictures"].values())
    for name in ("time", "trials", "speed-up", "time-split", "outcomes", "outcome-times"):
        assert pictures[f"search-nose-{name}.svg"].startswith("<svg")
        assert f"](search-nose-{name}.svg)" in page


def test_nose_thinks() -> None:
    slow: Runs = {
        "nose": [[run(2, 1, thinking=3.0)], [run(2, 1, thinking=3.0)]],
        "genetic": [[run(2, 1, thinking=0.0)], [run(2, 1, thinking=0.0)]],
    }
    data, _ = data_of(search_nose.EXPERIMENT, LAYERS, slow)
    # Two trials took six seconds.
    assert "NoSE thinks for 33.3 % of its time, the GA for 0.0 %" in prose(
        search_nose.section(data)
    )


def test_nose_without_genetic_or_unfinished() -> None:
    data, _ = data_of(search_nose.EXPERIMENT, LAYERS, {"nose": [[run(2, 1)], []]})
    page = search_nose.section(data)
    assert "**Only 1 of 4 runs are done yet.**" in prose(page)
    assert "nose and genetic have not both been run on all of these workloads" in prose(page)
    assert line_of(page, "resnet18.C9") == ["resnet18.C9", "–", "–"]


def test_crashes_are_told() -> None:
    data, _ = data_of(search_nose.EXPERIMENT, LAYERS, NOSE, crashed={"nose": "ValueError: no"})
    page = search_nose.section(data)
    assert "- nose on resnet18.C5: 1 run crashed: ValueError: no" in page


def test_nothing_valid_was_found() -> None:
    runs: Runs = {"nose": [[run(INF)], [run(INF)]], "genetic": [[run(INF)], [run(INF)]]}
    data, _ = data_of(search_nose.EXPERIMENT, LAYERS, runs)
    page = search_nose.section(data)
    assert data["problems"][0]["best_seconds"] is None
    assert line_of(page, "resnet18.C5")[1] == "–"


# -- opevo ----------------------------------------------------------------------------------------

PRODUCTS = search_opevo.EXPERIMENT.full.changed(workloads=("opevo.MM1", "opevo.MM2"), repeats=2)
OPEVO: Runs = {
    "opevo": [[run(1), run(1.25)], [run(2), run(2)]],
    "random": [[run(2), run(2)], [run(4), run(2)]],
    "opevo:q=0.1": [[run(2), run(2)], [run(4), run(4)]],
    "opevo:q=0.9": [[run(1.25), run(1.25)], [run(2), run(2)]],
    "opevo:parents=32": [[run(2), run(2)], [run(2), run(2)]],
}


def test_opevo_against_others_and_with_other_options() -> None:
    data, pictures = data_of(search_opevo.EXPERIMENT, PRODUCTS, OPEVO, left_out=LATER)
    page = search_opevo.section(data)
    assert fits(page)
    said = prose(page)
    assert (
        "Here: Against random OpEvo has the better mean on 2 of 2 and the lower variance on 1. "
        "With q the mean over the workloads goes from 50.0 % (q = 0.1) to 95.0 % (q = 0.5). "
        "With λ the mean over the workloads goes from 75.0 % (λ = 32) to 95.0 % (λ = 8)."
    ) in said
    assert "60 s of tuning, or 512 trials, whichever comes first" in said
    assert line_of(page, "opevo")[1] == "95.0 %"
    assert line_of(page, "random")[1] == "62.5 %"
    assert "| opevo:q=0.1 |" not in page, "it has its own table"
    assert line_of(page, "q = 0.1") == ["q = 0.1", "50.0 %", "0.0 %", "50.0 %", "opevo.MM1"]
    assert line_of(page, "q = 0.5")[:2] == ["q = 0.5", "95.0 %"]
    assert line_of(page, "q = 0.9") == ["q = 0.9", "90.0 %", "0.0 %", "80.0 %", "opevo.MM1"]
    assert line_of(page, "λ = 32")[:2] == ["λ = 32", "75.0 %"]
    drawn = {f"search-opevo-{name}.svg" for name in ("trials", "time", "q", "parents")}
    assert set(pictures) == drawn
    assert "opevo:q=0.1" in pictures["search-opevo-q.svg"]
    assert "opevo:q=0.1" not in pictures["search-opevo-trials.svg"]


def test_opevo_alone() -> None:
    data, pictures = data_of(search_opevo.EXPERIMENT, PRODUCTS, {"opevo": OPEVO["opevo"]})
    page = search_opevo.section(data)
    assert "Here: OpEvo has not been run against another tuner yet." in prose(page)
    assert "Sensitivity" not in page
    assert set(pictures) == {"search-opevo-trials.svg", "search-opevo-time.svg"}


def test_variants_are_told_by_one_option() -> None:
    labels = ["opevo", "opevo:q=0.9", "opevo:q=0.1,parents=2", "opevo:parents=2", "random"]
    assert search_opevo.variants(labels, "q") == {"0.5": "opevo", "0.9": "opevo:q=0.9"}
    assert search_opevo.variants(labels, "parents") == {"2": "opevo:parents=2", "8": "opevo"}
    assert search_opevo.variants(["opevo"], "q") == {}
    assert search_opevo.rivals(labels) == ["opevo", "random"]


# -- gbfs -----------------------------------------------------------------------------------------

SQUARES = search_gbfs.EXPERIMENT.full.changed(
    workloads=("matmul.512", "matmul.1024"), repeats=2, trials=3, moment=7.0
)
GBFS: Runs = {
    "gbfs": [[run(3, 1, 1), run(3, 1, 1)], [run(16, 8, 6), run(16, 8, 6)]],
    "random": [[run(4, 4, 2), run(4, 4)], [run(20, 10, 8), run(16, 16, 12)]],
}


def test_gbfs_against_the_baselines() -> None:
    data, pictures = data_of(search_gbfs.EXPERIMENT, SQUARES, GBFS, left_out=LATER)
    page = search_gbfs.section(data)
    assert fits(page)
    found = {(each["tuner"], each["problem"]): each for each in data["found"]}
    random = found["random", "matmul.512"]
    assert (random["visited"], random["reached"]) == ([2e-3, 4e-3], 1)
    assert found["random", "matmul.1024"]["moment"] == [10e-3, 16e-3], "two trials took 6 s"
    said = prose(page)
    # 6 ms against 10 ms.
    assert "Here: on matmul.1024, after 3 trials, calls found by gbfs take 40 % less than" in said
    assert (
        "After 7.0 s the standard deviation over runs, in percent of the mean, is: gbfs 0" in said
    )
    assert line_of(page, "gbfs")[0] == "gbfs"
    tail = page[page.index("### After 3 trials") :]
    assert line_of(tail, "gbfs") == ["gbfs", "1.00 ms ± 0 %", "6.00 ms ± 0 %"]
    assert line_of(tail, "random") == ["random", "3.00 ms ± 33 % *", "10.0 ms ± 20 %"]
    assert "* Some runs had visited less when their time was up." in said
    boxes = page[page.index("matmul.1024:\n") :]
    assert line_of(boxes, "random") == [
        *("random", "10.0 ms", "11.5 ms", "13.0 ms", "13.0 ms", "14.5 ms", "16.0 ms", "33 %"),
    ]
    assert set(pictures) == {"search-gbfs-trials.svg", "search-gbfs-time.svg"}


def test_gbfs_that_found_nothing() -> None:
    nothing: Runs = {"gbfs": [[run(INF)], [run(INF)]], "random": [[run(INF)], [run(INF)]]}
    page = search_gbfs.section(data_of(search_gbfs.EXPERIMENT, SQUARES, nothing)[0])
    assert "Here: nothing has been found yet." in page


def test_gbfs_is_told_on_another_product_where_the_paper_s_was_not_run() -> None:
    settings = SQUARES.changed(workloads=("matmul.512",))
    runs: Runs = {name: traces[:1] for name, traces in GBFS.items()}
    page = search_gbfs.section(data_of(search_gbfs.EXPERIMENT, settings, runs)[0])
    said = prose(page)
    assert "on matmul.512, after 3 trials or when their time was up, calls found by gbfs" in said
    assert "take 67 % less than those of random." in said


def test_gbfs_visits_a_share_of_the_space_unless_trials_are_given() -> None:
    settings = SQUARES.changed(workloads=("matmul.512",), seconds=5.0)
    runs: Runs = {name: traces[:1] for name, traces in GBFS.items()}
    data, _ = data_of(search_gbfs.EXPERIMENT, replace(settings, trials=None), runs)
    assert data["moment"] == 5.0, "the runs are no longer"
    page = search_gbfs.section(data)
    assert "### At 0.1 % of the space\n" in page
    assert "| tuner | matmul.512: 484 trials |" in page
    assert {each["reached"] for each in data["found"]} == {0}


# -- tables ---------------------------------------------------------------------------------------


def test_a_table_that_is_too_wide_is_split() -> None:
    columns = {f"a column {number:02d}": {"one": "1.0", "two": "2.0"} for number in range(12)}
    lines = tables("name", ["one", "two"], columns)
    assert all(len(line) <= 98 for line in lines)
    heads = [line for line in lines if line.startswith("| name |")]
    assert len(heads) == 2
    assert "".join(heads).count("a column") == 12
    assert sum(line.startswith("| one | 1.0 |") for line in lines) == 2
