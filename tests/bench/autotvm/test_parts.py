"""The experiments: who takes part on what, and what their runs come to."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.bench.autotvm.experiments import PARTS
from tunesmith.bench.autotvm.figures import part_figures
from tunesmith.bench.autotvm.page import read_models, summary, write_models, write_models_page
from tunesmith.bench.autotvm.parts import Line
from tunesmith.bench.autotvm.product import (
    dearest,
    networks_of,
    of_most_trials,
    size_of,
    without,
)
from tunesmith.bench.autotvm.product_row import ProductSettings
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.pages.figure_files import read_figures
from tunesmith.bench.pages.provenance import own_version
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.transfer.training_set import read_training_set

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "data" / "replay"
FIGURES = ROOT / "docs" / "benchmarks"

pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.mark.parametrize("name", PARTS)
def test_each_part_can_begin(name: str, tmp_path: Path) -> None:
    part = PARTS[name]
    there = find_spec("torch") is not None
    lines = [line for line in part.lines if there or "tree-gru" not in line.tuner]
    problems = part.problems(RECORDED)
    assert len(problems) == len(part.recorded) + len(part.measured)
    installed, left_out = part.installed()
    assert list(installed.lines) == lines
    assert len(left_out) == len(part.lines) - len(lines)
    comparison = installed.comparison(problems[-1:], CompareSettings(2, trials=10), tmp_path)
    assert len(comparison.runs()) == 2 * len(lines)


def test_a_search_of_several_parts_is_kept_once(tmp_path: Path) -> None:
    """Trees that learn ranks are in figures 4 and 5; no two searches have one file."""
    kept: dict[Path, set[str]] = {}
    parts: dict[Path, set[str]] = {}
    for part in PARTS.values():
        lines = [line for line in part.lines if "tree-gru" not in line.tuner]
        chosen = replace(part, lines=lines)
        settings = CompareSettings(1, trials=part.trials)
        comparison = chosen.comparison(part.problems(RECORDED), settings, tmp_path / part.folder)
        for run in comparison.runs():
            path = comparison.kept.path(run)
            kept.setdefault(path, set()).add(comparison.kept.identity(run))
            parts.setdefault(path, set()).add(part.name)
    assert {len(found) for found in kept.values()} == {1}
    ranks = [found for path, found in parts.items() if "objective-rank" in path.name]
    assert {"model-replay", "objective"} in ranks
    assert all(len(found) == 1 for found in parts.values() if "model" in found)


def test_lines_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    part = PARTS["model-replay"]
    installed, left_out = part.installed()
    assert [line.name for line in part.lines if line not in installed.lines] == ["TreeGRU"]
    assert list(left_out) == ["TreeGRU"]
    assert "install the extra 'neural'" in left_out["TreeGRU"]
    assert part.installed(["TreeGRU"]) == (replace(part, lines=list(part.lines)), {})


def test_every_part_has_a_line_to_compare_with_and_repeats_enough() -> None:
    for part in PARTS.values():
        assert "random" in {line.name for line in part.lines}
        assert part.repeats >= 8
        assert part.claim.endswith(".")


def test_a_problem_that_a_part_does_not_have() -> None:
    with pytest.raises(UsageError, match="unknown problem of part transfer 'layers/C1'"):
        PARTS["transfer"].problems(RECORDED, ["layers/C1"])


def test_some_of_its_lines_alone(tmp_path: Path) -> None:
    part = PARTS["transfer-template"]
    settings = CompareSettings(2, trials=40)
    comparison = part.comparison(part.problems(RECORDED, ["template/C7"]), settings, tmp_path)
    some = part.runs_of(comparison, ["random", "from nothing"])
    assert [run.tuner.label for run in some] == ["from nothing", "random"] * 2
    assert part.runs_of(comparison, []) == comparison.runs()
    known = "known: from nothing, random, transfer"
    with pytest.raises(
        UsageError, match=f"unknown line of part transfer-template 'GTB': .*{known}"
    ):
        part.runs_of(comparison, ["GTB"])


def test_runs_become_figures_and_a_page(tmp_path: Path) -> None:
    part = replace(
        PARTS["transfer"],
        lines=(
            Line("transfer", "autotvm:batch=16,chains=16,steps=20", "configuration"),
            Line("random", "random"),
        ),
        sources=("layers/C3", "layers/C5"),
    )
    problems = part.problems(RECORDED, ["layers/C8"])
    comparison = part.comparison(problems, CompareSettings(3, trials=40, workers=1), tmp_path / "r")
    results = comparison.saved()
    comparison.go(results, lambda *_: None)
    assert not results.crashes
    figures, pictures = part_figures(part, comparison, results, "tunesmith bench autotvm")
    first, random = figures["lines"]
    assert (first["line"], random["line"]) == ("transfer", "random")
    assert first["runs"] == random["runs"] == 3
    assert first["trials_to_95"] <= 40
    assert first["ratios"]["random"] <= 1.0
    assert 0.5 < random["best"] <= first["best"] <= 1.0
    assert 0.0 <= first["never_catches_up"]["random"] < 0.5
    assert figures["earlier"] == {"random": 256}
    assert list(pictures) == ["models-transfer.svg"]
    own = own_version()
    assert {trace.version for trace in results.traces.values()} == {own}
    assert figures["origin"]["versions"]["tunesmith"] == own
    models = read_models(tmp_path)
    models["parts"]["transfer"] = figures
    page = write_models(tmp_path, models, pictures)
    assert "## Transfer from C1–C6 to C7, C8 and C9 (figure 8)" in page
    assert "| transfer |" in page
    assert "There is no run yet of: from nothing." in page
    layers = ", ".join(PARTS["transfer"].sources)
    assert f"learned from {layers}: from 256 random configs of each" in " ".join(page.split())
    assert "## The models that ship" in page
    assert read_models(tmp_path)["parts"] == models["parts"]
    assert (tmp_path / "models-transfer.svg").exists()
    again = part.comparison(problems, CompareSettings(3, trials=40), tmp_path / "r").saved()
    assert len(again.traces) == 6
    first_run, second_run, *_ = again.traces
    again.traces[first_run] = replace(again.traces[first_run], version="0.0.1")
    again.traces[second_run] = replace(again.traces[second_run], version="")
    figures, _ = part_figures(part, comparison, again, "tunesmith bench autotvm")
    assert figures["origin"]["versions"]["tunesmith"] == f"0.0.1 or {own}"


def test_the_product_has_a_summary() -> None:
    """Its error is over networks: two operators of one tell less than one of each of two."""
    rows = [
        {**row(share), "network": name} for share, name in zip((0.5, 0.7, 0.8), "abc", strict=True)
    ]
    of_share = summary(rows)["untuned"]
    assert (of_share["median"], of_share["least"]) == (0.7, 0.5)
    assert 0.05 < of_share["error"] < 0.15
    assert summary(rows[:1])["untuned"]["error"] == 0.0
    assert summary([{**each, "network": "a"} for each in rows])["untuned"]["error"] == 0.0
    assert summary([]) == {}


def row(share: float, trials: int = 500, seed: int = 0, **others: int) -> dict[str, Any]:
    shares = {"untuned": share, "trials_5": share, "trials_20": share}
    return {**shares, "trials": trials, "seed": seed, "apart": True, **others}


def test_what_the_model_is_worth(tmp_path: Path) -> None:
    """Where the same operators were run with the estimates alone, the page compares."""
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    rows = figures["product"]
    for each in rows:
        each.pop("estimates_alone", None)
    assert "What the model is worth" not in write_models_page(tmp_path, figures)
    assert "estimates_alone" not in summary(rows)
    for each, share in zip(rows[:4], (0.4, 0.5, 0.6, 0.7), strict=False):
        each.update(row(0.6), estimates_alone={"untuned": share, "trials_5": 0.6, "trials_20": 1})
    page = " ".join(write_models_page(tmp_path, figures).split())
    assert "`auto` once more on 4 operators of these" in page
    assert "| with the model, median | 60 % | 60 % | 60 % |" in page
    assert "| with the estimates alone, median | 55 % | 60 % | 100 % |" in page
    assert "| with the model, standard error | 0 % | 0 % | 0 % |" in page
    assert "| with the estimates alone, standard error | 10 % | 0 % | 0 % |" in page
    assert "| with the estimates alone, lowest | 40 % | 60 % | 100 % |" in page
    assert "| operators at least 2 % faster with the model | 2 | 0 | 0 |" in page
    assert "| operators at least 2 % slower with the model | 1 | 0 | 4 |" in page
    of_share = summary(rows)["estimates_alone"]["untuned"]
    assert (of_share["median"], of_share["least"]) == (0.55, 0.4)
    rows[1]["estimates_alone"]["untuned"] = 0.0  # what they liked most failed
    page = " ".join(write_models_page(tmp_path, figures).split())
    assert "| with the estimates alone, lowest | 0 % | 60 % | 100 % |" in page
    assert "| operators at least 2 % faster with the model | 2 | 0 | 0 |" in page
    for each in rows[2:4]:
        each.pop("estimates_alone")
    assert rows[0]["network"] == rows[1]["network"]
    page = " ".join(write_models_page(tmp_path, figures).split())
    assert "| with the model, standard error | – | – | – |" in page, "of one network"


def test_a_run_that_is_done_again_takes_the_place_of_its_row() -> None:
    old, other = row(0.5), row(0.6)
    for each, name in ((old, "a"), (other, "b")):
        each.update(network="n", workload=name)
    new = {**old, "untuned": 0.9}
    assert without([old, other], new) == [other]
    assert without([old, other], {**new, "seed": 1}) == [old, other]


def test_rows_of_quick_runs_stay_apart() -> None:
    full, short = row(0.9), row(0.7, 480, limit=500)
    rows = [row(0.1, 96), full, row(0.2, seed=1), short]
    assert of_most_trials(rows) == [full, short]
    assert of_most_trials(rows[:1]) == rows[:1]
    assert of_most_trials([]) == []
    assert ProductSettings(96).size == size_of(rows[0])


def test_the_page_shows_those_with_the_most_trials(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    first, second, *_ = {each["network"]: each for each in figures["product"]}.values()
    quick = {**first, "limit": 96, "network": "a quick one", "untuned": 0.01}
    figures["product"] = [first, second, quick]
    page = write_models(tmp_path, figures, {})
    assert "a quick one" not in page
    assert "2 operators of 2 networks." in page
    assert "--part product --operators 1`" in page
    again = read_models(tmp_path)
    assert again["product"][-1] == quick
    assert again["summary"] == summary([first, second])


def test_the_page_says_how_much_of_the_product_is_there(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    first, *_ = figures["product"]
    figures["product"] = [first]
    for rows, size, said in ((2, (500, 0), True), (1, (500, 0), False), (2, (96, 0), False)):
        figures["product_planned"] = {"size": list(size), "rows": rows}
        page = write_models_page(tmp_path, figures)
        assert ("**Only 1 of 2 operators are done yet.**" in page) is said
    assert "| standard error |  | – | – | – |" in page, "one network has none"


def test_the_page_of_figures_without_what_is_new(tmp_path: Path) -> None:
    """How often and when a line catches up, and what is learned from, are not in files of old."""
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    old = figures["parts"]["transfer"]
    figures["parts"] = {"transfer": old}
    old.pop("earlier", None)
    for line in old["lines"]:
        line.pop("never_catches_up", None)
        line.pop("catches_up_of_all", None)
        line.pop("mean_catches_up", None)
        line.pop("mean_catches_up_between", None)
        line["catches_up"] = {"from nothing": 0.98}
    assert "| pairs never there |" not in write_models_page(tmp_path, figures)
    for line in old["lines"]:
        line["ratios"] = {"from nothing": 0.5}
        line["never_catches_up"] = {"from nothing": 0.25}
        line["catches_up_of_all"] = {"from nothing": 0.5}
        line["mean_catches_up"] = {"from nothing": 42}
    page = write_models_page(tmp_path, figures)
    assert "| pairs never there |" in page
    assert "| transfer | 0.50 | 42 | 98 % | 50 % | 25 % |" in page
    for line in old["lines"]:
        line["catches_up_of_all"] = {"from nothing": None}
        line["mean_catches_up_between"] = {"from nothing": [36, None]}
    row = "| transfer | 0.50 | 42 (36 to never) | 98 % | never | 25 % |"
    assert row in write_models_page(tmp_path, figures)


def test_the_page_says_what_was_measured_before_a_fault_was_mended(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    for name, date, said in (
        ("transfer-measured", "2026-11-28", True),
        ("transfer-measured", "2026-11-29", False),
        ("transfer", "2026-11-28", False),
    ):
        part = figures["parts"][name]
        part["origin"]["date"] = date
        page = write_models_page(tmp_path, {**figures, "parts": {name: part}})
        assert ("before a fault was mended" in " ".join(page.split())) is said


def test_a_line_is_explained_where_it_is(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    rows = figures["parts"]["transfer-measured"]["lines"]
    rows[:] = [row for row in rows if row["line"] != "estimates alone"]
    assert "- **estimates alone**:" not in write_models_page(tmp_path, figures)
    rows.append({**rows[0], "line": "estimates alone"})
    page = " ".join(write_models_page(tmp_path, figures).split())
    assert "- **estimates alone**: `autotvm` with the sketch's estimates in place of" in page


def test_the_page_says_what_features_of_programs_tell(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    told = "No line sees what the sketch estimates; the features of programs leave it out, too."
    untimed = "without the time that it took to make these"
    for name, reads, looks in (
        ("objective", True, True),
        ("transfer", False, True),
        ("diversity", False, False),
    ):
        part = figures["parts"][name] | {"without_estimates": True}
        for timed in (False, True):
            part["counts_programs"] = timed
            page = write_models_page(tmp_path, {**figures, "parts": {name: part}})
            said = " ".join(page.split())
            assert (told in said) is reads
            assert (untimed in said) is (looks and not timed)


def test_some_parts_are_shown_by_problem(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    for name, shown in (("representation", True), ("model", True), ("diversity", False)):
        part = figures["parts"][name]
        page = write_models_page(tmp_path, {**figures, "parts": {name: part}})
        assert part["cells"]
        for cell in part["cells"]:
            assert (f"\n| {cell['problem']} | {cell['tuner']} | " in page) is shown


def test_the_page_tells_what_two_trials_for_one_find(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    part = figures["parts"]["model"]
    found = {"trials_to_95": 12.0, "reached": 0.5, "best": 0.9, "best_error": 0.01, "runs": 96}
    pairs = {"sooner": {"GA × 2": 0.25, "random × 2": 0.5}, "later": {"GA × 2": 0.1}}
    for rows, shown in (([], False), ([{"line": "GBT", **found, **pairs}], True)):
        part["two_for_one"] = rows
        page = write_models_page(tmp_path, {**figures, "parts": {"model": part}})
        assert ("With two trials for one a run is the same search" in page) is shown
        assert ("| GBT | 12 | 50 % | 90.0 ± 1.0 | 25 % (10 %) | – |" in page) is shown


def test_a_part_without_anything_to_catch_up_with_says_nothing_of_it(tmp_path: Path) -> None:
    figures = read_figures(FIGURES / "models.json", bool)
    assert figures is not None
    figures["parts"] = {"representation": figures["parts"]["representation"]}
    told = ("\nBeside **from nothing**, which has no", "| pairs never there |")
    page = write_models_page(tmp_path, figures)
    assert all(words in page for words in told)
    for line in figures["parts"]["representation"]["lines"]:
        line["catches_up"] = line["never_catches_up"] = {}
    page = write_models_page(tmp_path, figures)
    assert not any(words in page for words in told)


def test_the_dearest_operators_of_a_network_are_of_different_kinds() -> None:
    series = read_training_set(ROOT / "data" / "training" / "zen5-random.json.gz").series
    assert len(networks_of(series)) >= 8
    first, second, third = dearest(series, "resnet18", 3)
    assert (first.name, second.name, third.name) == ("conv2d", "dense", "pool2d")
    others = [
        each.task.operator
        for each in series
        if "resnet18" in each.networks and each.task.operator.name == "conv2d"
    ]
    single = [it.flops for it in others if getattr(it, "n", 1) == 1]
    assert first.flops == np.max(single)


def test_figures_of_another_kind_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{}")
    with pytest.raises(TunesmithError, match="holds no figures"):
        read_models(tmp_path)
