"""Loop contexts as vectors of a fixed length."""

from __future__ import annotations

import numpy as np

from tests.features.program.test_context import PRODUCT
from tunesmith.compiler.loop_nest import LoopNest
from tunesmith.features.estimate_parts import PARTS
from tunesmith.features.program import PROGRAM_FEATURES, loop_context, program_features
from tunesmith.features.program.vectors import (
    ESTIMATE_COLUMNS,
    THRESHOLDS,
    context_relation,
    flat_loop_context,
    relation,
)

CONTEXT = loop_context(PRODUCT)


def test_a_relation_by_hand() -> None:
    """Equation: R_t = max over loops k with Z_kj < β_t of Z_ki."""
    touched, reuse = np.array([128.0, 16.0, 2.0]), np.array([4.0, 9.0, 7.0])
    found = relation(touched, reuse)
    for threshold, most in zip(THRESHOLDS, found, strict=True):
        below = reuse[touched < threshold]
        assert most == (below.max() if len(below) else 0.0)
    assert found[0] == 7.0  # 2 < 2.8
    assert found[2] == 9.0  # 16 < 22.6
    assert found[-1] == 9.0


def test_loops_that_do_not_touch_a_buffer_do_not_count() -> None:
    assert (relation(np.array([0.0, 8.0]), np.array([99.0, 1.0])) <= 1.0).all()
    assert (relation(np.empty(0), np.empty(0)) == 0.0).all()


BY_MODEL = np.array([-10.0, 5.0, 0.5, 0.25, 0.0, 0.75, 1.0, 2.0])


def test_thresholds_are_spaced_by_the_logarithm() -> None:
    np.testing.assert_allclose(np.diff(np.log2(THRESHOLDS)), 1.5)


def test_the_relations_of_a_product() -> None:
    vector = context_relation(CONTEXT, by_model=BY_MODEL)
    assert vector[-8:].tolist() == BY_MODEL.tolist()
    vector = vector[:-8].reshape(5, 2, 20)
    # The result: 32 of 1 element, which the innermost loop touches, and of all 32.
    np.testing.assert_allclose(vector[0, 0], np.log2(33.0))
    # All 32 outer steps touch one element of it.
    np.testing.assert_allclose(vector[0, 1], np.log2(33.0))
    # B: 16 elements are loaded by the innermost loop, once; all 128 are reused 4 times.
    below_all = np.log2(1.0 + np.where(THRESHOLDS > 128, 4.0, np.where(THRESHOLDS > 16, 1.0, 0.0)))
    np.testing.assert_allclose(vector[1, 0], below_all)
    assert (vector[3:] == 0.0).all(), "there are three buffers"


def test_the_rows_of_a_product() -> None:
    flat = flat_loop_context(CONTEXT, by_model=BY_MODEL)
    assert flat.shape == (16 * (14 + 3 * 5 + 8),)
    rows = flat.reshape(16, -1)
    np.testing.assert_allclose(rows[0, :3], np.log2([5.0, 2.0, 513.0]))
    np.testing.assert_allclose(rows[2, :3], np.log2([17.0, 33.0, 17.0]))
    assert (rows[:3, -8:] == BY_MODEL).all()
    assert (rows[3:] == 0.0).all()


def test_a_program_without_loops_has_as_many() -> None:
    empty, product = program_features(loop_context(LoopNest([], [], []))), program_features(CONTEXT)
    assert list(empty) == list(product) == list(PROGRAM_FEATURES)
    for kind, vector in empty.items():
        assert vector.shape == product[kind].shape
        assert (vector == 0.0).all()


def test_an_estimate_is_a_logarithm() -> None:
    assert program_features(CONTEXT, 0.25)["context-relation"][-8] == -2.0
    assert program_features(CONTEXT, None)["context-relation"][-8] == 0.0


def test_its_parts_follow() -> None:
    parts = (0.5, 0.25, 0.0, 0.75, 1.0, 2.0)
    found = program_features(CONTEXT, 0.25, parts)["context-relation"]
    assert found[-6:].tolist() == [*parts]


def test_where_the_estimate_is() -> None:
    without, given = program_features(CONTEXT), program_features(CONTEXT, 0.25, (1.0,) * len(PARTS))
    for kind in PROGRAM_FEATURES:
        columns = ESTIMATE_COLUMNS[kind]
        differ = np.flatnonzero(without[kind] != given[kind])
        assert set(differ) <= set(columns % len(given[kind]))
        assert len(differ)
        np.testing.assert_array_equal(
            np.delete(without[kind], columns), np.delete(given[kind], columns)
        )
