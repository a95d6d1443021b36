"""The machine in figures: cycles on hand-computed cases, and where the figures come from."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.sketches.cpu.model.machine import Copy, Machine
from tunesmith.sketches.cpu.model.processor import Caches, Core, caches_of, core_of, read_caches
from tunesmith.target import Target

KIB = 2**10

# Two multiply-adds, two loads, two broadcasts and one store a cycle; four instructions.
PLAIN = Machine(
    cores=4,
    vector_bytes=32,
    vector_registers=16,
    core=Core(l2_bytes=32, l3_bytes=16, memory_bytes=4, hertz=2e9),
    caches=Caches(l1=32 * KIB, l1_ways=8, l2=256 * KIB, l3=4096 * KIB),
    hertz=2e9,
)
HALVES = Machine(2, 64, 32, Core(fmas=1, loads=1, stores=0.5, halves=True), Caches(), 2e9)
COUNTS = st.integers(0, 64)


def test_lanes_and_peak() -> None:
    assert PLAIN.lanes("float32") == 8
    assert PLAIN.lanes("int8") == 32
    assert PLAIN.peak == 2 * 2 * 8 * 2e9 * 4


def test_bandwidth_is_that_of_the_level_that_holds_the_data() -> None:
    assert PLAIN.bandwidth(4 * 128 * KIB) == 32 * 2e9 * 4  # a quarter in the L2 of each core
    assert PLAIN.bandwidth(2048 * KIB) == 16 * 2e9 * 4
    assert PLAIN.bandwidth(4096 * KIB) == 4 * 2e9 * 4  # no room for what streams by


def test_a_register_tile_takes_what_its_busiest_part_takes() -> None:
    assert PLAIN.register_tile_cycles(12, 2, 6, registers=15) == 6  # two multiply-adds a cycle
    assert PLAIN.register_tile_cycles(8, 12, 8, registers=16) == 10  # 20 reads, two a cycle
    assert PLAIN.register_tile_cycles(8, 1, 1, stores=9, registers=10) == 9
    assert PLAIN.register_tile_cycles(8, 1, 1, shuffles=11, registers=10) == 11
    assert PLAIN.register_tile_cycles(8, 4, 0, stores=4, shuffles=4, registers=13) == 5  # issued


def test_too_few_sums_wait_for_their_latency() -> None:
    assert PLAIN.register_tile_cycles(2, 1, 1) == 4
    assert PLAIN.register_tile_cycles(2, 1, 1, accumulators=1) == 8
    assert PLAIN.register_tile_cycles(12, 1, 1, accumulators=6) == 8


def test_what_does_not_fit_the_registers_is_stored_and_loaded_again() -> None:
    fits = PLAIN.register_tile_cycles(14, 1, 14, registers=16)
    spills = PLAIN.register_tile_cycles(14, 1, 14, registers=26)
    assert fits == 7.5
    assert spills == 12.5 + 0.3 * (5 + 10)  # ten loads more, and a part of them and the stores
    assert PLAIN.register_tile_cycles(28, 2, 14) > PLAIN.register_tile_cycles(12, 2, 6) * 28 / 12


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_more_work_never_takes_less(fmas: int, loads: int, broadcasts: int, stores: int) -> None:
    cycles = PLAIN.register_tile_cycles(fmas, loads, broadcasts, stores, accumulators=8)
    assert 0 <= cycles < math.inf
    for more in ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)):
        counts = (
            n + extra for n, extra in zip((fmas, loads, broadcasts, stores), more, strict=True)
        )
        assert PLAIN.register_tile_cycles(*counts, accumulators=8) >= cycles


def test_half_a_vector_takes_half_the_time_where_vectors_pass_in_halves() -> None:
    assert [HALVES.vectors(n, "float32") for n in (8, 9, 16, 24, 32)] == [0.5, 1, 1, 1.5, 2]
    assert [PLAIN.vectors(n, "float32") for n in (1, 4, 8, 12)] == [1, 1, 1, 2]


def test_working_sets_and_the_levels_that_hold_them() -> None:
    sizes = (24 * KIB, 25 * KIB, 192 * KIB, 193 * KIB, 3072 * KIB, 3073 * KIB)
    assert [PLAIN.level_of(size) for size in sizes] == [0, 1, 1, 2, 2, 3]
    assert PLAIN.traffic_cycles(l2=320, l3=160, memory=40) == 10 + 10 + 10
    streams = [PLAIN.stream_cycles(640, KIB * size) for size in (1, 100, 1000, 10000)]
    assert streams == [0, 20, 40, 160]


def test_lines_a_page_apart_compete_for_one_set() -> None:
    assert PLAIN.crowded(8 * 64, 64, 4096) == 32 * KIB  # eight ways: as much as all of L1
    assert PLAIN.crowded(8 * 64, 64, 2048) == 16 * KIB
    assert PLAIN.crowded(8 * 64, 64, 64) == 8 * 64
    assert PLAIN.crowded(8 * 64, 64, 4096 + 64) == 8 * 64
    assert PLAIN.crowded(8 * 4096, 4096, 4096) == 8 * 4096


def test_copies_take_their_loads_and_stores_or_their_scalars() -> None:
    assert PLAIN.copy_cycles(800) == 100
    assert PLAIN.copy_cycles(800, itemsize=1) == 25
    assert PLAIN.copy_cycles(800, how=Copy.STRIDED) == 1200
    costs = [PLAIN.copy_cycles(64, how=how) for how in Copy]
    assert costs == sorted(costs)


def test_computing_and_moving_overlap() -> None:
    assert PLAIN.overlapped(100, 0) == 100
    assert 100 < PLAIN.overlapped(100, 50) == PLAIN.overlapped(50, 100) < 150


def test_tasks_are_shared_among_the_cores() -> None:
    assert [PLAIN.rounds(tasks) for tasks in (1, 4, 5, 8)] == [1, 1, 2, 2]
    assert PLAIN.parallel_share(8) == 0.25
    assert PLAIN.parallel_share(5) == 0.4
    assert PLAIN.seconds(2e9, regions=0) == pytest.approx(1, abs=1e-5)
    assert PLAIN.seconds(0, regions=3) > PLAIN.seconds(0)


def test_a_named_processor_has_typical_figures() -> None:
    haswell = Machine.of(Target(mcpu="haswell", cores=4))
    assert (haswell.cores, haswell.vector_bytes, haswell.vector_registers) == (4, 32, 16)
    assert haswell.core == core_of("haswell")
    skylake = Machine.of(Target(mcpu="skylake-avx512", cores=1))
    assert (skylake.vector_bytes, skylake.vector_registers) == (64, 32)
    assert core_of("no such processor") == Core()
    assert caches_of("no such processor") == Caches()
    assert Machine.of(Target(mcpu="haswell", cores=4)) is haswell


def test_this_machine_has_sensible_figures() -> None:
    machine = Machine.of(Target())
    assert machine.cores >= 1
    assert machine.vector_registers in (16, 32)
    assert 8 * KIB <= machine.caches.l1 <= machine.caches.l2
    assert 1e9 <= machine.hertz <= 1e10


def test_caches_are_read_as_the_system_tells_them(tmp_path: Path) -> None:
    def cache(index: int, **fields: str) -> None:
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in fields.items():
            (folder / name).write_text(text + "\n", encoding="ascii")

    cache(0, type="Data", level="1", size="48K", ways_of_associativity="12")
    cache(1, type="Instruction", level="1", size="32K", ways_of_associativity="8")
    cache(2, type="Unified", level="2", size="2M")
    cache(3, type="Unified", level="3")  # a virtual machine that does not tell
    assert read_caches(tmp_path) == {"l1": 48 * KIB, "l1_ways": 12, "l2": 2048 * KIB}
    assert read_caches(tmp_path / "nowhere") == {}
