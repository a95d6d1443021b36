"""Operators by name, and operators that other packages bring."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import tunesmith.operators as public
from tests.plug_ins import offer
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.operators import (
    Argument,
    IntegerOption,
    Matmul,
    Operator,
    as_option,
    operator,
    operator_class,
    operator_from_json,
    operator_names,
    parse_operator,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Twice(Operator):
    """An operator as a stranger would write it, with public names only."""

    name: ClassVar[str] = "twice"
    summary: ClassVar[str] = "every element times two"
    signature: ClassVar[tuple[str, ...]] = ("data (n)",)

    n: int = field(metadata=as_option(IntegerOption("elements", aliases=("length",))))

    def _check_shapes(self) -> None:
        """Any size fits."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (Argument("data", (self.n,), self.dtype),)

    @property
    def result(self) -> Argument:
        return Argument("output", (self.n,), self.dtype)

    @property
    def flops(self) -> int:
        return self.n

    @property
    def tolerance(self) -> tuple[float, float]:
        return 0.0, 0.0

    def _define(self, inputs: list[Any]) -> Any:
        from tvm import te

        return te.compute((self.n,), lambda i: inputs[0][i] * 2, name=self.name)

    def _evaluate(self, inputs: list[Any]) -> Any:
        return inputs[0] * 2


@dataclass(frozen=True, kw_only=True, repr=False)
class Undeclared(Twice):
    """A field without an option type is a mistake of its author."""

    name: ClassVar[str] = "undeclared"
    factor: int = 2


@pytest.fixture
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {
        "twice": "Twice",
        "undeclared": "Undeclared",
        "matmul": "Twice",
        "nothing": "np",
        "absent": "Missing",
    }
    places = {name: f"{__name__}:{value}" for name, value in ours.items()}
    offer(monkeypatch, "tunesmith.operators", places)


def test_every_operator_of_the_package_is_callable_by_its_name() -> None:
    for name in operator_names():
        assert getattr(public, name) is operator_class(name)
        assert operator_class(name).name == name


def test_a_stranger_s_operator_is_like_ours(plug_ins: None) -> None:
    made = operator("twice", n=3)
    assert made == Twice(n=3)
    assert parse_operator("twice", {"length": "3"}) == made
    assert operator_from_json(made.to_json()) == made
    assert "twice" in operator_names()
    np.testing.assert_array_equal(
        made.reference(np.arange(3, dtype="float32")), np.array([0, 2, 4], "float32")
    )


def test_a_name_of_ours_always_means_ours(plug_ins: None) -> None:
    assert operator_class("matmul") is Matmul


@pytest.mark.parametrize(
    ("name", "kind", "complaint"),
    [
        ("nothing", UsageError, "is no operator: make it a subclass of Operator"),
        ("absent", MissingDependencyError, "cannot be imported"),
        ("undeclared", UsageError, "field 'factor' has no option type"),
    ],
)
def test_a_broken_plug_in_is_reported(
    plug_ins: None, name: str, kind: type[TunesmithError], complaint: str
) -> None:
    with pytest.raises(kind) as caught:
        operator(name, n=3)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({}, "not an object with nothing in it"),
        ("text", "not 'text'"),
        (None, "not None"),
        (3, "not 3"),
        ({"operator": "matmul"}, "not an object with operator"),
        ({"operator": 3, "options": {}}, "not an object with operator, options"),
        ({"operator": "matmul", "options": [1, 2]}, "not an object with operator, options"),
        ({"operator": "matmul", "options": {"m": 1, "n": 1}}, "matmul also needs k"),
        ({"operator": "matmuls", "options": {}}, "unknown operator 'matmuls': did you mean matmul"),
    ],
)
def test_json_that_describes_no_operator(data: Any, part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)) as caught:
        operator_from_json(data)
    assert "\n" not in str(caught.value)
