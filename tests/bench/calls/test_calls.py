"""``tunesmith bench calls``: the page of its figures, and the side that calls."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.bench.calls.calls import WAYS, CallSettings, bound_of, call_workloads
from tunesmith.bench.peers.call_side import calling_side
from tunesmith.errors import UsageError


@pytest.mark.parametrize("way", WAYS)
def test_each_way_can_be_called(way: str) -> None:
    if "torch" in way:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    operator: Any = call_workloads()["product"]
    call, calls = calling_side({"way": way, "operator": operator.to_json()})
    call()
    assert (calls > 1) == way.startswith("threads")


def test_a_way_is_compared_with_the_program_it_runs() -> None:
    assert bound_of("torch_out") == "bound"
    assert bound_of("prepared_torch") == "prepared_bound"
    assert bound_of("threads") == "threads_bound"


def test_too_few_rounds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\Arounds must be 3 or more, not 2\Z"):
        CallSettings(2)
