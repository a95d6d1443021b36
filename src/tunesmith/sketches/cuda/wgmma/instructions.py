"""The instructions of a warpgroup: four warps that multiply what lies in shared memory.

They are asynchronous: until a product has been waited for, neither its operands nor the registers
of its sums may be accessed (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.sketches.cuda.limits import WARP
from tunesmith.sketches.cuda.mma.device import PTX_TYPES, ptx

WARPGROUP = 4 * WARP
"""Threads of four neighbouring warps, the first of which has a number divisible by four."""

ROWS = 64
"""Rows of the result of one instruction: 16 of each warp, in the order of ``mma``."""


def begin_product(
    dtype: str,
    sums: Sequence[Any],
    left: Any,
    right: Any,
    *,
    left_turned: bool,
    right_turned: bool,
) -> None:
    """``wgmma.mma_async``: begin to add 64x16 times 16xN to sums of 64xN in float32.

    A thread has N / 2 of the sums: four of each eight columns, as with ``mma``. ``left`` and
    ``right`` are descriptors of operands in shared memory; ``turned`` ones are contiguous along the
    result, not along the sum (PTX ISA, "Register Fragments", "wgmma.mma_async").
    """
    kind = PTX_TYPES[dtype]
    name = f"wgmma.mma_async.sync.aligned.m64n{2 * len(sums)}k16.f32.{kind}.{kind}"
    add, as_it_is = True, 1
    turned = int(left_turned), int(right_turned)
    ptx(name, *sums, left, right, add, as_it_is, as_it_is, *turned)


def order_registers() -> None:
    """``wgmma.fence``: before a product in registers that this thread has touched."""
    ptx("wgmma.fence.sync.aligned")


def commit_products() -> None:
    """Make a group of all products that were begun since the last one."""
    ptx("wgmma.commit_group.sync.aligned")


def wait_for_products(pending: int) -> None:
    """Wait until at most ``pending`` of the latest groups of products are in flight."""
    ptx("wgmma.wait_group.sync.aligned", pending)


def publish_copies() -> None:
    """``fence.proxy.async``: after a barrier, products see what this thread stored in shared
    memory, and the copies that it has waited for (PTX ISA, "Async proxy")."""
    ptx("fence.proxy.async.shared::cta")
