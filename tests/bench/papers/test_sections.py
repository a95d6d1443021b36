"""The experiments' parts of the page, of runs made by hand."""

from __future__ import annotations

import math
import statistics

import pytest

from tests.bench.compare.runs import INF
from tests.bench.papers.search_runs import (
    ABSENT,
    Runs,
    data_of,
    fits,
    line_of,
    prose,
    run,
    three,
)
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.papers import nose, opevo

# -- nose -----------------------------------------------------------------------------------------

LAYERS = nose.EXPERIMENT.full.changed(
    workloads=("resnet18.C5", "resnet18.C9"), repeats=3, seconds=12.0
)
# With populations of 2, so that the third trial is past the random start: at 9 of 12 seconds.
SMALL_NOSE, SMALL_GENETIC = "nose:population=2", "genetic:population=2,elites=1"


ZERO = pytest.approx(0.0, abs=1e-9)

NOSE: Runs = {
    SMALL_NOSE: [three(4, 2, 1, 1), three(8, 4, 4, 2)],
    SMALL_GENETIC: [three(4, 4, 4, 1.25), three(8, 8, INF, 2)],
}


def test_nose_against_genetic() -> None:
    data, pictures = data_of(nose.EXPERIMENT, LAYERS, NOSE, left_out=ABSENT)
    page = nose.section(data)
    assert fits(page)
    (told,) = data["speed_ups"]
    assert (told["tuner"], data["ours"], data["theirs"]) == (SMALL_NOSE, SMALL_NOSE, SMALL_GENETIC)
    # C9 lasts 11 s of the GA's, 12 s of NoSE's.
    assert told["since"] == pytest.approx(9 / 12)
    (point,) = told["points"]
    times = pytest.approx(math.sqrt(1.25))
    assert point == {"at": 1.0, "times": times, "error": ZERO, "pairs": 6, "workloads": 2}
    said = prose(page)
    assert "The paper: in the mean over the layers NoSE's best is up to 1.4 times" in said
    assert line_of(page, "times as fast after")[2:] == [*nose.MOMENTS]
    table = page[page.index("| times as fast after") :]
    assert line_of(table, SMALL_NOSE) == [SMALL_NOSE, "at 75 %", *["–"] * 4, "1.12 ± 0.00"]
    assert "A workload counts from when every run of both tuners is past its random start" in said
    assert line_of(page, SMALL_NOSE)[:3] == [SMALL_NOSE, "100.0 ± 0.0", "0.0 ± 0.0"]
    assert line_of(page, SMALL_NOSE)[4:6] == ["6", "4"], "six runs of four trials"
    assert line_of(page, SMALL_GENETIC)[:3] == [SMALL_GENETIC, "90.0 ± 0.0", "0.0 ± 0.0"]
    assert line_of(page, "autotvm") == ["autotvm", *["–"] * 8]
    assert "- autotvm has no figures: boosted trees need XGBoost" in page
    assert line_of(page, "resnet18.C5") == ["resnet18.C5", "1.00 ms", "100.0 ± 0.0", "80.0 ± 0.0"]
    assert "3 runs of each tuner on 2 workloads, in turn" in said
    assert "Runs of a tuner on a workload: 3; trials of a run: 4." in said
    assert "A run ends after 12 s of tuning. All search the space of the sketch `cpu_tiled`" in said
    assert "**Only" not in page
    assert set(pictures) == set(data["pictures"].values())
    for name in ("time", "trials", "time-split", "outcomes", "outcome-times"):
        assert pictures[f"search-nose-{name}.svg"].startswith("<svg")
        assert f"](search-nose-{name}.svg)" in page


def test_nose_against_a_cost_model() -> None:
    """Of pairs of runs of one seed: 1.25 and 2 times as fast."""
    settings = LAYERS.changed(tuners=(SMALL_NOSE, SMALL_GENETIC, "autotvm:batch=2"))
    runs: Runs = {**NOSE, "autotvm:batch=2": [three(4, 4, 2, 1.25), three(8, 8, 4, 4)]}
    data, _ = data_of(nose.EXPERIMENT, settings, runs)
    (told,) = data["over_model"]
    assert (told["tuner"], told["over"]) == (SMALL_NOSE, "autotvm:batch=2")
    (point,) = told["points"]
    assert point["times"] == pytest.approx(math.sqrt(2.5))
    assert (point["pairs"], point["workloads"]) == (6, 2)
    page = nose.section(data)
    table = page[page.index("| times as fast after") :]
    row = line_of(table, f"{SMALL_NOSE}, over autotvm:batch=2")
    assert row[-1] == "1.58 ± 0.00"
    assert "or that of the tuner that a row names" in prose(page)


