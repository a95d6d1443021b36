"""Tasks: an operator on a target."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

import tunesmith as ts
from tunesmith.errors import UsageError
from tunesmith.operators import matmul
from tunesmith.target import Target

PRODUCT = matmul(m=4, n=5, k=6)


def test_the_target_may_be_left_out_named_or_given() -> None:
    for task in (ts.Task(PRODUCT), ts.Task(PRODUCT, "cpu"), ts.Task(PRODUCT, target="cpu")):
        assert task.target == Target("cpu")
    assert ts.Task(PRODUCT, Target(cores=2)).target == Target(cores=2)


def test_the_key_names_operator_and_target() -> None:
    assert ts.Task(PRODUCT).key == f"{PRODUCT.key}@cpu"
    assert ts.Task(PRODUCT, Target(cores=2)).key == f"{PRODUCT.key}@cpu(cores=2)"


def test_tasks_are_values() -> None:
    task = ts.Task(PRODUCT)
    assert task == ts.Task(PRODUCT, "cpu") != ts.Task(PRODUCT, Target(cores=1))
    assert len({task, ts.Task(PRODUCT, Target())}) == 1
    assert pickle.loads(pickle.dumps(task)) == task
    assert dataclasses.replace(task, target=Target(cores=1)).target.cores == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.target = Target()  # type: ignore[misc]


@pytest.mark.parametrize("operator", ["matmul", matmul, None])
def test_what_is_no_operator_is_refused(operator: Any) -> None:
    with pytest.raises(UsageError, match=r"\Aa task needs an operator such as .+, not .+\Z"):
        ts.Task(operator)


@pytest.mark.parametrize("target", [5, Target, None])
def test_what_is_no_target_is_refused(target: Any) -> None:
    with pytest.raises(UsageError, match=r"\Aunknown target '.+': known: cpu, cuda\Z"):
        ts.Task(PRODUCT, target)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown target 'gpu'"):
        ts.Task(PRODUCT, "gpu")
