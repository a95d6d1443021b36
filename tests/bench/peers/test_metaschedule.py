"""MetaSchedule as a peer: what it is given, that it ends by itself, that its kernel is right."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.patience import PATIENCE
from tunesmith.bench.peers import metaschedule, metaschedule_build
from tunesmith.bench.peers.metaschedule import MetaSchedule, MetaScheduleRun, batch_size
from tunesmith.bench.peers.metaschedule_kernel import (
    metaschedule_call,
    metaschedule_module,
    metaschedule_schedule,
)
from tunesmith.bench.peers.metaschedule_process import Count
from tunesmith.bench.timing.paired import Comparison
from tunesmith.errors import TunesmithError
from tunesmith.operators import conv2d, matmul
from tunesmith.target import Target

TARGET = Target(cores=1)
LAYER = conv2d(ci=8, h=6, w=6, co=16, kernel=3, padding=1, constant_weights=True)
PRODUCT = matmul(m=16, n=16, k=16)
CONSTANT = matmul(m=16, n=16, k=16, constant_weights=True)
OURS = {
    "kind": "kernel",
    "operator": PRODUCT.to_json(),
    "target": {"kind": "cpu", "mcpu": None, "cores": 1},
    "cores": 1,
}


def test_it_may_lay_out_constant_weights_alone() -> None:
    assert list(metaschedule_module(LAYER)["main"].attrs["layout_free_buffers"]) == [1]
    assert "layout_free_buffers" not in metaschedule_module(PRODUCT)["main"].attrs


@pytest.mark.slow
def test_workers_are_kept_and_have_no_pytorch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tvm.s_tir.meta_schedule.builder import BuilderInput

    monkeypatch.setenv("PYTHONPATH", "")  # and back again after the test
    metaschedule_build.keep_pytorch_out(tmp_path)
    builder = metaschedule_build.make_builder(workers=1)
    job = BuilderInput(metaschedule_module(PRODUCT), TARGET.to_tvm())
    before = set(psutil.Process().children())

    def worker() -> psutil.Process:
        """The one that builds when asked to."""
        (built,) = builder.build([job])
        assert not built.error_msg
        shutil.rmtree(Path(built.artifact_path).parent)
        (found,) = set(psutil.Process().children()) - before
        return found

    first = worker()
    try:
        assert worker() == first
        assert not [mapped for mapped in first.memory_maps() if "libtorch" in mapped.path]
    finally:
        first.kill()
        first.wait()


def test_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    count = Count()
    count.start(60.0)
    assert count.may_search()
    now = 130.0
    count.add([False, True], task=3)
    count.add([True, True], task=4)
    now = 165.0
    assert count.may_search(), "two at least"
    count.add([False, False], task=5)
    assert not count.may_search(), "the time is up"
    assert count.tuned == {3, 5}
    assert count.answer() == {"trials": 6, "valid": 3, "rounds": 3, "seconds": 65.0}


@pytest.mark.parametrize(
    ("size", "seconds", "batch"),
    [(64, 60.0, 64), (2048, 60.0, 11), (2048, 600.0, 64), (64, 0.1, 1)],
)
def test_batches_are_smaller_where_candidates_take_long(
    size: int, seconds: float, batch: int
) -> None:
    operator = matmul(m=size, n=size, k=size)
    assert batch_size([operator.flops], seconds / 2) == batch
    assert batch_size([operator.flops] * 2, seconds) == batch


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match="MetaSchedule found nothing valid in its time"):
        metaschedule_schedule(PRODUCT, TARGET, str(tmp_path))


def test_a_run_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(metaschedule, "_GRACE_SECONDS", 0.0)
    message = "MetaSchedule failed: no answer within 0.05 s"
    with MetaSchedule() as rival, pytest.raises(TunesmithError, match=message):
        rival.tune(PRODUCT, TARGET, 0.05, tmp_path, batch=4)
    assert processes() == []


def test_the_kernels_are_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[Any] = []

    def compared(module: str, ours: Any, theirs: Any, pairs: int) -> Comparison:
        sides.extend([ours, theirs])
        return Comparison(2.0, 1.5, 2.5, 1.0, 2.0, 1.0, 2.0, pairs)

    run = MetaScheduleRun(trials=5, valid=4, rounds=2, seconds=3.0)
    monkeypatch.setattr(MetaSchedule, "tune", lambda *_, **__: run)
    monkeypatch.setattr(metaschedule, "compare", compared)
    found = metaschedule.compare_with_metaschedule(MetaSchedule(), OURS, 3.0, 7)
    assert (found["trials"], found["valid"], found["rounds"], found["seconds"]) == (5, 4, 2, 3.0)
    assert (found["ratio"], found["pairs"]) == (2.0, 7)
    assert sides[0] == OURS
    assert sides[1]["kind"] == "metaschedule"
    assert not Path(sides[1]["folder"]).exists(), "its records are removed"


def test_a_single_round_is_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    run = MetaScheduleRun(trials=5, valid=4, rounds=1, seconds=3.0)
    monkeypatch.setattr(MetaSchedule, "tune", lambda *_, **__: run)
    with pytest.raises(TunesmithError, match="too little time for MetaSchedule: 1 round in 3 s"):
        metaschedule.compare_with_metaschedule(MetaSchedule(), OURS, 3.0, 7)


@pytest.mark.slow
def test_real_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="the peers are not installed")
    with monkeypatch.context() as patched, MetaSchedule() as rival:
        patched.setattr(TARGET.__class__, "__post_init__", lambda self: None)
        unknown = Target(kind="tpu", cores=1)
        patched.undo()
        patched.setattr(metaschedule, "_GRACE_SECONDS", PATIENCE)
        run = rival.tune(CONSTANT, TARGET, 0.01, tmp_path, batch=4)
        assert len(processes()) == 1, "no worker is left of a run"
        with pytest.raises(TunesmithError, match="MetaSchedule failed: unknown target"):
            rival.tune(PRODUCT, unknown, 1.0, tmp_path, batch=4)
    assert processes() == []
    assert run.rounds == 2, "the least"
    assert 0 < run.valid <= run.trials <= 8
    check(CONSTANT, tmp_path)
    assert metaschedule_call(CONSTANT, TARGET, str(tmp_path))() is None


def check(operator: Any, folder: Path) -> None:
    """Its best kernel computes the operator, given plain arguments."""
    import tvm

    function = tvm.compile(
        metaschedule_schedule(operator, TARGET, str(folder)), target=TARGET.to_tvm()
    )["main"]
    inputs = operator.make_inputs(seed=0)
    output = tvm.runtime.tensor(np.empty(operator.result.shape, operator.result.dtype))
    function(*map(tvm.runtime.tensor, inputs), output)
    relative, absolute = operator.tolerance
    np.testing.assert_allclose(output.numpy(), operator.reference(*inputs), relative, absolute)


def processes() -> list[str]:
    """What is left of MetaSchedule's processes, by their command lines."""
    lines = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # killed, and not yet waited for
            lines.append(" ".join(child.cmdline()))
    return [line for line in lines if "metaschedule" in line or "popen_worker" in line]
