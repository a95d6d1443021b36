"""The instructions of a GPU that loops and stores cannot say: tensor cores, asynchronous copies.

They are those of PTX, by their names there. What a warp does together must be reached by all of
its threads, so none of it stands inside a condition that they might see differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# The types of the products that the instruction sums in float32, by TVM's name.
PTX_TYPES = {"float16": "f16", "bfloat16": "bf16"}


@contextmanager
def launch(index: str, extent: int) -> Iterator[Any]:
    """Around the code of a grid or a block; yields the number of a block or a thread.

    ``index`` is CUDA's name of it, such as ``threadIdx.x``.
    """
    with _builder().launch_thread(index, extent) as variable:
        yield variable


def load_matrices(registers: Sequence[Any], address: Any, *, transposed: bool) -> None:
    """``ldmatrix``: four 8x8 matrices of 16-bit elements, of which each thread names a row.

    Threads 8i to 8i+7 give the addresses of the rows of matrix i, 16 bytes each; every thread
    gets two neighbours of each matrix, of a row or, ``transposed``, of a column (PTX ISA,
    "Warp-level matrix load instruction").
    """
    turned = ".trans" if transposed else ""
    ptx(f"ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16", *registers, address)


def multiply_add(
    dtype: str, sums: Sequence[Any], left: Sequence[Any], right: Sequence[Any]
) -> None:
    """``mma``: sums of 16x8 in float32, plus 16x16 times 16x8, in the registers of a warp.

    A thread holds four of the sums, and eight and four elements of the factors, two to a register
    (PTX ISA, "Matrix fragments for mma.m16n8k16").
    """
    kind = PTX_TYPES[dtype]
    name = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32"
    ptx(name, *sums, *left, *right, *sums)


def copy_async(target: Any, source: Any, size: int, present: Any | None) -> None:
    """``cp.async``: begin to copy 4, 8 or 16 bytes to shared memory; zeros where not ``present``.

    Those of 16 bytes leave the first level of the cache alone.
    """
    from tvm import tirx

    name = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global"
    if present is None:
        ptx(name, target, source, size)
        return
    bytes_read = tirx.Select(present, tirx.const(size, "uint32"), tirx.const(0, "uint32"))
    ptx(name, target, source, size, bytes_read)


def commit_copies() -> None:
    """All copies that this thread began since the last time are one group."""
    ptx("cp.async.commit_group")


def wait_for_copies(pending: int) -> None:
    """Until no more than so many of this thread's latest groups of copies are under way."""
    ptx("cp.async.wait_group", pending)


def block_barrier() -> None:
    """Until all threads of the block are here."""
    t = _builder()
    t.evaluate(t.tvm_storage_sync("shared"))


def warp_barrier() -> None:
    """Until all threads of the warp are here."""
    from tvm.script import tirx as script

    _builder().evaluate(script.cuda.warp_sync())


def address(buffer: Any, index: Any) -> Any:
    """Where an element of a buffer of one dimension lies."""
    return _builder().address_of(buffer[index])


def shared_address(buffer: Any, index: Any) -> Any:
    """Where an element lies in shared memory, as a number of 32 bits."""
    from tvm.script import tirx as script

    return script.cuda.cvta_generic_to_shared(address(buffer, index))


def view(buffer: Any, size: int, dtype: str) -> Any:
    """The same shared memory as so many elements of another type."""
    return _builder().decl_buffer((size,), dtype, data=buffer.data, scope="shared.dyn")


def ptx(name: str, *operands: Any) -> None:
    """A statement of PTX, for what has no function here."""
    from tvm.script import tirx as script

    _builder().evaluate(script.ptx[name](*operands))


def _builder() -> Any:
    from tvm.tirx.script.builder import ir

    return ir
