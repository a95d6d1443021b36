"""Sketches tried on small operators, by a measurer that knows what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tunesmith.bench.gpu.sketches import SketchCheck
from tunesmith.bench.gpu.workloads import DTYPES, small_operators
from tunesmith.bench.timing.gpu_time import Deadline
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.task.portfolio import Portfolio
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import Operator, conv2d, matmul, softmax
from tunesmith.sketches import sketches
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")
PRODUCT = matmul(m=8, n=8, k=8)
LAYER = conv2d(ci=4, h=6, w=6, co=8, kernel=3)


@dataclass
class Measurer:
    """Gives one measurement at a time, with the outcome that its sketch has."""

    outcome: Callable[[str], Outcome]
    operator: Operator
    waiting: list[Candidate] = field(default_factory=list)
    closed: bool = False

    def submit(self, candidates: Sequence[Candidate]) -> None:
        self.waiting += candidates

    @property
    def pending(self) -> int:
        return len(self.waiting)

    def collect(self, timeout: float) -> list[Measurement]:
        candidate = self.waiting.pop()
        outcome = self.outcome(candidate.sketch)
        seconds = (1e-3,) if outcome is Outcome.NO_ERROR else ()
        return [
            Measurement(candidate.config, outcome, seconds, message="why", sketch=candidate.sketch)
        ]

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def measure(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[str], Outcome]], list[Measurer]]:
    """Has every sketch end as a function of its name says. Returns the measurers made."""

    def with_outcome(outcome: Callable[[str], Outcome]) -> list[Measurer]:
        made: list[Measurer] = []

        def measurer(portfolio: Portfolio, *_: object) -> Measurer:
            made.append(Measurer(outcome, portfolio.task.operator))
            return made[-1]

        monkeypatch.setattr(Portfolio, "measurer", measurer)
        return made

    return with_outcome


Measure = Callable[[Callable[[str], Outcome]], list[Measurer]]


def wrong_if_tiled(name: str) -> Outcome:
    return Outcome.WRONG_ANSWER if name == "cuda_tiled" else Outcome.NO_ERROR


def test_every_sketch_has_operators_of_each_type_that_it_takes() -> None:
    operators = small_operators()
    for name, sketch in sketches().items():
        if not name.startswith("cuda_"):
            continue
        known = [one for one in operators if sketch.supports(one, TARGET)]
        assert known, f"{name} is never tried"
        assert {one.dtype for one in known} <= set(DTYPES)


def test_trials_are_counted_by_sketch_and_class(measure: Measure) -> None:
    made = measure(wrong_if_tiled)
    check = SketchCheck(TARGET, [PRODUCT, LAYER, softmax(m=2, n=3)], samples=3, seed=0)
    heard: list[int] = []
    check.run(Deadline(100.0), heard.append)
    assert heard == list(range(1, check.planned + 1))
    assert all(measurer.closed for measurer in made)
    rows = {row["sketch"]: row for row in check.rows()}
    tiled, gemm = rows["cuda_tiled"], rows["cuda_gemm_424"]
    assert tiled["outcomes"].keys() == {"WRONG_ANSWER"}
    assert len(tiled["failures"]) == 5, "no more are told in full"
    assert tiled["failures"][0]["message"] == "why"
    assert gemm["outcomes"].keys() == {"NO_ERROR"}
    assert gemm["operators"] == [PRODUCT.key]
    assert gemm["only_by_name"]
    assert gemm["failures"] == []
    assert not any(row["unfinished"] for row in rows.values())
    assert not any(name.startswith("cpu_") for name in rows)


def test_what_there_is_no_time_for_is_counted(measure: Measure) -> None:
    made = measure(wrong_if_tiled)
    check = SketchCheck(TARGET, [PRODUCT], samples=2, seed=0, names=["gemm_424"])
    check.run(Deadline(0.0), lambda _: None)
    (row,) = check.rows()
    assert made == []
    assert (row["unfinished"], row["outcomes"]) == (3, {})


def test_a_measurer_that_breaks_down_costs_its_operator(measure: Measure) -> None:
    def broken_for_gemm(name: str) -> Outcome:
        if name == "cuda_gemm_424":
            raise TunesmithError("cannot measure: it dies")
        return Outcome.NO_ERROR

    measure(broken_for_gemm)
    check = SketchCheck(TARGET, [PRODUCT, LAYER], samples=0, seed=0)
    check.run(Deadline(100.0), lambda _: None)
    rows = {row["sketch"]: row for row in check.rows()}
    assert rows["cuda_gemm_424"]["unfinished"] == 1
    assert rows["cuda_conv2d_direct"]["outcomes"] == {"NO_ERROR": 1}
    alone = SketchCheck(TARGET, [PRODUCT], samples=0, seed=0, names=["gemm_424"])
    with pytest.raises(TunesmithError, match="it dies"):
        alone.run(Deadline(100.0), lambda _: None)


@pytest.mark.parametrize("name", ["no", "cpu_tiled"])
def test_a_sketch_that_is_none_for_gpus_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown sketch '{name}'"):
        SketchCheck(TARGET, [PRODUCT], 0, 0, names=[name])
