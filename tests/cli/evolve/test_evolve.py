"""``tunesmith evolve``: runs for real, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.command import TUNESMITH
from tests.cli.conftest import Command
from tests.evolve.kernels import WASTEFUL
from tests.patience import PATIENCE

pytest.importorskip("deap", reason="DEAP is not installed")
pytest.importorskip("numba", reason="Numba is not installed")

TESTS = """
import numpy as np

def case(size):
    return np.ones(1, np.float32), np.zeros(size, np.float32), size

tests = [case(20_000)]

def heldout():
    yield case(3000)
"""

KERNEL = """
from numba import njit

@njit
def double(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0

def single(x):
    x[0] = 1.0

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.ll").write_text(WASTEFUL)
    (tmp_path / "cases.py").write_text(TESTS)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "array.py").write_text(
        "import numpy as np\ntests = [(np.arange(2000, dtype=np.float32),)]\n"
        "def error(outputs, golden):\n    return float(abs(outputs[0] - golden[0]).mean())\n"
    )
    return tmp_path


def words(folder: Path, *more: object) -> list[object]:
    return [
        *("evolve", folder / "kernel.ll", "--entry", "kernel", "--test", folder / "cases.py"),
        *("--population", 6, "--workers", 2, "--store", folder / "records.db", "--exact", *more),
    ]


def test_llvm_code_becomes_faster(folder: Path, command: Command) -> None:
    ran = command(
        *words(folder, "--trials", 120, "-o", folder / "out", "--report", folder / "page.html")
    )
    assert ran.code == 0, ran.err
    head, names, *_ = ran.out.splitlines()
    assert head.startswith("kernel: ")
    assert head.endswith("× faster than the original, with the same output")
    assert names.split() == ["speed-up", "error", "held", "out:", "speed-up", "error", "edits"]
    assert any(line.startswith("-") and "@waste" in line for line in ran.out.splitlines())
    assert "edits of program 1:\n  " in ran.out
    assert "generation 0" in ran.err and "valid" in ran.err
    written = sorted(path.name for path in (folder / "out").iterdir())
    assert written[:2] == ["kernel-1.ll", "kernel-1.o"]
    assert (folder / "out" / "kernel-1.o").read_bytes().startswith(b"\x7fELF")
    assert "define" in (folder / "out" / "kernel-1.ll").read_text()
    assert "Program 1" in (folder / "page.html").read_text()
    assert max(len(line) for line in ran.out.splitlines() if str(folder) not in line) <= 100


def test_one_json_object_and_on_from_there(folder: Path, command: Command) -> None:
    first = command(*words(folder, "--trials", 100, "--json")).json
    assert first["stopped"] == "trials"
    assert first["points"][0]["speedup"] > 1.3
    assert first["points"][0]["words"] and first["points"][0]["difference"]
    assert first["points"][0]["error"] == first["points"][0]["heldout_error"] == 0
    again = command(*words(folder, "--trials", 3, "--json")).json
    assert again["evaluations"] < 15
    assert again["points"][0]["speedup"] > 1.3


def test_a_numba_function_with_an_error_of_its_own(folder: Path, command: Command) -> None:
    ran = command(
        *("evolve", f"{folder / 'kernel.py'}:double", "--test", folder / "array.py"),
        *("--trials", 30, "--population", 6, "--store", folder / "records.db", "--error", 1000),
        "--json",
    )
    assert ran.json["name"] == "double"
    assert ran.json["evaluations"] >= 30
    assert json.dumps(ran.json["outcomes"])
    assert any(each.startswith("no test is held out") for each in ran.json["doubts"])


def test_the_best_kernel_of_a_task(folder: Path, command: Command) -> None:
    matmul = ("matmul", "--m", 32, "--n", 32, "--k", 32, "--cores", 1)
    place = folder / "records.db"
    tuned = command("tune", *matmul, "--trials", 2, "--store", place, "--no-prior", "--json")
    assert tuned.code == 0, tuned.err
    ran = command(
        *("evolve", *matmul, "--from-best", "--store", place, "--exact", "--trials", 10),
        *("--population", 4, "--workers", 2, "--json"),
    )
    assert ran.json["name"] == "matmul"
    assert ran.json["evaluations"] >= 10
    refused = command("evolve", *matmul, "--from-best", "--test", folder / "cases.py")
    assert refused.complaint.startswith("a tuned kernel has tests and an entry of its own")


