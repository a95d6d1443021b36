"""Expressions mean what Python means, one config or many at a time; hostile text is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.errors import SpaceError
from tunesmith.space import Constraint, Value
from tunesmith.space.columns import Frame, column_of, magnitude
from tunesmith.space.expressions.expression import MAX_LENGTH, Expression

Scope = dict[str, Value]

# Two numbers, a word, a tuple and a mixture, with values that make divisions by zero, overflows
# of 64 bits and comparisons of unlike things likely.
scopes: st.SearchStrategy[Scope] = st.fixed_dictionaries(
    {
        "a": st.integers(-4, 4) | st.sampled_from([10**9, 2**62, 0.5, -2.25, True]),
        "b": st.integers(0, 3) | st.sampled_from([0.0, 1e300]),
        "w": st.sampled_from(["x", "y", 1]),
        "c": st.sampled_from(["x", (1, 2), ()]),
        "t": st.tuples(st.integers(-2, 4), st.integers(1, 2)),
    }
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arithmetic = st.sampled_from(["+", "-", "*", "/", "//", "%"])
    comparison = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        st.builds("({} {} {})".format, inner, arithmetic, inner),
        # Python itself would work for ages on larger exponents.
        st.builds("({} ** {})".format, inner, st.sampled_from(["0", "2", "b", "-1", "0.5", "65"])),
        st.builds("({} {} {})".format, inner, comparison, inner),
        st.builds("({} {} {} {} {})".format, inner, comparison, inner, comparison, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("({} and {} or {})".format, inner, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds(
            "({} {} ({}, {}))".format, inner, st.sampled_from(["in", "not in"]), inner, inner
        ),
    )


leaves = st.sampled_from(
    [
        *["a", "a", "b", "b", "w", "t[0]", "t[1]", "t[-1]", "0", "1", "2", "7", "0.5", "'x'"],
        *["min(t)", "len(t)", "(a in t)", "(t == (1, 2))", "(c == t)", "(c in ('x', ()))", "True"],
    ]
)
texts = st.recursive(leaves, combined, max_leaves=8)


def of_python(text: str, scope: Scope) -> Any:
    """What Python makes of the text; the class of the error where it makes nothing of it."""
    try:
        value = eval(text, {}, dict(scope))
    except (ArithmeticError, TypeError, ValueError) as error:
        return type(error)
    return TypeError if isinstance(value, complex) else value


def is_expression(text: str) -> bool:
    """Whether a text is accepted, whatever it is evaluated on."""
    try:
        Expression(text)
    except SpaceError:
        return False
    return True


def of_ours(text: str, scope: Scope) -> Any:
    try:
        return Expression(text).evaluate(scope)
    except SpaceError as error:
        assert "\n" not in str(error)
        return type(error.__cause__)


@examples(400)
@given(texts, scopes)
def test_an_expression_means_what_python_means(text: str, scope: Scope) -> None:
    ours = of_ours(text, scope)
    theirs = of_python(text, scope)
    if isinstance(ours, type):
        # What we refuse beyond Python's own errors: long powers, roots of negative numbers,
        # arithmetic on strings, and constant parts without a value, be they needed or not.
        assert issubclass(ours, ArithmeticError | TypeError | ValueError)
        if not isinstance(theirs, type):
            assert "**" in text or "'x'" in text or "w" in text or not is_expression(text)
    else:
        assert ours == theirs
        assert type(ours) is type(theirs)


@examples(400)
@given(texts, st.lists(scopes, min_size=1, max_size=6))
def test_columns_give_the_same_as_one_config_at_a_time(text: str, rows: list[Scope]) -> None:
    try:
        expression = Expression(text)
    except SpaceError:
        return  # a constant part has no value, which the test above covers
    columns = {name: column_of([row[name] for row in rows]) for name in expression.names}
    bounds = {name: magnitude(column) for name, column in columns.items()}
    mask = expression.evaluate_columns(Frame(columns, len(rows)), bounds)
    if mask is not None:
        assert mask.tolist() == [bool(expression.evaluate(row)) for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        "use_padding==0 or block_size_x % 32 != 0",
        "32 <= block_size_x * block_size_y <= 1024",
        "use_shmem == 0 or ((block_size_x*4+14)*(block_size_y*2+14)) < 12*1024",
        "block_size_x in (16, 32, 64) and not block_size_y > 8",
        "use_padding == 1 or 5 % (use_padding - 1) == 1",
        "(block_size_x > 32) + (block_size_y > 4) + (use_shmem != 0) >= 2",
        "tile[0] * tile[1] == 8 and min(tile) > 1 and tile != (2, 4)",
        "layout == 'NCHW' or block_size_x <= 2 ** tile[0]",
    ],
)
def test_usual_constraints_need_no_loop_in_python(text: str) -> None:
    rng = np.random.default_rng(0)
    rows: list[Scope] = [
        {
            "use_padding": int(rng.integers(1, 3)),
            "use_shmem": int(rng.integers(2)),
            "block_size_x": int(16 * rng.integers(1, 17)),
            "block_size_y": int(2 ** rng.integers(5)),
            "tile": [(1, 8), (2, 4), (4, 2), (8, 1)][rng.integers(4)],
            "layout": ["NCHW", "NHWC"][rng.integers(2)],
        }
        for _ in range(200)
    ]
    expression = Expression(text)
    columns = {name: column_of([row[name] for row in rows]) for name in expression.names}
    bounds = {name: magnitude(column) for name, column in columns.items()}
    mask = expression.evaluate_columns(Frame(columns, len(rows)), bounds)
    assert mask is not None
    assert mask.tolist() == [bool(expression.evaluate(row)) for row in rows]
    assert 0 < mask.sum() < len(rows)


def test_a_guard_keeps_rows_away_from_a_division_by_zero() -> None:
    expression = Expression("b == 0 or a % b == 0")
    columns = {"a": np.array([4, 4, 4]), "b": np.array([0, 2, 3])}
    mask = expression.evaluate_columns(Frame(columns, 3), {"a": 4, "b": 3})
    assert mask is not None
    assert mask.tolist() == [True, True, False]
    assert Expression("a % b == 0").evaluate_columns(Frame(columns, 3), {"a": 4, "b": 3}) is None


def test_integers_too_large_for_arrays_are_left_to_python() -> None:
    columns = {"a": np.array([2**40]), "b": np.array([2**40])}
    bounds = {"a": 2.0**40, "b": 2.0**40}
    assert Expression("a * b > 0").evaluate_columns(Frame(columns, 1), bounds) is None
    assert Expression("a * b > 0").evaluate({"a": 2**40, "b": 2**40}) is True


HOSTILE = [
    "__import__('os').system('echo')",
    "().__class__.__mro__[1].__subclasses__()",
    "a.__class__",
    "a.b",
    "__a < 1",
    "eval(a)",
    "print()",
    "(lambda: 1)()",
    "[x for x in a]",
    "{x for x in a}",
    "a if a else b",
    "(a := 1)",
    "f'{a}'",
    "await a",
    "min(a, key=b)",
    "max(*a)",
    "len(a, b)",
    "a[b]",
    "a[0:1]",
    "a[0][1]",
    "a[1.5]",
    "a[True]",
    "a << 99999999999",
    "a & b",
    "~a",
    "a is b",
    "a == 1j",
    "a == b'x'",
    "a == None",
    "a == ...",
    "{1: 2}[a]",
    "a && b",
    "a b",
    "a; b",
    "a\nb",
    "a < 1, b < 2",
    "",
    "  ",
    "a\x00",
    "\ud800",
    "1 / 0 < a",
    "1e999 < a",
    "9**9**9 < a",
    "2 ** 65 < a",
    "(9**64)**64 == a",
    "(-8) ** 0.5 < a",
    "'x' * 1000000000 == a",
    "'%1000000000d' % 1 == a",
    "(1, 2) * 1000000000 == a",
    "1 == 1",
    "True",
    "-" * (MAX_LENGTH - 1) + "a",
    "not " * 900 + "a",
    "(" * 1900 + "a" + ")" * 1900,
    "[" * 1900 + "]" * 1900,
    "a" + "+a" * 1900,
    "a" + ".a" * 1900,
    "a" + "[0]" * 1300,
    "-(" * 150 + "a" + ")" * 150,
    "a" * (MAX_LENGTH + 1),
    "a" + " " * 10_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:30]))
def test_text_that_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SpaceError) as caught:
        Constraint(text)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400


def test_refusals_cost_little_and_kill_no_process() -> None:
    """In a process of its own, with little memory and processor time, as a crash would end it."""
    code = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from tunesmith.errors import SpaceError
from tunesmith.space import Constraint
for text in json.load(sys.stdin):
    try:
        Constraint(text)
    except SpaceError:
        continue
    sys.exit(f"accepted {text[:40]!r}")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("text", [None, 3, ["a < 1"], b"a"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(SpaceError, match="not an expression"):
        Constraint(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "scope", "problem"),
    [
        ("1 / a > 0", {"a": 0}, "a=0: division by zero"),
        ("a < 'x'", {"a": 1}, "not supported between"),
        ("a[2] > 1", {"a": (1, 2)}, "'a' has 2 parts, none is [2]"),
        ("a[0] > 1", {"a": 5}, "'a' has no parts"),
        ("a + 1 > 1", {"a": "word"}, "arithmetic on 'word', which is not a number"),
        ("2 ** a > 1", {"a": 65}, "a power too large"),
        ("1 in a", {"a": 5}, "not iterable"),
        ("max(a) > 1", {"a": 5}, "not iterable"),
    ],
)
def test_values_that_an_expression_cannot_be_evaluated_on(
    text: str, scope: Scope, problem: str
) -> None:
    with pytest.raises(SpaceError) as caught:
        Constraint(text).holds(scope)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
