"""How many blocks a multiprocessor runs at a time, and with how many registers."""

from __future__ import annotations

import pytest

from tunesmith.cuda.multiprocessors import capability, multiprocessor


def test_the_number_in_the_name_of_an_instruction_set() -> None:
    assert [capability(name) for name in ("sm_90", "sm_90a", "sm_100f")] == [90, 90, 100]


@pytest.mark.parametrize("warps", range(1, 33))
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_90"])
def test_a_block_runs_with_the_most_registers_and_no_more(arch: str, warps: int) -> None:
    known = multiprocessor(arch)
    assert known is not None
    most = known.most_registers(warps * 32)
    assert known.blocks_at_a_time(warps * 32, most, 0) >= 1
    assert most == 255 or known.blocks_at_a_time(warps * 32, most + 1, 0) == 0


def test_a_part_of_a_warp_takes_a_whole_one() -> None:
    known = multiprocessor("sm_90")
    assert known is not None
    assert known.most_registers(33 * 8) == known.most_registers(9 * 32) == 168
    assert known.blocks_at_a_time(1, 32, 0) == 32
