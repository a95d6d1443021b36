"""The recorded spaces that are in the repository: whole, small, and worth searching."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tunesmith.bench.compare.simulated import RecordedSpace, simulate
from tunesmith.bench.papers.space_analysis import expected_best, speed_shares
from tunesmith.bench.recording.part import recorded_part
from tunesmith.measure.recorded.recording import Recording, load_recording
from tunesmith.measurement import Outcome
from tunesmith.operators import parse_operator
from tunesmith.space import Constraint, Space
from tunesmith.tuners.auto import Auto

FOLDER = Path(__file__).parents[1] / "data" / "replay"
SAMPLES = FOLDER.parent / "samples"
FILES = {
    path.parent.relative_to(FOLDER).as_posix(): path
    for pattern in ("*/*.json.gz", "sparse/*/*.json.gz")
    for path in sorted(FOLDER.glob(pattern))
}
LARGEST_FILE = 3_000_000
SEEDS = range(8)
TRIALS = 150


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def recording(name: str) -> Recording:
    return loaded(name)


@cache
def loaded(name: str) -> Recording:
    """Tests that follow each other have the same one."""
    return load_recording(FILES[name])


# The operator and the sketch of each.
KINDS = {
    "conv2d": ("conv2d", "cpu_tiled"),
    "depthwise": ("depthwise_conv2d", "cpu_depthwise"),
    "gemm": ("matmul", "cpu_gemm_424"),
    "gemm-64": ("matmul", "cpu_gemm_424"),
    "gemm-limited": ("matmul", "cpu_gemm_424"),
    "winograd": ("conv2d", "cpu_winograd"),
    "sparse/direct": ("conv2d", "cpu_direct"),
    "sparse/gemm": ("matmul", "cpu_gemm"),
}
# All of the sketch's space is recorded.
WHOLE = {"depthwise", "gemm-64"}
# How many configs failed, at least and at most: none, but for what was too slow.
FAILED = {"gemm-limited": (0.05, 0.5)}


def test_there_are_spaces_of_several_kinds() -> None:
    described = {name: load_recording(path).metadata for name, path in FILES.items()}
    assert {
        name: (it["operator"]["operator"], it["sketch"]["name"]) for name, it in described.items()
    } == KINDS


def test_the_whole_space_is_recorded_in_a_small_file(name: str, recording: Recording) -> None:
    assert FILES[name].stat().st_size <= LARGEST_FILE
    assert len(recording.configs) == recording.size
    assert 1_500 <= len(recording.configs) <= 50_000
    least, most = FAILED.get(name, (0.0, 0.01))
    assert least <= (recording.outcomes != Outcome.NO_ERROR.value).mean() <= most
    assert np.all(recording.costs > 0)


def test_it_says_what_was_measured_where(name: str, recording: Recording) -> None:
    metadata = recording.metadata
    operator = parse_operator(metadata["operator"]["operator"], metadata["operator"]["options"])
    assert metadata["task"].startswith(operator.name)
    assert metadata["machine"]["cpu"] and metadata["versions"]["apache-tvm"]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    count = f"{len(recording.configs):,}"
    for words in (f"data/replay/{name}/{FILES[name].name}", metadata["machine"]["cpu"], count):
        assert words in readme
    space = Space(recording.space.parameters)
    assert space.size >= len(recording.configs)


def test_which_part_of_its_space_it_is(name: str, recording: Recording) -> None:
    """Told from the sketch for as long as this has the recorded version."""
    part, readme = recorded_part(recording), (FOLDER / "README.md").read_text(encoding="utf-8")
    if part["where"] is None:
        pytest.skip("the sketch has another version now")
    assert bool(part["where"]) == (name not in WHOLE)
    assert f"of {part['whole_size']:,} configs" in " ".join(readme.split())
    for restriction in part["where"]:
        assert restriction in readme


@pytest.mark.parametrize("sparse", ["sparse/direct", "sparse/gemm"])
def test_few_combinations_are_configs_of_a_sparse_space(sparse: str) -> None:
    recording = load_recording(FILES[sparse])
    free = Space(recording.space.parameters, map(Constraint, recording.metadata["where"]))
    configs = len(recording.configs)
    assert configs < 0.1 * free.size
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{configs:,}, of {free.size:,} combinations" in readme
    assert f"{100 * configs / free.size:.1f}" in readme


def test_searching_it_beats_chance(recording: Recording) -> None:
    """By more than the spread of the mean; random search's mean is known exactly."""
    recorded, best = RecordedSpace(recording), recording.seconds.min()
    found = [
        best / simulate(Auto(), recorded, seed, trials=TRIALS, clock=lambda: 0.0).found
        for seed in SEEDS
    ]
    spread = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) - 2 * spread > expected_best(speed_shares(recording.seconds), TRIALS)


def test_a_sample_of_the_template_that_the_nose_paper_measured() -> None:
    (path,) = SAMPLES.glob("*/*.json.gz")
    found = load_recording(path)
    assert path.stat().st_size <= LARGEST_FILE
    assert found.metadata["sketch"]["name"] == "cuda_conv2d_opevo"
    assert found.metadata["machine"]["device"] == "NVIDIA H200"
    assert (found.size, len(found.configs)) == (844_800, 2_000)
    failed = found.outcomes != Outcome.NO_ERROR.value
    assert 0.5 < failed.mean() < 0.8
    assert found.costs[failed].sum() < 0.2 * found.costs.sum()
