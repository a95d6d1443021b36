"""Of several ways the fastest counts, and one that fails does not matter while another works."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tunesmith.bench.timing.fastest import Fastest


def fails() -> int:
    raise RuntimeError("no such entry point")


def times(call: Callable[[], float]) -> float:
    """Of calls that return how long they take."""
    return call()


def test_the_fastest_is_chosen() -> None:
    ways = {"slow": lambda: 3.0, "fast": lambda: 1.0, "other": lambda: 2.0}
    name, call = Fastest(ways).chosen(times)
    assert (name, call()) == ("fast", 1.0)


def test_one_disturbed_round_does_not_count() -> None:
    disturbed = iter([9.0, 1.0, 9.0])
    name, _ = Fastest({"steady": lambda: 2.0, "disturbed": lambda: next(disturbed)}).chosen(times)
    assert name == "disturbed"


def test_a_call_makes_all_and_drops_what_fails() -> None:
    made: list[str] = []
    fastest = Fastest(
        {"fails": fails, "a": lambda: made.append("a"), "b": lambda: made.append("b")}
    )
    fastest()
    assert made == ["a", "b"]
    assert list(fastest.ways) == ["a", "b"]


def test_if_all_fail_the_last_one_says_why() -> None:
    with pytest.raises(RuntimeError, match="no such entry point"):
        Fastest({"a": fails, "b": fails})()


def test_a_single_way_is_not_timed() -> None:
    def never(_: object) -> float:
        raise AssertionError

    assert Fastest({"only": fails}).chosen(never) == ("only", fails)
