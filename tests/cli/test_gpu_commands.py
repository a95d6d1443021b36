"""The commands on a machine with GPUs, emulated ones, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulated import needs_compiler
from tests.patience import PATIENCE
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.store import ANY_MACHINE, open_store
from tunesmith.testing.emulated_gpu import environment

pytestmark = [needs_compiler, pytest.mark.slow]

PRODUCT = ("matmul", "--m", "16", "--n", "16", "--k", "16", "--target", "cuda")
# The emulated GPU's compiler takes seconds, on a busy machine many.
PATIENTLY = ("--build-timeout", 120)
KEY = "matmul(m=16,n=16,k=16,bias=false,relu=false,residual=false,dtype=float32)@cuda"


def tunesmith(folder: Path, *words: object, **gpu: object) -> subprocess.CompletedProcess[str]:
    """Run the command where there is a GPU."""
    given = environment(**gpu)  # type: ignore[arg-type]
    given |= {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
    command = [str(Path(sys.executable).with_name("tunesmith")), *map(str, words)]
    return subprocess.run(
        command,
        env=given,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store ``t.db`` and a report of five trials."""
    folder = tmp_path_factory.mktemp("tuned")
    ran = tunesmith(
        folder, "tune", *PRODUCT, *("--trials", 5), *PATIENTLY, *("--store", "t.db"),
        *("--report", "r.html"),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "the GPU was idle for " in ran.stdout
    return folder


def test_records_name_the_gpu_and_its_state(tuned: Path) -> None:
    with open_store(tuned / "t.db") as store:
        records = list(store.records(KEY, machine=ANY_MACHINE))
    assert len(records) == 5
    assert {record.machine["device"] for record in records} == {"Emulated GPU"}
    states = {record.measurement.device_state for record in records if record.measurement.valid}
    assert None not in states


def test_a_run_is_resumed_on_its_gpu_and_not_on_the_processor(tuned: Path) -> None:
    ran = tunesmith(tuned, "tune", *PRODUCT, "--trials", 5, "--store", "t.db", "--json", gpus=1)
    assert json.loads(ran.stdout)["resumed"] == 5
    ran = tunesmith(tuned, "best", *PRODUCT[:-2], "--store", "t.db")
    assert ran.returncode == 2
    assert "nothing valid is recorded for " in ran.stderr


def test_the_report_tells_of_the_gpu(tuned: Path) -> None:
    page = (tuned / "r.html").read_text(encoding="utf-8")
    assert "Emulated GPU, 1,000 MHz, 41 °C" in page
    assert "The GPU was idle for " in page


def test_a_space_is_recorded_and_searched_anywhere(tuned: Path) -> None:
    output = tuned / "space" / "product.json.gz"
    words = ("--sketch", "gemm_424", "--sample", 6, "--store", "t.db", "-o", output)
    ran = tunesmith(tuned, "record", *PRODUCT, *words, *PATIENTLY)
    assert ran.returncode == 0, ran.stderr
    recording = load_recording(output)
    assert len(recording.configs) == 6
    search = ("--tuners", "random", "--repeats", 2, "--json")
    ran = tunesmith(tuned, "compare", "--problems", output, *search, gpus=0)
    assert ran.returncode == 0, ran.stderr


CALL = """
import sys
import numpy as np
from tunesmith.kernel.kernel import Kernel
kernel = Kernel.load(sys.argv[1])
inputs = kernel.operator.make_inputs(0)
np.testing.assert_allclose(kernel(*inputs), kernel.operator.reference(*inputs), 1e-4, 1e-4)
print(kernel.arch, kernel.config.key)
"""


def test_the_best_is_built_as_a_kernel_that_another_process_calls(tuned: Path) -> None:
    best = json.loads(tunesmith(tuned, "best", *PRODUCT, "--store", "t.db", "--json").stdout)
    words = ("--store", "t.db", "--output", "built.so", "--json")
    built = json.loads(tunesmith(tuned, "build", *PRODUCT, *words).stdout)
    assert built["config"] == best["best"]["config"]
    ran = subprocess.run(
        [sys.executable, "-c", CALL, str(tuned / built["files"]["library"])],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.startswith("sm_90 {"), ran.stderr


def test_without_a_gpu_there_is_a_line_and_no_store(tmp_path: Path) -> None:
    ran = tunesmith(tmp_path, "tune", *PRODUCT, "--store", "t.db", gpus=0)
    assert ran.returncode == 2
    assert ran.stderr.strip().splitlines()[-1].startswith("tunesmith: no NVIDIA GPU can be used: ")
    assert not (tmp_path / "t.db").exists()


def test_processors_are_tuned_for_beside_a_broken_gpu(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.touch()
    ran = tunesmith(tmp_path, "tune", *PRODUCT[:-2], "--trials", 2, "--store", "t.db", gone=gone)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "t.db").exists()
