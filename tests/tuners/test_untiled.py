"""In which recorded spaces the searches that begin at the untiled config find one."""

from __future__ import annotations

from pathlib import Path

from tunesmith.measure.recorded.recording import load_recording
from tunesmith.tuners.untiled import untiled_config

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "data" / "replay"
AT_RANDOM = {
    "conv2d",
    "gemm",
    *(f"layers/C{number}" for number in range(1, 10)),
    "layers/matmul-1024",
    *("sparse/direct", "sparse/gemm"),
}


def test_the_spaces_where_the_start_is_random_are_those_of_the_docs() -> None:
    spaces = {
        path.parent.relative_to(FOLDER).as_posix(): load_recording(path).space
        for path in FOLDER.glob("**/*.json.gz")
    }
    assert {name for name, space in spaces.items() if untiled_config(space) is None} == AT_RANDOM
    words = " ".join((ROOT / "docs" / "tuners.md").read_text(encoding="utf-8").split())
    assert (
        "That happens in the recorded `conv2d`, `gemm`, `layers/C1` to `C9`, `layers/matmul-1024` "
        "and both of `sparse`" in words
    )
