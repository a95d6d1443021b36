"""Every sketch for CPUs on a processor of another architecture: built here, run and checked there.

The device is a real one for all that matters but time: its times mean nothing, and none is looked
at.
"""

from __future__ import annotations

import contextlib
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.measure.remote import devices
from tests.measure.remote.aarch64 import (
    AARCH64,
    aarch64_device,
    missing_of_device,
    needs_linker,
)
from tests.measure.remote.devices import MISSING_OF_TRACKER, Started
from tests.patience import PATIENCE
from tests.sketches.cpu.test_staged_rows import Centred
from tests.sketches.odd_operators import OddOperators
from tunesmith.compiler.cross_linker import linker_for
from tunesmith.errors import TunesmithError
from tunesmith.kernel.kernel import Kernel
from tunesmith.measure.devices.cross_device import CrossDevice
from tunesmith.measure.failure import FailedTrialError
from tunesmith.measure.remote.measurers import RpcMeasurers
from tunesmith.measure.remote.session import DeviceSession
from tunesmith.measure.remote.tracker import Address, Tracker
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.request import Request
from tunesmith.measure.trial.trial import Trial
from tunesmith.measurement import Outcome
from tunesmith.operators import Operator, matmul
from tunesmith.problem import MeasureSettings
from tunesmith.sketches import Sketch
from tunesmith.sketches.registry import SKETCHES
from tunesmith.target import Target

CPU_SKETCHES = [name for name in SKETCHES.names() if name.startswith("cpu")]
# With vectors of 32 and of 64 bytes.
NEOVERSE, A64FX = (
    Target("cpu", mcpu=name, cores=2, triple="aarch64-linux-gnu")
    for name in ("neoverse-v1", "a64fx")
)
TARGETS = (AARCH64, NEOVERSE, A64FX)
VECTORS = pytest.mark.parametrize("target", TARGETS, ids=["neon", "sve256", "sve512"])
SETTINGS = MeasureSettings(
    build_timeout=PATIENCE, run_timeout=PATIENCE, repeats=1, min_repeat_time=1e-6
)
DRAWS = 500
# None of ours is for the sketch of operators that users define.
OWN = [Centred(m=6, n=40)]
RUN = {"kind": "run", "cut_off_seconds": math.inf}
# What this machine would need to run a device; None if it has all.
LACKING = missing_of_device() or MISSING_OF_TRACKER
_AARCH64 = 183  # of ELF's machines


