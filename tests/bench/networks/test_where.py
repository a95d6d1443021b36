"""Where the time of a call goes, in a few rows."""

from __future__ import annotations

import pytest

from tests.networks.small import Residual, random_input, seeded
from tunesmith.bench.networks.where import runtime_seconds, where_time_goes
from tunesmith.networks import from_torch
from tunesmith.reports.networks.model import CallPart, CallTimes


def test_calls_of_a_function_count_as_one_kind_and_the_dearest_come_first() -> None:
    conv = CallPart(
        name="layer0_conv2d",
        seconds=2.0,
        brief="conv2d",
        operator="conv2d",
        least_seconds=1.0,
        limit="arithmetic",
        sketch="cpu_direct",
    )
    others = [CallPart(name=f"reshape{number}", seconds=0.1) for number in range(6)]
    sine = CallPart(name="sin", seconds=3.0)
    found = where_time_goes(CallTimes(10.0, [*others, conv, sine, conv]), 0.1)
    assert found["runtime_share"] == pytest.approx(0.01)
    first, second, *rest = found["parts"]
    assert first == {
        "what": "conv2d",
        "calls": 2,
        "share": 0.4,
        "share_of_peak": 0.5,
        "limit": "arithmetic",
        "sketch": "cpu_direct",
    }
    assert (second["what"], second["share"], second["share_of_peak"]) == ("sin", 0.3, None)
    assert len(rest) == 3


def test_a_call_whose_layers_do_nothing_is_the_runtime() -> None:
    network = from_torch(seeded(Residual()), random_input(1, 3, 8, 8))
    assert 0 < runtime_seconds(network) < 0.1
