from __future__ import annotations

import dataclasses

import pytest

from tests.reports.networks.samples import large_network, measured_network, task
from tunesmith.reports.networks.model import CallPart, CallTimes


def test_a_row_in_figures() -> None:
    row = dataclasses.replace(task(3, layers=2), peers={"PyTorch": 1.2e-4, "OpenVINO": 6e-5})
    assert row.spent == pytest.approx(8e-5)
    assert row.gflops == pytest.approx(100.0)
    assert row.share_of_peak == pytest.approx(0.5)
    name, ratio = row.best_peer or ("", 0.0)
    assert (name, round(ratio, 6)) == ("OpenVINO", 1.5)
    told = row.to_json()
    assert (told["task"], told["layers"], told["best_peer"]) == (row.key, 2, "OpenVINO")
    assert told["peers"] == {"PyTorch": pytest.approx(3.0), "OpenVINO": pytest.approx(1.5)}


def test_a_row_without_a_time() -> None:
    row = dataclasses.replace(task(3), seconds=None, sketch="", origin="")
    assert (row.spent, row.gflops, row.share_of_peak, row.best_peer) == (0.0, None, None, None)
    assert row.to_json()["sketch"] is None


def test_the_gain_counts_tasks_that_have_both_times() -> None:
    report = large_network()
    before, after = report.gain or (0.0, 0.0)
    assert before == pytest.approx(4 * after)
    assert after == pytest.approx(sum(row.spent for row in report.tuned))
    assert len(report.tuned) == 40
    assert dataclasses.replace(report, tasks=[task(0, origin="model")], layers=[0]).gain is None


def test_parts_and_runtime_are_the_whole_call() -> None:
    call = measured_network().call
    assert call is not None
    assert sum(part.seconds for part in call.parts) + call.runtime == pytest.approx(call.seconds)
    told = call.to_json()
    assert sum(part["share"] for part in told["parts"]) == pytest.approx(6.2 / 7)
    assert told["runtime_seconds"] == pytest.approx(8e-6)


def test_a_disturbed_measurement_has_no_negative_runtime() -> None:
    assert CallTimes(1e-5, [CallPart(name="layer0_conv2d", seconds=2e-5)]).runtime == 0.0
