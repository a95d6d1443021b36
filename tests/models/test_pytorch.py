"""PyTorch as the neural tuners use it: on demand, in one thread, with a generator of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import MissingDependencyError
from tunesmith.models import pytorch
from tunesmith.space import Config
from tunesmith.testing.trials import distance_cost, drive, measured, space_named
from tunesmith.tuners import Tuner, tuner

NAMES = ("na2c", "controller")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def torch() -> Iterator[Any]:
    """PyTorch, with its settings put back in the end."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    yield torch
    torch.set_num_threads(threads)
    torch.set_rng_state(state)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


def some_trials(tuner: Tuner) -> list[Config]:
    space = space_named("mixed")
    cost = distance_cost(space)
    return drive(tuner.start(space, 3), 60, lambda config: measured(config, cost(config)))


@pytest.mark.parametrize("name", NAMES)
def test_without_pytorch_one_line_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    settings = tuner(name)  # it can be described and configured all the same
    with pytest.raises(MissingDependencyError) as caught:
        settings.start(space_named("mixed"), 0)
    message = str(caught.value)
    assert message.startswith(f"tuner '{name}' needs PyTorch, which cannot be imported (")
    assert message.endswith("install the extra 'neural' (pip install 'tunesmith[neural]')")
    assert "\n" not in message


def test_the_extra_that_it_names_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert [requirement.partition("==")[0] for requirement in extras["neural"]] == ["torch"]
    (ours,) = (name for name in extras["peers"] if name.startswith("tunesmith["))
    assert "neural" in ours


def test_naming_and_describing_a_tuner_imports_no_pytorch() -> None:
    program = (
        "import json, sys\n"
        "from tunesmith.tuners import describe_tuners, tuner\n"
        "tuner('na2c'), tuner('controller'), describe_tuners()\n"
        "print(json.dumps('torch' in sys.modules))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) is False


@pytest.mark.parametrize("name", NAMES)
def test_the_users_settings_and_random_numbers_are_left_alone(name: str, torch: Any) -> None:
    torch.set_num_threads(2)
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    some_trials(tuner(name))
    assert torch.get_num_threads() == 2
    assert torch.is_grad_enabled()
    assert torch.rand(3).tolist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_users_settings_make_no_difference(name: str, torch: Any) -> None:
    torch.set_num_threads(1)
    expected = some_trials(tuner(name))
    torch.set_num_threads(2)
    torch.manual_seed(99)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    assert some_trials(tuner(name)) == expected
    assert not torch.is_grad_enabled()


def test_one_thread_lasts_as_long_as_it_is_said_to(torch: Any) -> None:
    torch.set_num_threads(2)
    with pytest.raises(RuntimeError, match="on the way"), pytorch.one_thread(torch):
        assert torch.get_num_threads() == 1
        raise RuntimeError("on the way")
    assert torch.get_num_threads() == 2


def test_generators_of_one_seed_draw_the_same(torch: Any) -> None:
    def weights(seed: int) -> list[float]:
        generator = pytorch.generator(torch, np.random.default_rng(seed))
        drawn: list[float] = pytorch.uniform(torch, (20,), 0.5, generator).tolist()
        return drawn

    assert weights(1) == weights(1) != weights(2)
    assert all(-0.5 <= weight <= 0.5 for weight in weights(1))


def test_a_perceptron_has_one_hidden_layer(torch: Any) -> None:
    generator = pytorch.generator(torch, np.random.default_rng(0))
    network = pytorch.Perceptron(torch, (3, 128, 2), generator)
    assert [tuple(weights.shape) for weights in network.weights] == [
        (128, 3),
        (128,),
        (2, 128),
        (2,),
    ]
    inputs = torch.rand((5, 3))
    hidden = torch.clamp(inputs @ network.weights[0].T + network.weights[1], min=0)
    expected = hidden @ network.weights[2].T + network.weights[3]
    assert torch.allclose(network(inputs), expected, atol=1e-5)
