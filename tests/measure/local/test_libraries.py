"""Machine code that one measurer has built is measured by another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from tests.measure.trial.preparing_sketch import PreparingSketch, config
from tunesmith.measure.cluster.kind import Role
from tunesmith.measure.cluster.worker import NodeWorker, Work
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.testing.trials import candidates

# With constant weights a library has two functions.
JOB = Job(
    matmul(m=5, n=6, k=7, constant_weights=True),
    (PreparingSketch(),),
    Target(cores=1),
    MeasureSettings(min_repeat_time=0.001, workers=1),
)
RIGHT, WRONG = candidates([config("right"), config("wrong")])


def measured(programs: Sequence[Candidate], libraries: Sequence[Path]) -> list[Measurement]:
    """What comes of candidates, in their order."""
    found: list[Measurement] = []
    with LocalMeasurer(JOB) as measurer:
        measurer.submit(programs, libraries=list(map(str, libraries)))
        while measurer.pending:
            found += measurer.collect(60.0)
    return sorted(found, key=lambda one: programs.index(one.candidate))


def test_a_library_is_what_is_measured(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.so", tmp_path / "wrong.so"
    with LocalMeasurer(JOB) as builder:
        built = list(builder.build([RIGHT, WRONG], [str(right), str(wrong)]))
    assert [one.built for one in built] == [True, True]
    outcomes = [one.outcome for one in measured([RIGHT, WRONG], [right, wrong])]
    assert outcomes == [Outcome.NO_ERROR, Outcome.WRONG_ANSWER]
    # With the other one's code the wrong one is right: it was not built again.
    assert [one.outcome for one in measured([WRONG], [right])] == [Outcome.NO_ERROR]


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "broken.so").write_bytes(b"no library")
    (measurement,) = measured([RIGHT], [tmp_path / "broken.so"])
    assert measurement.outcome is Outcome.COMPILE_HOST
    assert measurement.message


def test_a_node_removes_what_it_was_sent_once_that_is_measured() -> None:
    node = NodeWorker()
    try:
        node.start(JOB.to_text(), Role.BUILD)
        (built,) = node.build([RIGHT])
        node.start(JOB.to_text(), Role.MEASURE)
        works, found = [Work(RIGHT, built.library)], list[Measurement]()
        while not found:
            found, works = list(node.turn(works, math.inf).measurements), []
        assert found[0].valid
        assert node._folder is not None
        assert list(Path(node._folder.name).iterdir()) == []
    finally:
        node.close()
