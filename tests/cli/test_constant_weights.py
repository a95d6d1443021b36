"""Constant weights on the command line: an option, two functions to show, a kernel to prepare."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tunesmith as ts
from tests.cli.command import only_object
from tests.cli.conftest import Command

TASK = ["matmul", "--m", "8", "--n", "32", "--k", "16"]
CONSTANT = [*TASK, "--constant-weights"]
OPERATOR = ts.operators.matmul(m=8, n=32, k=16, constant_weights=True)


def packing() -> str:
    """A config of cpu_tiled that packs the weights."""
    task = ts.Task(OPERATOR)
    problem = ts.TaskProblem.of(task, "cpu_tiled")
    config = problem.default.replace(tile_j=(2, 1, 16), pack_weight=True)
    problem.space.check(config)
    return json.dumps(config.to_json())


@pytest.mark.parametrize("spelling", ["--constant-weights", "--constant_weights=true"])
def test_it_is_a_task_of_its_own(command: Command, spelling: str) -> None:
    shown = [
        only_object(command("show", *words, "--config", "default", "--json").out)["task"]
        for words in (TASK, [*TASK, spelling])
    ]
    assert shown == [ts.Task(ts.operators.matmul(m=8, n=32, k=16)).key, ts.Task(OPERATOR).key]


def test_options_are_listed_as_they_are_typed(command: Command) -> None:
    assert "--constant-weights " in command("operators", "matmul").out


def test_the_schedule_of_both_functions_is_shown_and_the_hot_loop_of_main(
    command: Command,
) -> None:
    words = ["show", *CONSTANT, "--sketch", "cpu_tiled", "--config", packing(), "--form"]
    schedule = command(*words, "tvmscript").out
    assert schedule.index("def prepare(") < schedule.index("def main(")
    assert "prepare_compute_" in command(*words, "llvm").out
    whole, hot = command(*words, "asm", "--whole").out, command(*words, "asm").out
    assert "prepare_compute_:" in whole
    assert "main_compute_:" in whole
    assert "prepare_compute_" not in hot


def test_what_is_built_is_prepared_and_called(
    command: Command, tmp_path: Path, c_compiler: str
) -> None:
    library = tmp_path / "product.so"
    words = ["build", *CONSTANT, "--sketch", "cpu_tiled", "--config", packing(), "-o", library]
    files = only_object(command(*words, "--json").out)["files"]
    assert "int product_prepare(const float* weight, float* prepared)" in (
        Path(files["header"]).read_text()
    )
    data, weight = OPERATOR.make_inputs(seed=0)
    prepared = ts.Kernel.load(library).prepare(weight)
    np.testing.assert_allclose(prepared(data), OPERATOR.reference(data, weight), 1e-5, 1e-5)


def test_no_other_operator_has_the_option(command: Command) -> None:
    refused = command("show", "softmax", "--m", "4", "--n", "8", "--constant-weights")
    assert refused.code == 2
    assert "unknown option of softmax 'constant_weights'" in refused.err
