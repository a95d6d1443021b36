"""Blocks on a GPU whose figures are round numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.cuda.multiprocessors import Multiprocessor
from tunesmith.operators import matmul
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, bytes_of_tensors, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.target import Target

GPU = Gpu(Multiprocessor(2048, 32, 164 * 1024), 100, 64, 1024, 1e9, 1e12, 40e6)
# 1000 steps in which the lanes are busy for 100 cycles and nothing else is.
WORK = BlockWork(
    threads=256,
    registers=64,
    shared_bytes=16 * 1024,
    steps=1000,
    arithmetic=100,
    shared=0,
    instructions=0,
    bytes=0,
    waiting=0,
)
# Seconds of a launch.
LAUNCH = 0.6e-6
PARTS = ("arithmetic", "shared", "instructions", "bytes", "waiting")


def test_the_busiest_part_decides() -> None:
    busy = replace(WORK, arithmetic=100, shared=60, instructions=80, bytes=640)
    assert busy.step_cycles(2) == 2 * (100 + 0.3 * 60)
    assert replace(busy, instructions=800).step_cycles(2) == 2 * (200 + 0.3 * 100)
    assert replace(busy, bytes=64 * 300).step_cycles(2) == 2 * (300 + 0.3 * 100)


def test_a_lone_block_waits_and_many_do_not() -> None:
    waiting = replace(WORK, waiting=500)
    assert waiting.step_cycles(1) == 600
    assert waiting.step_cycles(8) == 800


def test_a_warp_cannot_issue_as_fast_as_a_multiprocessor() -> None:
    assert replace(WORK, threads=32, arithmetic=0, instructions=400).step_cycles(1) == 800
    assert replace(WORK, threads=512, arithmetic=0, instructions=400).step_cycles(1) == 100


def test_blocks_that_do_not_fit_follow_each_other() -> None:
    four = replace(WORK, registers=64)  # 65536 / (256 * 64) at a time
    one_round, two_rounds = seconds(four, 400, GPU), seconds(four, 800, GPU)
    assert one_round == pytest.approx(401_000 / 1e9 + LAUNCH)
    assert two_rounds == pytest.approx(802_000 / 1e9 + LAUNCH)
    # The rest of a round takes as long as its fullest multiprocessor.
    assert seconds(four, 401, GPU) == pytest.approx(one_round + 101_000 / 1e9)
    assert seconds(four, 500, GPU) == seconds(four, 401, GPU)


def test_registers_that_are_not_there_are_in_memory() -> None:
    assert seconds(replace(WORK, registers=300), 100, GPU) > 1.5 * seconds(WORK, 100, GPU)
    # A block of 1024 threads has 64 registers a thread.
    large = replace(WORK, threads=1024)
    assert seconds(large, 100, GPU) == pytest.approx(101_000 / 1e9 + LAUNCH)
    assert seconds(replace(large, registers=96), 100, GPU) > seconds(large, 100, GPU)


def test_a_block_that_cannot_run_takes_for_ever() -> None:
    assert seconds(replace(WORK, shared_bytes=164 * 1024), 1, GPU) == math.inf


def test_what_the_cache_does_not_hold_comes_from_memory() -> None:
    assert seconds(WORK, 100, GPU, compulsory_bytes=40e6) == seconds(WORK, 100, GPU)
    assert seconds(WORK, 100, GPU, compulsory_bytes=1040e6) > 1e-3


@given(
    st.fixed_dictionaries(dict.fromkeys(PARTS, st.integers(0, 1000))),
    st.sampled_from(PARTS),
    st.integers(1, 5000),
)
def test_more_work_never_takes_less(parts: dict[str, Any], which: str, grid: int) -> None:
    less = replace(WORK, **parts)
    more = replace(less, **{which: parts[which] + 100})
    assert seconds(more, grid, GPU) >= seconds(less, grid, GPU)
    assert seconds(less, grid + 100, GPU) >= seconds(less, grid, GPU)


def test_bytes_of_tensors() -> None:
    assert bytes_of_tensors(matmul(m=2, n=3, k=5, bias=True)) == 4 * (10 + 15 + 3 + 6)


def test_known_gpus() -> None:
    h100, a100 = Gpu.of(Target("cuda", arch="sm_90")), Gpu.of(Target("cuda", arch="sm_80"))
    assert h100 is not None
    assert a100 is not None
    # The data sheets' peaks in float32 and, for A100, in 16 bits, in 1e12 operations a second.
    assert 2 * a100.count * a100.lanes * a100.hertz / 1e12 == pytest.approx(19.5, rel=0.01)
    assert 2 * a100.count * a100.tensor_lanes * a100.hertz / 1e12 == pytest.approx(312, rel=0.01)
    assert 2 * h100.count * h100.lanes * h100.hertz / 1e12 == pytest.approx(67, rel=0.15)
    assert Gpu.of(Target("cuda", arch="sm_52")) is None