@pytest.fixture(autouse=True)
def _nothing_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing forks here, and to collect the garbage of all tests takes longer than a build."""
    gc = SimpleNamespace(collect=lambda: 0, freeze=lambda: None)
    monkeypatch.setattr("tunesmith.measure.trial.prepared.gc", gc)


@cache
def _drawn(name: str) -> list[Operator]:
    """An operator that a sketch supports for each target; fewer if there are no more among so many
    draws."""
    sketch, drawn = SKETCHES.get(name), OddOperators(zlib.crc32(name.encode()))
    some = chain(OWN, (next(drawn) for _ in range(DRAWS)))
    return list(islice((one for one in some if sketch.supports(one, AARCH64)), len(TARGETS)))


def operators_for(sketch: Sketch, target: Target) -> list[Operator]:
    """Two small operators that a sketch supports, and each other target has one of them too."""
    found, first = _drawn(sketch.name), TARGETS.index(target)
    return [found[number % len(found)] for number in range(first, first + min(2, len(found)))]


@contextlib.contextmanager
def prepared_for(sketch: Sketch, operator: Operator, target: Target) -> Iterator[Prepared]:
    device = CrossDevice(linker_for(target.architecture))
    with contextlib.closing(Prepared.of(Job(operator, (sketch,), target, SETTINGS), device)) as it:
        yield it


def libraries_of(sketch: Sketch, prepared: Prepared) -> Iterator[Mapping[str, Any]]:
    """The code of programs: of the default config and of two random ones, as far as they exist."""
    operator, target = prepared.job.operator, prepared.job.target
    space, rng = sketch.space(operator, target), np.random.default_rng(0)
    for config in [sketch.default(operator, target), *space.sample_many(2, rng)]:
        try:
            trial = Trial(prepared, Request(0, config.to_json(), sketch.name), lambda _: None)
        except FailedTrialError as failure:
            assert failure.outcome is Outcome.INSTANTIATION_ERROR, str(failure)
            continue
        assert trial.built.code is not None
        yield trial.built.code
        Path(trial.built.code["library"]).unlink()


@needs_linker
@VECTORS
def test_products_use_the_vectors_of_the_processor(target: Target) -> None:
    from tunesmith.compiler.compile import compiled

    sketch, operator = SKETCHES.get("cpu_gemm"), matmul(m=64, n=64, k=64)
    program = sketch.program(operator, target, sketch.default(operator, target))
    module = compiled(program, target.to_tvm(), checked=False).mod
    lanes = {AARCH64: 4, NEOVERSE: 8, A64FX: 16}[target]
    assert f"<{lanes} x float>" in module.inspect_source("ll")
    assert f"<{2 * lanes} x float>" not in module.inspect_source("ll")
    used = set(re.findall(r"fmla\t([vz])\d+\.", module.inspect_source("asm")))
    assert used == ({"v"} if target is AARCH64 else {"z"})


@pytest.fixture(scope="module")
def session() -> Iterator[DeviceSession | None]:
    """A device, where this machine can run one."""
    if LACKING is not None:
        yield None
        return
    with devices.tracker() as tracker, aarch64_device(tracker, "arm"):
        yield from session_with(tracker)


def session_with(tracker: Started) -> Iterator[DeviceSession]:
    target = RpcMeasurers(tracker.address, "arm").target()
    # Its system has no compiler, which would tell the processor.
    assert (target.triple, target.mcpu) == (AARCH64.triple, "generic")
    with Tracker(Address.of(tracker.address, "the tracker")) as line:
        line.ask("arm")
        given = line.given(PATIENCE)
        assert given is not None
        yield DeviceSession(*given)


@pytest.mark.slow
@needs_linker
@VECTORS
@pytest.mark.parametrize("name", CPU_SKETCHES)
def test_every_sketch_is_built_for_it_and_computes_the_reference_there(
    name: str, target: Target, session: DeviceSession | None
) -> None:
    sketch, built = SKETCHES.get(name), 0
    for operator in operators_for(sketch, target):
        with prepared_for(sketch, operator, target) as prepared:
            if session is not None:
                session.prepare(prepared)
            for code in libraries_of(sketch, prepared):
                built += 1
                header = Path(code["library"]).read_bytes()[:20]
                assert header[:4] == b"\x7fELF"
                assert int.from_bytes(header[18:20], "little") == _AARCH64
                if session is not None:
                    answer = session.execute(built, RUN, code)
                    session.forget(built)
                    assert answer["kind"] == "ran", (operator.key, answer)
    assert built
    if session is None:
        pytest.skip(f"built, and not run: {LACKING}")


@needs_linker
def test_a_kernel_for_aarch64_is_saved_and_neither_loaded_nor_called_here(tmp_path: Path) -> None:
    sketch, operator = SKETCHES.get("cpu_gemm"), matmul(m=8, n=8, k=8)
    config = sketch.default(operator, AARCH64)
    program = sketch.program(operator, AARCH64, config)
    kernel = Kernel.build(operator, AARCH64, program, config)
    library, *_ = kernel.save(tmp_path / "matmul.so")
    assert int.from_bytes(library.read_bytes()[18:20], "little") == _AARCH64
    with pytest.raises(TunesmithError, match=r"is for aarch64-linux-gnu: load it on such a"):
        Kernel.load(library)
    with pytest.raises(TunesmithError, match=r"is for aarch64-linux-gnu: save it, and load it on"):
        kernel(*operator.make_inputs(0))