def test_a_kernel_whose_weights_are_laid_out_beforehand_is_refused(
    folder: Path, command: Command
) -> None:
    place = folder / "records.db"
    shape = ("--ci", 8, "--co", 8, "--h", 8, "--w", 8, "--kernel", 3, "--cores", 1)
    conv2d = ("conv2d", *shape, "--constant-weights", "--store", place)
    # It transforms the weights, whatever its config.
    tuned = command("tune", *conv2d, "--sketch", "cpu_winograd", "--trials", 1, "--no-prior")
    assert tuned.code == 0, tuned.err
    refused = command("evolve", *conv2d, "--from-best")
    *_, complaint = refused.err.splitlines()
    assert complaint.startswith("tunesmith: a kernel whose weights are laid out beforehand")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["-o", "taken"], "cannot make the folder"),
        (["--report", "nowhere/page.html"], "cannot write"),
        (["--report", "."], "cannot write"),
    ],
)
def test_places_that_cannot_be_written_are_told_before_the_search(
    given: list[str], complaint: str, folder: Path, command: Command
) -> None:
    (folder / "taken").write_text("a file")
    option, place = given
    begun = time.monotonic()
    ran = command(*words(folder, "--seconds", 600, option, folder / place))
    assert ran.code == 2
    assert ran.complaint.startswith(complaint)
    assert time.monotonic() - begun < PATIENCE


def test_ctrl_c_keeps_what_was_found(folder: Path) -> None:
    line = [*TUNESMITH, *map(str, words(folder, "--seconds", 600))]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stderr is not None
        deadline = time.monotonic() + PATIENCE
        while "front: " not in process.stderr.readline() and time.monotonic() < deadline:
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "kernel: " in out
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "tunesmith: interrupted; every finished trial is saved"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "name a program: FILE.py:FUNCTION, FILE.ll, FILE.mlir or --from-best"),
        (["kernel.ll", "--m", "3"], "no such option: --m (see 'tunesmith evolve --help')"),
        (["kernel.ll", "--layer", "resnet18.C1"], "--layer and --config name a task"),
        (["kernel.ll", "--cores", "2"], "--cores is about a task: it goes with --from-best"),
        (["kernel.ll", "--target", "cuda"], "--target is about a task: it goes with --from-best"),
        (["kernel.ll"], "there are no tests: name a Python file with --test"),
        (
            ["kernel.ll", "--test", "cases.py"],
            "name the function of kernel.ll to evolve with --entry",
        ),
        (
            ["kernel.ll", "--test", "cases.py", "--entry", "kernels"],
            "there is no function 'kernels' in the module: it defines waste, kernel",
        ),
        (
            ["kernel.py", "--test", "cases.py"],
            "kernel.py names no function: write kernel.py:FUNCTION",
        ),
        (["kernel.py:number", "--test", "cases.py"], "kernel.py has no function 'number'"),
        (["nowhere.py:f", "--test", "cases.py"], "there is no file nowhere.py"),
        (["kernel.ll", "--test", "nowhere.py", "--entry", "k"], "there is no file nowhere.py"),
        (
            ["kernel.c", "--test", "cases.py"],
            "kernel.c is nothing to evolve: name a Numba function, FILE.py:NAME; LLVM-IR, FILE.ll "
            "with --entry; or StableHLO, FILE.mlir",
        ),
        (
            ["kernel.ll", "--test", "kernel.py", "--entry", "kernel"],
            "kernel.py has no tests: a list, or a function that returns one",
        ),
        (
            ["kernel.py:double", "--test", "array.py", "--error", "-1"],
            "error must be 0 or more, not -1",
        ),
        (
            ["kernel.py:double", "--test", "array.py", "--population", "2"],
            "population must be 4 or more, not 2",
        ),
        (
            ["kernel.py:double", "--test", "array.py", "--trials", "0"],
            "budget: trials must be positive, not 0",
        ),
    ],
)
def test_requests_that_make_no_sense(
    given: list[str],
    complaint: str,
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    ran = command("evolve", *given, "--store", folder / "records.db")
    assert ran.code == 2
    assert ran.complaint.startswith(complaint)


def test_files_that_fail(folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "broken.py").write_text("import nothing_of_this_name\n")
    (folder / "raises.py").write_text("def tests():\n    raise ValueError('of its own')\n")
    (folder / "broken.ll").write_text("define void @f( {")
    (folder / "wrong.py").write_text("tests = [(1, 2)]\n")
    line = ("evolve", "kernel.ll", "--entry", "kernel", "--store", folder / "records.db", "--test")
    assert command(*line, "broken.py").complaint.startswith(
        "cannot load broken.py: ModuleNotFoundError: No module named 'nothing_of_this_name'"
    )
    assert command(*line, "raises.py").complaint.endswith("failed: ValueError: of its own")
    assert command(*line, "wrong.py").complaint == ("the kernel takes 3 arguments, not 2")
    (folder / "number.py").write_text("tests = 3\n")
    assert (
        " failed: TypeError: 'int' object is not iterable" in command(*line, "number.py").complaint
    )
    (folder / "none.py").write_text("tests = None\n")
    assert command(*line, "none.py").complaint.startswith("there is no test")
    assert command(
        "evolve", "broken.ll", "--entry", "f", "--test", "cases.py"
    ).complaint.startswith("this is no LLVM-IR: ")
