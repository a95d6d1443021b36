"""Which blocks dominate which, on graphs worked out by hand."""

from __future__ import annotations

from tunesmith.evolve.llvm.dominance import dominators


def test_a_diamond() -> None:
    found = dominators({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []})
    assert found == {
        "a": frozenset("a"),
        "b": frozenset("ab"),
        "c": frozenset("ac"),
        "d": frozenset("ad"),
    }


def test_a_loop_with_two_exits() -> None:
    found = dominators({"a": ["b"], "b": ["c", "e"], "c": ["b", "d"], "d": ["e"], "e": []})
    assert found["c"] == frozenset("abc")
    assert found["d"] == frozenset("abcd")
    assert found["e"] == frozenset("abe")


def test_what_is_never_reached_is_dominated_by_all() -> None:
    assert dominators({"a": ["c"], "b": ["c"], "c": []})["b"] == frozenset("abc")
