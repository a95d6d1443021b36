"""``tunesmith network build --triple``: built here, called on an emulated AArch64 system."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import Process, Ran
from tests.cli.conftest import Command
from tests.measure.remote.aarch64 import aarch64_python, needs_aarch64, needs_linker
from tests.networks.small import Residual, random_input, result_of, seeded, torch
from tunesmith.compiler.cross_linker import c_compiler_for
from tunesmith.compiler.libraries import architecture_of
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measurement import Measurement, Outcome
from tunesmith.networks import from_file
from tunesmith.networks.importing.pytorch import exported
from tunesmith.store import open_store
from tunesmith.target import Target

TRIPLE = ("--triple", "aarch64-linux-gnu")
BOARD = (*TRIPLE, "--mcpu", "cortex-a72", "--cores", 2)
DATA = (1, 3, 9, 9)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.pt2"
    torch.export.save(exported(seeded(Residual()), (random_input(*DATA),)), str(path))
    return path


@pytest.fixture
def library(command: Command, model: Path, store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "net.so"
    assert command("network", "build", model, *BOARD, "--store", store, "-o", path).code == 0
    return path


def there(*words: object, processor: str = "cortex-a72") -> Ran:
    """Run the command line on a board with a processor."""
    python, environment = aarch64_python()
    command = (*python, "-m", "tunesmith.cli.main")
    environment["QEMU_CPU"] = processor
    process = Process.start(words, command=command, env=environment)
    with process.cleaned_up():
        return process.wait()


@pytest.mark.slow
@needs_aarch64
def test_a_board_computes_what_the_model_does(library: Path, tmp_path: Path) -> None:
    data = random_input(*DATA)
    np.save(tmp_path / "data.npy", data.numpy())
    results = tmp_path / "results.npz"
    words = ("network", "run", library, "--input", tmp_path / "data.npy", "--calls", 2)
    ran = there(*words, "--output", results, "--json")
    assert ran.json["results"] == [[1, 5]]
    found = np.load(results)["output0"]
    expected = result_of(seeded(Residual()), data).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@needs_aarch64
def test_a_board_tells_where_the_time_of_a_call_goes(library: Path) -> None:
    """But not how far it is from its peak: LLVM, which knows the processor, is not there."""
    parts = there("network", "show", library, "--json").json["call"]["parts"]
    convolutions = [part for part in parts if (part["label"] or "").startswith("conv2d")]
    assert len(convolutions) == 2
    assert all(part["seconds"] > 0 and part["share_of_peak"] is None for part in convolutions)


@pytest.mark.slow
@needs_aarch64
def test_a_board_whose_processor_lacks_instructions(
    command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    library = tmp_path / "net.so"
    words = (*TRIPLE, "--mcpu", "neoverse-n1", "--cores", 2, "--store", store)
    assert command("network", "build", model, *words, "-o", library).code == 0
    ran = there("network", "run", library)
    assert (ran.code, ran.complaint) == (
        1,
        "the network was compiled for neoverse-n1 and needs dotprod, fullfp16, which this "
        "processor lacks: compile it here",
    )
    assert there("network", "run", library, processor="max").code == 0


@needs_linker
def test_what_is_said_of_a_build(
    command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    library = tmp_path / "net.so"
    ran = command("network", "build", model, *BOARD, "--store", store, "-o", library)
    assert ran.code == 0
    assert architecture_of(library) == "aarch64"
    reason = "the network is for aarch64-linux-gnu: save it, and load it on such a machine"
    assert ran.out.splitlines()[-1] == f"not compared with the source: {reason}"
    for_python = "without a C compiler for aarch64-linux-gnu the library is for Python alone: "
    compiled = c_compiler_for("aarch64") is not None
    assert (for_python in ran.err) != compiled
    assert (b"tunesmith_missing_instructions" in library.read_bytes()) == compiled
    again = command("network", "build", model, *BOARD, "--store", store, "-o", library, "--json")
    found = again.json
    assert (found["relative_error"], found["unchecked"]) == (None, reason)


def measured(model: Path, store: Path) -> tuple[str, float]:
    """Have a board measure the default and another program of a task; its key, and the best time.

    The board is none: only its records count here.
    """
    network = from_file(model, target=Target("cpu", "cortex-a72", 2, triple=TRIPLE[1]))
    task = next(task for task in network.tasks if task.operator.name == "conv2d")
    problem = problems_of(task)[0]
    other = next(
        config
        for config in problem.space.sample_many(20, np.random.default_rng(0))
        if config != problem.default
    )
    name, version = problem.sketch.name, problem.sketch.version
    with open_store(store) as opened:
        session = opened.begin_session(
            task.key,
            tuner="random",
            seed=0,
            sketch=name,
            sketch_version=version,
            machine={"fingerprint": "board", "cpu": "a board", "cores": 4},
        )
        for config, seconds in ((problem.default, 3e-3), (other, 2e-3)):
            trial = Measurement(config, Outcome.NO_ERROR, (seconds,), sketch=name)
            opened.append(session, [trial])
    return task.key, 2e-3


@needs_linker
def test_what_a_device_has_measured_is_built(
    command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    key, seconds = measured(model, store)
    place = ("--store", store)
    build = ("network", "build", model, *BOARD, *place, "-o", tmp_path / "net.so", "--json")
    assert command(*build).json["stored_tasks"] == 1
    shown = command("network", "show", model, *BOARD, *place, "--json").json["tasks"]
    assert {row["task"]: row["seconds"] for row in shown if row["seconds"]} == {key: seconds}
    page = tmp_path / "page.html"
    assert command("network", "report", model, *BOARD, *place, "-o", page).code == 0
    text = page.read_text()
    assert "a board, 4 cores" in text
    assert "--triple aarch64-linux-gnu" in text and "tunesmith network tune" not in text


@needs_linker
def test_a_library_for_another_machine_is_refused(command: Command, library: Path) -> None:
    for action in ("run", "show"):
        ran = command("network", action, library)
        reason = f"{library} is for aarch64-linux-gnu: load it on such a machine"
        assert (ran.code, ran.complaint) == (1, reason)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("compare",), "the comparison"),
        (("show", "--measure"), "--measure"),
        (("show", "--peers"), "--peers"),
        (("report", "--measure", "-o", "page.html"), "--measure"),
    ],
)
def test_what_calls_the_network_is_refused(
    command: Command, model: Path, store: Path, words: tuple[str, ...], what: str
) -> None:
    action, *options = words
    ran = command("network", action, model, *TRIPLE, "--store", store, *options)
    reason = (
        f"{what} calls the network, and this machine runs no code for aarch64-linux-gnu: leave out "
        "--triple"
    )
    assert (ran.code, ran.complaint) == (2, reason)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--triple", "mips-linux-gnu"), "unknown platform 'mips-linux-gnu': did you mean "),
        ((*TRIPLE, "--mcpu", "znver4"), "unknown processor 'znver4': "),
        ((*TRIPLE, "--target", "cuda"), "triple is for CPUs, and the target is cuda: leave it out"),
    ],
)
def test_bad_words_of_build(
    command: Command, model: Path, store: Path, words: tuple[str, ...], message: str
) -> None:
    ran = command("network", "build", model, *words, "--store", store, "-o", "net.so")
    assert ran.code == 2
    assert ran.complaint.startswith(message)


def test_a_build_without_a_linker(
    command: Command, model: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    ran = command("network", "build", model, *BOARD, "--store", store, "-o", "net.so")
    assert ran.code == 1
    assert ran.complaint.startswith("building for aarch64 needs a linker: install lld, or GNU ")
