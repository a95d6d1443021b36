"""Sizes that the papers and the recorded spaces give."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tunesmith.space import Categorical, Factorization, Ordinal, Parameter, Space, read_t1

REPLAY = Path(__file__).parents[3] / "shared/data/replay"


def split(**tilings: tuple[int, int]) -> list[Parameter]:
    return [Factorization(name, product, parts) for name, (product, parts) in tilings.items()]


@pytest.mark.parametrize(("length", "size"), [(512, 484_000), (1024, 899_756), (2048, 1_589_952)])
def test_matmul_of_the_neighbourhood_tuners(length: int, size: int) -> None:
    space = Space(split(m=(length, 4), k=(length, 2), n=(length, 4)))
    assert space.size == size
    assert space.cartesian_size == size


@pytest.mark.parametrize(
    ("width", "channels", "size"),
    [(56, 64, 90_316_800), (28, 128, 36_864_000), (14, 256, 9_123_840), (7, 512, 844_800)],
    ids=["C2", "C6", "C9", "C12"],
)
def test_cuda_conv2d_of_resnet(width: int, channels: int, size: int) -> None:
    space = Space(
        [
            *split(tile_f=(channels, 4), tile_y=(width, 4), tile_x=(width, 4)),
            *split(tile_rc=(channels, 2), tile_ry=(3, 2), tile_rx=(3, 2)),
            Ordinal("auto_unroll", [0, 512, 1500]),
            Categorical("unroll_explicit", [0, 1]),
        ]
    )
    assert space.size == size


@pytest.mark.parametrize(
    ("m", "k", "n", "size"),
    [
        (512, 1024, 1024, 4_152_720),
        (512, 1024, 4096, 6_606_600),
        (512, 4096, 1024, 5_725_720),
    ],
)
def test_matmul_of_opevo(m: int, k: int, n: int, size: int) -> None:
    assert Space(split(k=(k, 3), x=(m, 4), y=(n, 4))).size == size


@pytest.mark.parametrize(
    ("k", "y", "size"), [(128, 64, 10_160_640), (64, 128, 11_289_600)], ids=["NN and TN", "NT"]
)
def test_batch_matmul_of_opevo(k: int, y: int, size: int) -> None:
    assert Space(split(b=(960, 2), k=(k, 3), x=(128, 4), y=(y, 4))).size == size


@pytest.mark.parametrize(
    ("filters", "width", "channels", "kernel", "size"),
    [(64, 55, 3, 11, 1_032_192), (192, 27, 64, 5, 22_579_200)],
)
def test_conv2d_of_opevo(filters: int, width: int, channels: int, kernel: int, size: int) -> None:
    space = Space(
        [
            *split(f=(filters, 4), y=(width, 4), x=(width, 4)),
            *split(rc=(channels, 2), ry=(kernel, 2), rx=(kernel, 2)),
            Ordinal("unroll_step", [0, 125, 256]),
            Categorical("unroll_explicit", [0, 1]),
        ]
    )
    assert space.size == size


@pytest.mark.parametrize(
    ("name", "size", "cartesian"), [("convolution", 4362, 10240), ("dedispersion", 11130, 22272)]
)
def test_recorded_spaces(name: str, size: int, cartesian: int) -> None:
    path = REPLAY / name / "space.T1.json"
    if not path.exists():
        pytest.skip("the recorded spaces are not beside this checkout")
    space = read_t1(path)
    assert space.size == size
    assert space.cartesian_size == cartesian
    numbers = [space.index_of(config) for config in space.enumerate()]
    assert len(numbers) == size
    assert numbers == sorted(set(numbers))


def test_sizes_beyond_machine_words_are_exact() -> None:
    space = Space([Factorization(f"t{axis}", 1 << 40, 20) for axis in range(4)])
    assert space.size == math.comb(59, 19) ** 4
    last = space.config_at(space.size - 1)
    assert space.index_of(last) == space.size - 1
