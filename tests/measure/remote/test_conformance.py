"""The measurer of devices keeps the contract of measurers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar

import pytest

from tests.measure.local.faulty_sketch import FaultySketch, config
from tests.measure.remote import devices
from tests.measure.remote.devices import Started, needs_tracker
from tests.patience import PATIENCE
from tunesmith.measure.remote.measurers import RpcMeasurers
from tunesmith.measure.trial.job import Job
from tunesmith.operators import matmul
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.testing.measurer import MeasurerConformance
from tunesmith.testing.trials import candidates


@needs_tracker
class TestRemoteMeasurer(MeasurerConformance):
    healthy = candidates(config("none", number) for number in range(3))
    failing = candidates(
        config(fault)
        for fault in ("schedule_error", "python_error", "exit_in_build", "segfault", "wrong")
    )
    patience = PATIENCE
    tracker: ClassVar[Started]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def two_devices(cls) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            cls.tracker = stack.enter_context(devices.tracker())
            for _ in range(2):
                stack.enter_context(devices.device(cls.tracker))
            yield

    @classmethod
    def make_measurer(cls) -> Measurer:
        measurers = RpcMeasurers(cls.tracker.address, "local")
        settings = MeasureSettings(build_timeout=60.0, run_timeout=60.0)
        job = Job(matmul(m=16, n=16, k=16), (FaultySketch(),), measurers.target(), settings)
        return measurers.measurer(job)
