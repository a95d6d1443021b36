"""The cases of evolution: each can be made and run, and its front becomes a row and a page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.bench.gevo import exact_kernels, svm
from tunesmith.bench.gevo.case import extra_error
from tunesmith.bench.gevo.cases import CASES
from tunesmith.bench.gevo.edits import drawn_edits
from tunesmith.bench.gevo.gpu import KERNEL, check_edits, ptx
from tunesmith.bench.gevo.page import read_evolve, with_row, write_evolve
from tunesmith.bench.gevo.run import evolve_case, row_of
from tunesmith.errors import TunesmithError
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.pool import EvaluationPool, EvaluationSettings

pytest.importorskip("deap", reason="DEAP is not installed")
pytest.importorskip("numba", reason="Numba is not installed")

NEEDS = {
    "svm": ("sklearn",),
    "sgd": ("sklearn", "torch"),
    "mlp-train": ("sklearn", "iree.compiler"),
    "cnn-predict": ("sklearn", "iree.compiler", "torch"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_original_passes_its_own_tests(name: str) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    case = CASES[name]
    tested = case.make()
    subject = tested.program.subject(Tests.of(tested.tests, tested.heldout, tested.error_of))
    text = subject.representation.apply([])
    with EvaluationPool(subject, EvaluationSettings(timeout=300.0)) as pool:
        for heldout in (False, True):
            found = pool.evaluate(text, limit=1.0, heldout=heldout)
            assert found.ran, found.message
            assert found.error == 0.0


@pytest.mark.parametrize("name", ["mlp-train", "cnn-predict"])
def test_a_model_has_learned_digits(name: str) -> None:
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    tested = CASES[name].make()
    subject = tested.program.subject(Tests.of(tested.tests, tested.heldout, tested.error_of))
    original = subject.callable(subject.representation.apply([]))
    for test in (*tested.tests, *tested.heldout):
        assert test(original) > 0.8, "one digit in ten is right by chance"


def test_lost_accuracy_is_an_error_and_a_gain_is_less_than_none() -> None:
    assert extra_error([0.9, 0.8], [0.95, 0.8]) == pytest.approx(0.05)
    assert extra_error([0.99], [0.95]) == pytest.approx(-0.04)
    assert extra_error([float("nan")], [0.95]) == 1.0


def test_kernels_compute_what_they_say() -> None:
    chance = np.random.default_rng(0)
    x, y = chance.random(10), chance.random(20)
    wanted = y.copy()
    wanted[::2] += 3.0 * x
    exact_kernels.saxpy(10, 3.0, x, 1, y, 2)
    assert np.allclose(y, wanted)
    image, out = chance.random((5, 7)).astype(np.float32), np.zeros((5, 7), np.float32)
    exact_kernels.stencil(image, out)
    edge = np.pad(image, 1, mode="edge")
    mean = (edge[1:-1, 1:-1] + edge[:-2, 1:-1] + edge[2:, 1:-1] + edge[1:-1, :-2]) / 5
    assert np.allclose(out, mean + edge[1:-1, 2:] / 5)
    largest = np.zeros(1)
    exact_kernels.reduction(x, largest)
    assert largest[0] == x.max()
    x[3] = np.nan
    exact_kernels.reduction(x, largest)
    assert np.isnan(largest[0])
    counts = np.zeros(4, np.int64)
    exact_kernels.histogram(np.array([-1.0, 0.1, 0.3, 0.9, 5.0]), counts, 0.0, 1.0)
    assert counts.tolist() == [2, 1, 0, 2]


def test_the_solver_is_as_good_as_that_of_a_library() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.svm import SVC

    chance = np.random.default_rng(0)
    x = chance.standard_normal((60, 3))
    signs = np.where(x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3, 1.0, -1.0)
    gram = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2))
    alpha, gradient = np.zeros(60), -np.ones(60)
    svm.smo(gram, signs, alpha, gradient, 10.0, 1e-3)
    other = SVC(C=10.0, kernel="precomputed", tol=1e-3).fit(gram, signs)
    theirs = np.zeros(60)
    theirs[other.support_] = other.dual_coef_[0]

    def dual(weights: Any) -> float:
        return float(np.abs(weights).sum() - 0.5 * weights @ gram @ weights)

    assert dual(alpha * signs) == pytest.approx(dual(theirs), rel=1e-3)
    assert abs(alpha @ signs) < 1e-9


def test_a_case_becomes_a_row_and_a_page(tmp_path: Path) -> None:
    case = CASES["histogram"]
    store = tmp_path / "records.db"
    for seconds in (2.0, 10.0, 50.0):  # on busy cores the first may not do
        front = evolve_case(case, seconds=seconds, seed=0, store=store, progress=lambda state: None)
        row = row_of(case, front, "tunesmith bench gevo --case histogram")
        if row["evaluations"] > 10:
            break
    wanted = {"case", "speedup", "error", "heldout_error", "evaluations", "edits"}
    assert row.keys() > wanted
    assert row["error"] == row["heldout_error"] == 0.0
    assert row["evaluations"] > 10
    figures = with_row(read_evolve(tmp_path), row)
    figures = with_row(figures, {**row, "evaluations": 1234})
    page = write_evolve(tmp_path, figures)
    assert [each["evaluations"] for each in read_evolve(tmp_path)["rows"]] == [1234]
    assert "| histogram |" in page
    assert "1,234" in page


def test_figures_of_another_kind_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "evolve.json").write_text('{"format": 7, "rows": [], "gpu": null}')
    with pytest.raises(TunesmithError, match="figures of another version"):
        read_evolve(tmp_path)


def test_a_page_has_the_fronts(tmp_path: Path) -> None:
    point = {"speedup": 2.0, "error": 0.0, "heldout_speedup": 1.9, "heldout_error": 0, "edits": 1}
    origin = read_origin()
    row = {
        **{"case": "svm", "speedup": 2.0, "error": 0.0, "heldout_speedup": 1.9},
        **{"heldout_error": 0.0, "evaluations": 10, "edits": 1, "seconds": 2.0},
        "earlier_evaluations": 5,
        **{"front": [point, {**point, "speedup": 1.5}], "words": ["delete %v1"], "history": []},
        **{"command": "tunesmith bench gevo --case svm", "origin": origin},
    }
    nothing = {**row, "case": "saxpy", "front": [], "words": [], "speedup": 1.0}
    gpu = {
        **{"tries": 9, "valid": 8, "programs": 7, "emitted": 7, "assembled": None},
        **{"milliseconds": 1.0, "architecture": "sm_80", "origin": origin},
    }
    edits = [{"case": "svm", "tries": 50, "valid": 40, "milliseconds": 3.25, "origin": origin}]
    figures = {"format": 1, "rows": [row, nothing], "edits": edits, "gpu": gpu}
    page = write_evolve(tmp_path, figures)
    assert "| svm | 50 | 80 % | 3.2 |" in page
    assert "- `delete %v1`" in page
    assert "Nothing faster was found in 15 evaluations." in page
    assert "of 9 edits 8 were" in page
    assert max(map(len, page.splitlines())) <= 200


def read_origin() -> dict[str, Any]:
    from tunesmith.bench.pages.provenance import origin_now

    return dict(origin_now())


@pytest.mark.parametrize("name", ["svm", "stencil", "mlp-train"])
def test_most_edits_of_real_programs_are_valid(name: str) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    (found,) = drawn_edits([CASES[name]], 60)
    assert found["valid"] >= 36, "six in ten"


def test_edits_of_code_for_gpus() -> None:
    found = check_edits(60)
    assert found["valid"] >= 36, "six in ten"
    assert found["emitted"] == found["programs"]
    if shutil.which("ptxas"):
        assert found["assembled"] == found["programs"]
    else:
        assert found["assembled"] is None
    assert ".visible .entry momentum_sgd" in ptx(KERNEL)
