"""Models in StableHLO are compiled, run beside the original, and evolved for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.kernels import DENSE
from tunesmith.errors import UsageError
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.run import evolve
from tunesmith.measurement import Outcome

pytest.importorskip("deap", reason="DEAP is not installed")
pytest.importorskip("iree.compiler", reason="IREE is not installed")


def case(seed: int) -> tuple[np.ndarray, ...]:
    chance = np.random.default_rng(seed)
    return tuple(chance.random(shape, dtype=np.float32) for shape in ((8, 16), (16, 4), (4,)))


def test_it_computes_what_it_says() -> None:
    subject = ts.evolve.StableHLOModule(DENSE).subject(Tests.of([case(0)]))
    x, w, b = case(1)
    found = subject.callable(subject.representation.apply([]))(x, w, b)
    plain = x @ w + b
    assert np.allclose(found, plain / plain.sum(axis=1, keepdims=True), rtol=1e-5)


def test_variants_are_evaluated_beside_the_original() -> None:
    subject = ts.evolve.StableHLOModule(DENSE).subject(Tests.of([case(0)]))
    settings = ts.evolve.EvaluationSettings(timeout=60.0, workers=2)
    with EvaluationPool(subject, settings) as pool:
        same = pool.evaluate(subject.representation.apply([]), limit=1.0)
        assert same.ran and same.error == 0.0 and 0.2 < same.ratio < 5
        plain = subject.representation.apply([Edit("replace", "o6", "o2", seed=1)])
        assert pool.evaluate(plain, limit=1.0).error > 1
        broken = pool.evaluate("module {", limit=1.0)
        assert broken.outcome is Outcome.COMPILE_HOST
        assert broken.message.startswith("IREE cannot compile it: ")


def test_a_front_is_found_and_called(tmp_path: Path) -> None:
    front = evolve(
        ts.evolve.StableHLOModule(DENSE),
        [case(0)],
        heldout=[case(1)],
        error=10.0,
        budget=ts.Budget(trials=24),
        search=ts.evolve.SearchSettings(population=4, first_edits=1, looks=1),
        evaluation=ts.evolve.EvaluationSettings(timeout=60.0, workers=2),
    )
    assert front.evaluations >= 24
    assert len(front)
    for point in front:
        assert point(*case(2)).shape == (8, 4)
        point.save(tmp_path / "model.mlir")
        again = ts.evolve.StableHLOModule((tmp_path / "model.mlir").read_text())
        assert again.subject(Tests.of([case(0)])).representation.apply([])
        with pytest.raises(UsageError, match=r"NAME\.mlir or NAME\.vmfb"):
            point.save(tmp_path / "model.txt")
