"""The recorded parts of the spaces of layers: whole, small, and of the sketch as it is; those of a
GPU's template, of which many configs fail, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tunesmith.bench.compare.problems import TEMPLATE
from tunesmith.bench.compare.recorded_task import recorded_problem
from tunesmith.measure.recorded.recording import Recording, load_recording
from tunesmith.sketches.registry import SKETCHES

FOLDER = Path(__file__).parents[1] / "data" / "replay"
# The sketch, and the target.
KINDS = {"layers": ("cpu_tiled", "cpu"), "template": ("cuda_conv2d_opevo", "cuda")}
FILES = {
    f"{kind}/{path.parent.name}": path
    for kind in KINDS
    for path in sorted((FOLDER / kind).glob("*/*.json.gz"))
}
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def recording(name: str) -> Recording:
    return load_recording(FILES[name])


def test_there_are_all_layers_of_the_paper_and_a_product() -> None:
    layers = {*(f"layers/C{number}" for number in range(1, 13)), "layers/matmul-1024"}
    assert set(FILES) == layers | set(TEMPLATE)
    assert sum(path.stat().st_size for path in FILES.values()) < 3_000_000


def test_the_whole_part_is_recorded(name: str, recording: Recording) -> None:
    metadata = recording.metadata
    assert len(recording.configs) == recording.size == metadata["size"]
    kind, _, layer = name.partition("/")
    row = f"| `{layer}` | {metadata['size']:,} | {metadata['whole_size']:,} |"
    valid = np.isfinite(recording.seconds).mean()
    if kind == "template":
        assert f"{row} {valid:.0%} |".replace("%", " %") in README
    else:
        assert f"{row}\n" in README
        assert valid > 0.9
    for restriction in metadata["where"]:
        assert restriction in README


def test_it_is_of_a_task_and_a_sketch(name: str) -> None:
    sketch, kind = KINDS[name.partition("/")[0]]
    recorded = load_recording(FILES[name]).metadata["sketch"]
    assert recorded["name"] == sketch
    if recorded["version"] != SKETCHES.get(sketch).version:
        pytest.skip("the sketch has another version now")
    problem = recorded_problem(FILES[name])
    assert problem is not None
    assert (problem.sketch.name, problem.task.target.kind) == (sketch, kind)
    configs = load_recording(FILES[name]).configs
    assert all(problem.space.contains(config) for config in configs[:50])
