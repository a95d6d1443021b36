"""Instructions of GPUs that TIR's loops and stores have no words for: tensor cores, async copies.

They are those of PTX, by their names there. All threads of a warp must reach an instruction of the
warp: none may be in a branch that its threads take differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# The types of the elements whose products the instruction sums in float32, by TVM's name.
PTX_TYPES = {"float16": "f16", "bfloat16": "bf16"}


@contextmanager
def launch(index: str, extent: int) -> Iterator[Any]:
    """Around the code of a grid or a block; yields the number of a block or a thread.

    ``index`` is CUDA's name of it, such as ``threadIdx.x``.
    """
    with _builder().launch_thread(index, extent) as variable:
        yield variable


def load_matrices(registers: Sequence[Any], address: Any, *, transposed: bool) -> None:
    """``ldmatrix``: four 8x8 matrices of 16-bit elements; each thread has the address of a row.

    Threads 8i to 8i+7 have the addresses of the rows of matrix i, 16 bytes each; every thread
    gets two neighbours of each matrix, of a row or, ``transposed``, of a column (PTX ISA,
    "Warp-level matrix load instruction").
    """
    turned = ".trans" if transposed else ""
    ptx(f"ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16", *registers, address)


def multiply_add(
    dtype: str, sums: Sequence[Any], left: Sequence[Any], right: Sequence[Any]
) -> None:
    """``mma``: sums of 16x8 in float32, plus 16x16 times 16x8, in the registers of a warp.

    A thread holds four of the sums, and eight and four elements of the operands, two to a register
    (PTX ISA, "Matrix fragments for mma.m16n8k16").
    """
    kind = PTX_TYPES[dtype]
    name = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32"
    ptx(name, *sums, *left, *right, *sums)


def copy_async(target: Any, source: Any, size: int, present: Any | None) -> None:
    """``cp.async``: begin to copy 4, 8 or 16 bytes to shared memory; zeros where not ``present``.

    Those of 16 bytes bypass the L1 cache.
    """
    from tvm import tirx

    name = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global"
    if present is None:
        ptx(name, target, source, size)
        return
    bytes_read = tirx.Select(present, tirx.const(size, "uint32"), tirx.const(0, "uint32"))
    ptx(name, target, source, size, bytes_read)


def commit_copies() -> None:
    """Make a group of all copies that this thread began since the last one."""
    ptx("cp.async.commit_group")


def wait_for_copies(pending: int) -> None:
    """Wait until at most ``pending`` of this thread's latest groups of copies are in flight."""
    ptx("cp.async.wait_group", pending)


def block_barrier() -> None:
    """Wait for all threads of the block."""
    t = _builder()
    t.evaluate(t.tvm_storage_sync("shared"))


def warp_barrier() -> None:
    """Wait for all threads of the warp."""
    from tvm.script import tirx as script

    _builder().evaluate(script.cuda.warp_sync())


def address(buffer: Any, index: Any) -> Any:
    """The address of an element of a buffer of one dimension."""
    return _builder().address_of(buffer[index])


def shared_address(buffer: Any, index: Any) -> Any:
    """The address of an element in shared memory, as a number of 32 bits."""
    from tvm.script import tirx as script

    return script.cuda.cvta_generic_to_shared(address(buffer, index))


def view(buffer: Any, size: int, dtype: str) -> Any:
    """The same shared memory as ``size`` elements of another type."""
    return _builder().decl_buffer((size,), dtype, data=buffer.data, scope="shared.dyn")


def ptx(name: str, *operands: Any) -> None:
    """An instruction of PTX."""
    from tvm.script import tirx as script

    _builder().evaluate(script.ptx[name](*operands))


def _builder() -> Any:
    from tvm.tirx.script.builder import ir

    return ir