def test_runs_within_their_random_start_tell_no_speed_up() -> None:
    """However fast one of them is: both draw the same configs."""
    runs: Runs = {"nose": NOSE[SMALL_NOSE], "genetic": NOSE[SMALL_GENETIC]}
    data, pictures = data_of(nose.EXPERIMENT, LAYERS, runs)
    assert data["speed_ups"] == [{"tuner": "nose", "since": None, "points": []}]
    page = nose.section(data)
    said = prose(page)
    assert "How many times as fast as genetic's the others' best is cannot be told" in said
    assert "times as fast after" not in page
    assert "search-nose-speed-up.svg" not in {*pictures, *data["pictures"].values()}
    assert line_of(page, "nose")[5] == "4 *"
    assert (
        "`*`: runs that ended within their random start, so are random search: nose 6 of 6, in its "
        "first 100 trials; genetic 6 of 6, in its first 100 trials."
    ) in said


def test_a_workload_with_a_run_within_its_random_start_does_not_count() -> None:
    late = [*three(4, 2, 1, 1)[:2], run(4, 2)]
    runs: Runs = {SMALL_NOSE: [late, three(8, 4, 4, 2)], SMALL_GENETIC: NOSE[SMALL_GENETIC]}
    data, _ = data_of(nose.EXPERIMENT, LAYERS, runs)
    assert data["speed_ups"][0]["since"] is None
    (point,) = data["speed_ups"][0]["points"]
    assert point == {"at": 1.0, "times": 1.0, "error": 0.0, "pairs": 3, "workloads": 1}
    page = nose.section(data)
    table = page[page.index("| times as fast after") :]
    assert line_of(table, SMALL_NOSE) == [SMALL_NOSE, *["–"] * 5, "1.00 ± 0.00 of 1"]


def test_a_workload_without_a_run_yet_keeps_nothing_from_being_told() -> None:
    begun: Runs = {name: [*NOSE[name], []] for name in NOSE}
    settings = LAYERS.changed(workloads=(*LAYERS.workloads, "resnet18.C10"))
    data, _ = data_of(nose.EXPERIMENT, settings, begun)
    expected, _ = data_of(nose.EXPERIMENT, LAYERS, NOSE)
    assert data["speed_ups"] == expected["speed_ups"]
    assert data["speed_ups"][0]["points"]
    assert data["runs"] == {"done": 12, "planned": 18}


def test_a_picture_of_speed_ups_past_the_random_start() -> None:
    settings = LAYERS.changed(workloads=("resnet18.C5",))
    long: Runs = {
        "nose": [[run(*[2.0] * 101)] * 3],
        "genetic": [[run(*[2.0] * 102)] * 3],
    }
    data, pictures = data_of(nose.EXPERIMENT, settings, long)
    assert [point["at"] for point in data["speed_ups"][0]["points"]] == [1.0]
    assert pictures["search-nose-speed-up.svg"].startswith("<svg")
    assert "](search-nose-speed-up.svg)" in nose.section(data)


def test_a_speed_up_has_an_error() -> None:
    settings = LAYERS.changed(workloads=("resnet18.C5",))
    scattered: Runs = {
        SMALL_NOSE: [[run(4, 2, time) for time in (1, 1.2, 2)]],
        SMALL_GENETIC: [[run(4, 2, time) for time in (1.1, 1.9, 2)]],
    }
    data, _ = data_of(nose.EXPERIMENT, settings, scattered)
    (point,) = data["speed_ups"][0]["points"]
    assert 0 < point["times"] - 1 < 2 * point["error"]
    page = nose.section(data)
    table = page[page.index("| times as fast after") :]
    assert line_of(table, SMALL_NOSE)[-1] == f"{point['times']:.2f} ± {point['error']:.2f}"
    # Of 1, 1.2 and 2 ms as shares of the best; the error is half of it with three runs.
    deviation = 100 * statistics.stdev([1.0, 1 / 1.2, 1 / 2])
    assert line_of(page, SMALL_NOSE)[2] == f"{deviation:.1f} ± {deviation / 2:.1f}"


def test_nose_thinks() -> None:
    slow: Runs = {
        "nose": [[run(2, 1, thinking=3.0)], [run(2, 1, thinking=3.0)]],
        "genetic": [[run(2, 1, thinking=0.0)], [run(2, 1, thinking=0.0)]],
    }
    data, _ = data_of(nose.EXPERIMENT, LAYERS, slow)
    # Two trials took six seconds, and keeping records of them one and a half.
    page = nose.section(data)
    assert line_of(page, "nose")[-2:] == ["28.6 %", "1500.00 ms"]
    assert line_of(page, "genetic")[-2:] == ["0.0 %", "0.00 ms"]


def test_nose_without_genetic_or_unfinished() -> None:
    data, _ = data_of(nose.EXPERIMENT, LAYERS, {"nose": [[run(2, 1)], []]})
    page = nose.section(data)
    assert "**Only 1 of 6 runs are done yet.**" in prose(page)
    assert data["theirs"] is None
    assert "times as fast" not in page.partition("- The paper")[2].partition("| tuner")[2]
    assert line_of(page, "resnet18.C9") == ["resnet18.C9", "–", "–"]


def test_crashes_are_told() -> None:
    data, _ = data_of(nose.EXPERIMENT, LAYERS, NOSE, crashed={SMALL_NOSE: "ValueError: no"})
    page = nose.section(data)
    assert f"- {SMALL_NOSE} on resnet18.C5: 1 run crashed: ValueError: no" in prose(page)


