"""Where an operand's elements lie in shared memory, and what ``wgmma`` is told of it."""

from __future__ import annotations

import itertools

import pytest

from tunesmith.operators import matmul
from tunesmith.sketches.cuda.wgmma.gemm_sketch import CudaWgmmaGemm
from tunesmith.sketches.cuda.wgmma.operand_tile import ALIGNMENT, OperandTile
from tunesmith.space import Ordinal
from tunesmith.target import Target

TILES = [
    OperandTile.of(128, 64, along_depth=True),
    OperandTile.of(64, 32, along_depth=True),
    OperandTile.of(64, 128, along_depth=True),
    OperandTile.of(64, 256, along_depth=False),
    OperandTile.of(32, 96, along_depth=False),
    OperandTile.of(32, 16, along_depth=False),
]


def fields(tile: OperandTile) -> dict[str, int]:
    """The parts of a descriptor, offsets in bytes ("Matrix Descriptor Format")."""
    told = tile.high_word << 32 | tile.low_word

    def part(first: int, last: int) -> int:
        return told >> first & ((1 << last - first + 1) - 1)

    return {
        "start": part(0, 13) * 16,
        "leading": part(16, 29) * 16,
        "stride": part(32, 45) * 16,
        "base": part(49, 51),
        "mode": part(62, 63),
        "other": part(14, 15) | part(30, 31) | part(46, 48) | part(52, 61),
    }


@pytest.mark.parametrize(
    ("tile", "mode", "stride", "leading"),
    [
        (TILES[0], 1, 1024, 16),
        (TILES[1], 2, 512, 16),
        (TILES[2], 1, 1024, 16),
        (TILES[3], 1, 1024, 64 * 128),
        (TILES[4], 2, 512, 32 * 64),
        (TILES[5], 3, 256, 32 * 32),
    ],
)
def test_the_descriptor_says_the_layout(
    tile: OperandTile, mode: int, stride: int, leading: int
) -> None:
    assert fields(tile) == {
        "start": 0,
        "leading": leading,
        "stride": stride,
        "base": 0,
        "mode": mode,
        "other": 0,
    }


@pytest.mark.parametrize("tile", TILES)
def test_elements_lie_where_the_hardware_looks_for_them(tile: OperandTile) -> None:
    """By the canonical layouts of the PTX ISA: offsets in bytes, of which some bits change."""
    told = fields(tile)
    width = {1: 128, 2: 64, 3: 32}[told["mode"]]
    sizes = (tile.rows, tile.columns) if tile.along_depth else (tile.columns, tile.rows)
    for part in range(0, sizes[0], 64):  # what the instructions of a tile read
        for step in range(0, sizes[1], 16):
            start = tile.start(part, step) * 16
            for along in range(min(64, sizes[0] - part)):
                for depth in range(16):
                    if tile.along_depth:
                        offset = along // 8 * told["stride"] + along % 8 * width + 2 * depth
                    else:
                        block, within = divmod(2 * along, width)
                        offset = block * told["leading"] + within
                        offset += depth // 8 * told["stride"] + depth % 8 * width
                    address = start + offset
                    address ^= (address >> 7 & (width // 16 - 1)) << 4
                    place = (part + along, step + depth)
                    row, column = place if tile.along_depth else place[::-1]
                    assert 2 * (tile.place(row, column // 8) + column % 8) == address


@pytest.mark.parametrize("tile", TILES)
def test_chunks_have_a_place_each(tile: OperandTile) -> None:
    places = {
        tile.place(row, chunk) for row in range(tile.rows) for chunk in range(tile.columns // 8)
    }
    assert places == set(range(0, tile.elements, 8))


def test_tiles_of_the_space_begin_where_they_have_to() -> None:
    """Each is a multiple of that, so the next one does, too."""
    target = Target("cuda", arch="sm_90")
    space = CudaWgmmaGemm().space(matmul(m=512, n=512, k=512, dtype="float16"), target)
    values = {each.name: each.values for each in space.parameters if isinstance(each, Ordinal)}
    sizes = {*values["block_m"], *values["block_n"]}
    assert len(sizes) >= 6
    for size, depth in itertools.product(map(int, sizes), map(int, values["block_k"])):
        assert OperandTile.of(size, depth, along_depth=True).elements * 2 % ALIGNMENT == 0
        assert OperandTile.of(depth, size, along_depth=False).elements * 2 % ALIGNMENT == 0
