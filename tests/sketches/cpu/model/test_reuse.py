"""Bytes that loops bring into a cache, on nests whose reuse can be counted by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.model.processor import Caches, Core
from tunesmith.sketches.cpu.model.reuse import bytes_into, movement_cycles

KIB = 2**10


def totals(footprints: list[list[float]]) -> list[float]:
    return [sum(column) for column in zip(*footprints, strict=True)]


# for i in 10: for j in 100: read a[i] (8 bytes each), b[j] (8 bytes each)
TRIPS = [10, 100]
A, B = [80.0, 8.0, 8.0], [800.0, 800.0, 8.0]


def test_what_fits_as_a_whole_is_there_from_the_call_before() -> None:
    assert bytes_into(1000, TRIPS, [A, B], totals([A, B])) == 0


def test_a_tensor_is_brought_anew_by_each_loop_outside_of_what_fits() -> None:
    # A row of b fits with an element of a: b stays while i moves, a is read once.
    assert bytes_into(850, TRIPS, [A, B], totals([A, B])) == 80 + 800
    # Only a single step fits: b is read anew for each i. a[i] stays while j moves.
    assert bytes_into(100, TRIPS, [A, B], totals([A, B])) == 80 + 800 * 10


def test_where_no_step_fits_every_read_comes_from_outside() -> None:
    assert bytes_into(10, TRIPS, [A, B], totals([A, B])) >= (8 + 8) * 1000


def test_neighbours_share_lines() -> None:
    """Scalars of a row, 16 a line: the loop along the row brings each line once."""
    row = [4096.0, 64.0]
    assert bytes_into(100, [1024], [row], totals([row])) == 4096


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.floats(1, 1e5), st.floats(1.0, 4.0))
def test_a_larger_cache_never_brings_more(trips: list[int], size: float, more: float) -> None:
    footprint = [8.0]
    for trip in reversed(trips):
        footprint.insert(0, footprint[0] * trip)
    small = bytes_into(size, trips, [footprint], totals([footprint]))
    large = bytes_into(size * more, trips, [footprint], totals([footprint]))
    assert 0 <= large <= small


def test_cycles_count_each_byte_where_it_comes_from() -> None:
    core = Core(l2_bytes=32, l3_bytes=16, memory_bytes=4)
    machine = Machine(1, 32, 16, core, Caches(l1=4 * KIB, l2=16 * KIB, l3=64 * KIB), 1e9)
    # 8 KiB fit L2 but not L1: they come from L2 in each of 10 rounds.
    assert movement_cycles(machine, [10, 8], [[8192, 8192, 1024]]) == 81920 / 32
    # 32 KiB come from L3.
    assert movement_cycles(machine, [10, 32], [[32768, 32768, 1024]]) == 327680 / 16
    # What crowds in few sets of L1 comes from L2 although it is small.
    assert movement_cycles(machine, [10, 8], [[512, 512, 64]]) == 0
    crowded = movement_cycles(machine, [10, 8], [[512, 512, 64]], [[8192, 8192, 64]])
    assert crowded == 5120 / 32