def test_nothing_valid_was_found() -> None:
    runs: Runs = {"nose": [[run(INF)], [run(INF)]], "genetic": [[run(INF)], [run(INF)]]}
    data, _ = data_of(nose.EXPERIMENT, LAYERS, runs)
    page = nose.section(data)
    assert data["problems"][0]["best_seconds"] is None
    assert line_of(page, "resnet18.C5")[1] == "–"
    small: Runs = {SMALL_NOSE: [three(INF, INF, INF)] * 2, SMALL_GENETIC: NOSE[SMALL_GENETIC]}
    data, _ = data_of(nose.EXPERIMENT, LAYERS, small)
    assert "or found nothing valid" in prose(nose.section(data))


# -- opevo ----------------------------------------------------------------------------------------

PRODUCTS = opevo.EXPERIMENT.full.changed(workloads=("opevo.MM1", "opevo.MM2"), repeats=3)


def nine(*milliseconds: float) -> list[Trace]:
    """Runs of nine trials, one more than OpEvo has random ones; the last is the best."""
    return [run(*[20.0] * 8, time) for time in milliseconds]


OPEVO: Runs = {
    "opevo": [nine(1, 1, 1.25), nine(2, 2, 2)],
    "random": [nine(2, 2, 2), nine(4, 2, 2)],
    "opevo:q=0.1": [nine(2, 2, 2), nine(4, 4, 4)],
    "opevo:q=0.9": [nine(1.25, 1.25, 1.25), nine(2, 2, 2)],
    "opevo:parents=2": [nine(1, 1.25, 1.25), nine(2, 2, 2)],
    "opevo:parents=32": [nine(4, 4, 4), nine(4, 4, 4)],
}


def test_opevo_against_others_and_with_other_options() -> None:
    data, pictures = data_of(opevo.EXPERIMENT, PRODUCTS, OPEVO, left_out=ABSENT)
    page = opevo.section(data)
    assert fits(page)
    said = prose(page)
    assert "A run ends after 512 trials. All" in said
    assert line_of(page, "opevo")[1] == "96.7 ± 3.3"
    assert line_of(page, "random")[1] == "66.7 ± 8.3"
    assert "| opevo:q=0.1 |" not in page, "it has its own table"
    assert line_of(page, "q = 0.1") == [
        *("q = 0.1", "50.0 ± 0.0", "0.0 ± 0.0", "50.0 %", "opevo.MM1", "6", "9"),
    ]
    assert line_of(page, "q = 0.5")[:2] == ["q = 0.5", "96.7 ± 3.3"]
    assert line_of(page, "λ = 32")[-2:] == ["6", "9 *"]
    assert (
        "`*`: runs that ended within their random start, so are random search: opevo:parents=32 6 "
        "of 6, in its first 32 trials."
    ) in said
    drawn = {f"search-opevo-{name}.svg" for name in ("trials", "time", "q", "parents")}
    assert set(pictures) == drawn
    assert "opevo:q=0.1" in pictures["search-opevo-q.svg"]
    assert "opevo:q=0.1" not in pictures["search-opevo-trials.svg"]


def test_opevo_by_kind_of_workload() -> None:
    """Products and convolutions apart; a tuner without runs of a kind has no figure of it."""
    names = ("opevo.MM1", "opevo.MM2", "opevo.C1.n2")
    settings = PRODUCTS.changed(workloads=names)
    runs: Runs = {
        "opevo": [nine(1, 1, 1), nine(2, 2, 2), nine(4, 4, 4)],
        "gbfs": [nine(2, 2, 2), nine(2, 2, 2), []],
    }
    data, _ = data_of(opevo.EXPERIMENT, settings, runs)
    page = opevo.section(data)
    table = page[page.index("| best of |") :]
    assert line_of(table, "best of") == ["best of", "products", "convolutions"]
    assert line_of(table, "opevo") == ["opevo", "100.0 ± 0.0", "100.0 ± 0.0"]
    assert line_of(table, "gbfs") == ["gbfs", "75.0 ± 0.0", "–"]


def test_opevo_alone() -> None:
    data, pictures = data_of(opevo.EXPERIMENT, PRODUCTS, {"opevo": OPEVO["opevo"]})
    page = opevo.section(data)
    assert line_of(page, "opevo.MM1") == ["opevo.MM1", "1.00 ms", "93.3 ± 6.7"]
    assert "Sensitivity" not in page
    assert "best of |" not in page, "there are products alone"
    assert set(pictures) == {"search-opevo-trials.svg", "search-opevo-time.svg"}


def test_variants_are_told_by_one_option() -> None:
    labels = ["opevo", "opevo:q=0.9", "opevo:q=0.1,parents=2", "opevo:parents=2", "random"]
    assert opevo.variants(labels, "q") == {"0.5": "opevo", "0.9": "opevo:q=0.9"}
    assert opevo.variants(labels, "parents") == {"2": "opevo:parents=2", "8": "opevo"}
    assert opevo.variants(["opevo"], "q") == {}
    assert opevo.rivals(labels) == ["opevo", "random"]
