"""Networks for GPUs: built and saved where there is none, and run on emulated ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compiled import needs_nvcc
from tests.emulated import NO_GPU, needs_compiler, no_gpu
from tests.networks.gpu import gpu_choices, model_of
from tests.patience import PATIENCE
from tunesmith.cuda.executable import GpuExecutable
from tunesmith.errors import UsageError
from tunesmith.networks import from_torch, load
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu import environment

__all__ = ["no_gpu"]

# What code on the CPU would need to compute: it only passes pointers on.
_ARITHMETIC = re.compile(r"= (?:fadd|fmul|fdiv|fcmp|load) (?:fast )?(?:float|double|<)|store float")


def network_of(name: str, arch: str = "sm_90") -> Any:
    model, example = model_of(name)
    return from_torch(model, example, Target("cuda", arch=arch))


def functions_on_the_cpu(module: Any) -> str:
    """LLVM's code of a module and of what it imports."""
    own = str(module.inspect_source("ll")) if module.kind == "llvm" else ""
    return own + "".join(map(functions_on_the_cpu, module.imports))


@needs_nvcc
@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("residual", "sm_80"),
        ("transformer", "sm_90"),
        ("uncovered", "sm_90"),
    ],
)
def test_it_is_built_saved_and_described_without_a_gpu(
    name: str, arch: str, tmp_path: Path
) -> None:
    network = network_of(name, arch)
    compiled = network.built(gpu_choices(network))
    executable: GpuExecutable = compiled._executable
    sources = "".join(executable.codes)
    for number, task in enumerate(network.tasks):
        assert re.search(rf"__global__ .*\blayer{number}_{task.operator.name}_kernel", sources)
    on_the_cpu = functions_on_the_cpu(executable.mod)
    # TVM calls the function of a module that has just one ``main``, too.
    called = set(re.findall(r"define .*@__tvm_ffi_(\w+)\(", on_the_cpu)) - {"main"}
    launched = set(re.findall(r"__global__ .*?(\w+?)_kernel(?:_\d+)?\(", sources))
    assert called == launched, "each function launches kernels of its own"
    assert not _ARITHMETIC.search(on_the_cpu), "memory of the GPU is left to the GPU"

    saved = compiled.save(tmp_path / "net.so")
    assert b"__global__" not in saved.read_bytes(), "there is machine code only"
    loaded = load(saved)
    assert loaded.description == compiled.description
    assert loaded.description.arch == arch
    with pytest.raises(UsageError, match=rf"\A{NO_GPU}\Z"):
        loaded(model_of(name)[1])


@needs_nvcc
@pytest.mark.usefixtures("no_gpu")
def test_a_build_says_that_it_was_not_compared() -> None:
    model, example = model_of("uncovered")
    compiled = from_torch(model, example, Target("cuda", arch="sm_80")).build()
    assert (compiled.relative_error, compiled.unchecked) == (None, NO_GPU)


@needs_nvcc
@pytest.mark.usefixtures("no_gpu")
def test_weights_are_saved_once_as_they_are(tmp_path: Path) -> None:
    """They are laid out where the network runs: the file has none of the 6 by 6 tiles."""
    network = network_of("residual")
    compiled = network.built(gpu_choices(network))
    preparation = compiled.description.preparation
    assert preparation is not None
    weights = compiled.description.weights
    laid_out, plain = (
        [weights[number].shape for number in numbers]
        for numbers in (preparation.makes, preparation.reads)
    )
    assert plain == [(8, 3, 3, 3), (8, 8, 3, 3)]
    assert all(shape not in laid_out for shape in plain)
    stored = compiled.description.offsets[-1]
    assert stored < sum(weight.bytes for weight in weights)
    again = load(compiled.save(tmp_path / "net.so"))
    assert [weight is None for weight in again._weights] == [
        number in preparation.makes for number in range(len(weights))
    ]


def test_what_no_sketch_for_gpus_covers_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from tunesmith.networks.layers import schedulable

    def none_for_dense(operator: Any, target: Target) -> Any:
        if operator.name == "dense":
            raise UsageError("no sketch can schedule it")

    whole = network_of("residual")
    monkeypatch.setattr(schedulable, "sketch_for", none_for_dense)
    apart = network_of("residual")
    operators = [layer.operator.name for layer in apart.layers]
    assert operators == [layer.operator.name for layer in whole.layers][:-1]
    assert [step.op for step in apart.steps[-2:]] == ["matmul", "add"]


@needs_compiler
@pytest.mark.slow
def test_they_run_on_two_emulated_gpus() -> None:
    file = Path(__file__).parents[1] / "on_gpus" / "network_calls.py"
    path = ":".join(entry for entry in sys.path if entry)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        env={**environment(gpus=2), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    last = ran.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"\d+ passed(, \d+ warnings?)? in .*", last), ran.stdout
