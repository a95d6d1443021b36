"""What is told of earlier runs: which sketches' records count, and how much a call computed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.plug_ins import offer
from tunesmith.cli.past_runs import current_sketches, elsewhere, flops_of
from tunesmith.machine import this_machine
from tunesmith.operators import matmul
from tunesmith.sketches import sketches
from tunesmith.store import open_store

GEMM = ("cpu_gemm", sketches()["cpu_gemm"].version)
TILED = ("cpu_tiled", sketches()["cpu_tiled"].version)
OLD = ("cpu_gemm", 0)


class Tuned:
    """A store, as far as it is asked."""

    def sketches(self, key: str) -> list[tuple[str, int]]:
        assert key == "a task"
        return [GEMM, OLD, TILED]


@pytest.mark.parametrize(
    ("only", "found"),
    [(None, [GEMM, TILED]), ("cpu_gemm", [GEMM]), ("gemm", [GEMM]), ("tiled", [TILED]), ("em", [])],
)
def test_the_name_may_leave_out_the_targets(only: str | None, found: list[tuple[str, int]]) -> None:
    store: Any = Tuned()
    assert current_sketches(store, "a task", only) == found


def session_of(operator: Any) -> Any:
    return SimpleNamespace(description={"operator": operator})


def test_the_operations_of_an_operator() -> None:
    product = matmul(m=4, n=8, k=16)
    assert flops_of(session_of(product.to_json())) == product.flops


@pytest.mark.parametrize("name", ["broken", "gone"])
def test_an_operator_that_cannot_be_had_has_none(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    offer(monkeypatch, "tunesmith.operators", {"broken": "no_such_module:Operator"})
    assert flops_of(session_of({"operator": name, "options": {}})) is None
    assert flops_of(session_of(None)) is None, "a function or a command"


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (this_machine(), ""),
        ({"fingerprint": "board", "cpu": "a board"}, "measured on a board"),
        (
            {"fingerprint": "board", "cpu": "emulated aarch64", "emulated": True},
            "measured on emulated aarch64: these times say nothing of a real one",
        ),
    ],
)
def test_what_other_machines_measured_is_told(machine: dict[str, Any], said: str) -> None:
    with open_store("sqlite://") as store:
        session = store.begin_session("matmul@cpu(mcpu=a)", tuner="random", seed=0, machine=machine)
    assert elsewhere(session) == said
