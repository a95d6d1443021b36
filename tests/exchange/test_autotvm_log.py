"""Logs of AutoTVM as records."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tunesmith.errors import StoreError
from tunesmith.exchange import read_records
from tunesmith.measurement import Outcome
from tunesmith.operators import batch_matmul, conv2d, dense, depthwise_conv2d
from tunesmith.store import ANY_MACHINE, open_store

CUDA = "cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -thread_warp_size=32"
X86 = "llvm -keys=cpu -link-params=0 -mcpu=core-avx2"


def tensor(*shape: int) -> list[Any]:
    return ["TENSOR", list(shape), "float32"]


DATA, WEIGHT = tensor(1, 64, 56, 56), tensor(64, 64, 3, 3)
ENTITY = [
    ["tile_f", "sp", [-1, 2, 8, 2]],
    ["tile_y", "sp", [-1, 1, 7, 1]],
    ["tile_rc", "sp", [-1, 4]],
    ["auto_unroll_max_step", "ot", 512],
    ["order", "re", [1, 0]],
]


def entry(target: str, name: str, arguments: list[Any], **changes: Any) -> dict[str, Any]:
    return {
        "input": [target, name, arguments, {}],
        "config": {"index": 7, "code_hash": None, "entity": ENTITY},
        "result": [[0.002, 0.001], 0, 3.5, 1600000000.25],
        "version": 0.2,
        "tvm_version": "0.19.0",
        **changes,
    }


CONV = [DATA, WEIGHT, [1, 1], [1, 1, 1, 1], [1, 1], "float32"]


def log(folder: Path, *entries: Any, name: str = "tuning.log") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return path


@pytest.mark.parametrize("name", ["tuning.log", "tuning.jsonl", "tuning"])
def test_a_record(name: str, tmp_path: Path) -> None:
    (record,) = read_records(log(tmp_path, entry(CUDA, "conv2d_nchw.cuda", CONV), name=name))
    expected = conv2d(ci=64, h=56, w=56, co=64, kernel=3, padding=1)
    assert record.task_key == f"{expected.key}@cuda(arch=sm_75)"
    assert (record.sketch, record.sketch_version) == ("autotvm:conv2d_nchw.cuda", 0)
    assert record.config.to_json() == {
        "tile_f": [2, 2, 8, 2],
        "tile_y": [8, 1, 7, 1],
        "tile_rc": [16, 4],
        "auto_unroll_max_step": 512,
        "order": [1, 0],
    }
    assert record.measurement.seconds == 0.0015
    assert record.measurement.run_time == 3.5
    assert record.created.isoformat() == "2020-09-13T12:26:40.250000+00:00"
    assert record.machine["device"] == CUDA
    assert record.versions == {"apache-tvm": "0.19.0"}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        (
            "conv2d_NCHWc.x86",
            [*CONV[:5], "NCHW", "NCHW", "float32"],
            conv2d(ci=64, h=56, w=56, co=64, kernel=3, padding=1).key,
        ),
        (
            "depthwise_conv2d_NCHWc.x86",
            [tensor(1, 32, 8, 8), tensor(32, 1, 3, 3), [2, 2], [1, 1, 1, 1], [1, 1]],
            depthwise_conv2d(c=32, h=8, w=8, kernel=3, stride=2, padding=1).key,
        ),
        (
            "dense_pack.x86",
            [tensor(8, 512), tensor(1000, 512), None, "float32"],
            dense(m=8, k=512, n=1000).key,
        ),
        (
            "batch_matmul.x86",
            [tensor(12, 128, 64), tensor(12, 96, 64)],
            batch_matmul(b=12, m=128, k=64, n=96, transpose="NT").key,
        ),
        (
            "batch_matmul.cuda",
            [tensor(12, 64, 128), tensor(12, 64, 96), None, "float32", True, False],
            batch_matmul(b=12, m=128, k=64, n=96, transpose="TN").key,
        ),
        (
            "conv2d_nhwc.x86",
            [tensor(1, 8, 8, 16), tensor(1, 1, 16, 32), 1, 0, 1, "float32"],
            conv2d(ci=16, h=8, w=8, co=32, kernel=1, layout="NHWC").key,
        ),
    ],
)
def test_operators(name: str, arguments: list[Any], expected: str, tmp_path: Path) -> None:
    (record,) = read_records(log(tmp_path, entry(X86, name, arguments)))
    assert record.task_key == f"{expected}@cpu(mcpu=core-avx2)"


def test_failures_keep_their_class(tmp_path: Path) -> None:
    failed = entry(CUDA, "conv2d_nchw.cuda", CONV, result=[[1e9], 4, 2.0, 1600000000])
    odd = entry(CUDA, "conv2d_nchw.cuda", CONV, result=[[-1.0], 0, 2.0, 1600000000])
    first, second = read_records(log(tmp_path, failed, odd))
    assert first.measurement.outcome is Outcome.RUNTIME_DEVICE
    assert first.measurement.run_seconds == ()
    assert second.measurement.outcome is Outcome.UNKNOWN_ERROR, "no call takes less than nothing"
    assert first.session == second.session


def test_what_is_not_known_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = entry(CUDA, "conv2d_nchw.cuda", CONV)
    uneven = entry(X86, "conv2d_NCHWc.x86", [*CONV[:3], [0, 0, 1, 1], *CONV[4:]])
    path = log(
        tmp_path,
        good,
        entry(CUDA, "conv3d_ncdhw.cuda", CONV),
        entry("opencl -keys=opencl,gpu", "conv2d_nchw.cuda", CONV),
        entry(CUDA, "conv2d_nchw.cuda", [DATA]),
        uneven,
        uneven,
    )
    with caplog.at_level(logging.WARNING, "tunesmith"):
        assert len(list(read_records(path))) == 1
    for words in (
        "2 trials are left out: a convolution with uneven padding is not known here",
        "1 trials are left out: task conv3d_ncdhw.cuda is not known here",
        "1 trials are left out: target opencl is not known here",
        "1 trials are left out: task conv2d_nchw.cuda",
    ):
        assert words in caplog.text


@pytest.mark.parametrize(
    "broken",
    [
        {"result": [[1.0], 99, 1.0, 1.0]},
        {"result": [["x"], 0, 1.0, 1.0]},
        {"result": [[1.0], 0, None, 1.0]},
        {"result": []},
        {"input": ["cuda"]},
        {"config": {}},
    ],
)
def test_broken_lines(broken: dict[str, Any], tmp_path: Path) -> None:
    good = entry(CUDA, "conv2d_nchw.cuda", CONV)
    with pytest.raises(StoreError, match=r"line 2 of .* is none of an AutoTVM log"):
        list(read_records(log(tmp_path, good, {**good, **broken})))


def test_a_log_is_added_once(tmp_path: Path) -> None:
    path = log(
        tmp_path, entry(CUDA, "conv2d_nchw.cuda", CONV), entry(X86, "conv2d_NCHWc.x86", CONV)
    )
    with open_store(tmp_path / "a.db") as store:
        assert store.merge(read_records(path)) == 2
        assert store.merge(read_records(path)) == 0
        assert len(store.tasks(machine=ANY_MACHINE)) == 2
        key = store.tasks(machine=ANY_MACHINE)[0].key
        assert store.runs(key) == [], "it was not measured here"
        (run,) = store.runs(key, machine=ANY_MACHINE)
    assert run.best_seconds == 0.0015


def test_a_log_with_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = log(tmp_path, entry(CUDA, "conv2d_nchw.cuda", CONV))
    path.write_bytes(path.read_bytes() + b'{"input": "\xff"}\n')
    with pytest.raises(StoreError, match=r"line 2 of .* is none"):
        list(read_records(path))


def test_of_a_log_that_has_grown_only_what_is_new_is_added(tmp_path: Path) -> None:
    first, second = (
        entry(CUDA, "conv2d_nchw.cuda", CONV, result=[[seconds], 0, 1.0, 1_500_000_000.0 + number])
        for number, seconds in enumerate((0.001, 0.002))
    )
    with open_store(tmp_path / "a.db") as store:
        assert store.merge(read_records(log(tmp_path, first))) == 1
        assert store.merge(read_records(log(tmp_path, first, second))) == 1
        (key,) = (task.key for task in store.tasks(machine=ANY_MACHINE))
        (run,) = store.runs(key, machine=ANY_MACHINE)
    assert run.best_seconds == 0.001
