"""Weights that change, and several sets of weights for one graph."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from tests.networks.small import random_input, seeded, torch
from tests.networks.torch_backend.built import OPTIONS, Built, check, compiled, default_kernels
from tunesmith.networks import Network
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.graph import Value
from tunesmith.networks.torch_backend import attempts, calls
from tunesmith.task import Task

pytestmark = pytest.mark.filterwarnings("ignore")


def test_weights_that_change(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    ours = compiled(model)
    check(model, data, ours=ours)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 6):
        model(data).sum().backward()
        optimizer.step()
        check(model, data, ours=ours)
        check(model, data, ours=ours)
        assert len(built) == min(step, 3) + 1
    assert caplog.messages == [
        "tunesmith: the weights of a graph of 1 operation have changed: it is compiled again",
        "tunesmith: PyTorch computes a graph of 1 operation: its weights change again and again",
    ]


def test_weights_in_other_memory(built: Built) -> None:
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    ours = compiled(model)
    check(model, data, ours=ours)
    model.weight.data = model.weight.data * 2
    check(model, data, ours=ours)
    assert len(built) == 2


def random_weights(model: Any, seed: int) -> Any:
    """The model for inference, with weights that differ from seed to seed."""
    model = seeded(model)
    model.load_state_dict({name: each - 0.1 * seed for name, each in model.state_dict().items()})
    return model


class Layer(torch.nn.Module):  # type: ignore[misc]
    """A layer of which a model has several."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, data: Any) -> Any:
        return self.linear(data).relu()


def test_layers_that_share_a_graph_have_programs_of_their_own(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    layers, data = [random_weights(Layer(), seed) for seed in range(6)], random_input(2, 6)
    expected = [layer(data) for layer in layers]
    for layer in layers:
        layer.compile(backend="tunesmith", options=OPTIONS)
    with torch.no_grad():
        for _ in range(3):
            for layer, wanted in zip(layers, expected, strict=True):
                torch.testing.assert_close(layer(data), wanted)
    assert len(built) == len(layers)
    assert caplog.messages == []


def test_two_models_in_turn(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    models = [random_weights(torch.nn.Linear(6, 8), seed) for seed in range(2)]
    both = [compiled(model) for model in models]
    for batch in (1, 2, 1, 2):
        for model, ours in zip(models, both, strict=True):
            check(model, random_input(batch, 6), ours=ours)
    assert len(built) == 4, "two models for two shapes"
    assert caplog.messages == []


def test_weights_that_change_leave_others_their_programs(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    """A DQN in training: its weights change in each step, those of its target stay."""
    online, target = (random_weights(Layer(), seed) for seed in range(2))
    ours, targets = compiled(online), compiled(target)
    data = random_input(2, 6)
    for _ in range(6):
        check(online, data, ours=ours)
        check(target, data, ours=targets)
        with torch.no_grad():
            online.linear.weight.mul_(0.9)
    assert len(built) == 1 + 1 + 3
    assert caplog.messages[-1].endswith("its weights change again and again")
    with torch.no_grad():
        target.linear.weight.copy_(online.linear.weight)
    check(target, data, ours=targets)
    assert len(built) == 6, "the target is compiled again"


def test_weights_that_move_again_and_again(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = random_weights(Layer(), 0), random_input(2, 6)
    ours = compiled(model)
    for _ in range(6):
        check(model, data, ours=ours)
        model.linear.weight.data = model.linear.weight.data * 0.9
    assert len(built) == 1 + 3
    assert caplog.messages[-1].endswith("its weights change again and again")


def test_more_sets_of_weights_than_a_graph_is_compiled_for(
    built: Built, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_MOST_SETS", 2)
    models, data = [random_weights(Layer(), seed) for seed in range(3)], random_input(2, 6)
    both = [compiled(model) for model in models]
    for _ in range(2):
        for model, ours in zip(models, both, strict=True):
            check(model, data, ours=ours)
    assert len(built) == 2
    assert caplog.messages == [
        "tunesmith: PyTorch computes a graph of 2 operations: it has more sets of weights than 2"
    ]


class Alive:
    """How many networks are in memory, and weights that kernels have laid out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._networks: list[weakref.ref[Any]] = []
        self._weights: list[weakref.ref[Any]] = []
        linked, weights = Network.linked, LayerKernel.weights

        def noted(network: Network, kernels: Mapping[Task, LayerKernel]) -> CompiledNetwork:
            made = linked(network, kernels)
            self._networks.append(weakref.ref(made))
            return made

        def noted_weights(kernel: LayerKernel, value: Value) -> Value:
            made = weights(kernel, value)
            self._weights.append(weakref.ref(made))
            return made

        monkeypatch.setattr(Network, "linked", noted)
        monkeypatch.setattr(LayerKernel, "weights", noted_weights)
        # The last default lays out the weights of a product.
        monkeypatch.setattr(attempts, "compiled_kernels", partial(default_kernels, number=-1))

    @property
    def counts(self) -> tuple[int, int]:
        """Those of networks and of weights."""
        return _count(self._networks), _count(self._weights)


def _count(references: Sequence[weakref.ref[Any]]) -> int:
    return len({id(found) for reference in references if (found := reference()) is not None})


@pytest.mark.parametrize("moved", [False, True], ids=["written", "moved"])
def test_what_was_compiled_for_other_weights_is_dropped(
    monkeypatch: pytest.MonkeyPatch, *, moved: bool
) -> None:
    alive = Alive(monkeypatch)
    model, data = random_weights(Layer(), 0), random_input(2, 6)
    ours, weight = compiled(model), model.linear.weight
    counts = []
    for _ in range(5):
        check(model, data, ours=ours)
        counts.append(alive.counts)
        with torch.no_grad():
            if moved:
                weight.data = weight.data * 0.9
            else:
                weight.mul_(0.9)
    # At last PyTorch computes it.
    assert counts == [(1, 1)] * 4 + [(0, 0)]


def test_what_was_compiled_for_a_model_that_is_gone_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alive, data = Alive(monkeypatch), random_input(2, 6)
    first, second = (random_weights(Layer(), seed) for seed in range(2))
    check(first, data, ours=compiled(first))
    first.linear = random_weights(torch.nn.Linear(6, 6), 2)
    check(second, data, ours=compiled(second))
    assert alive.counts == (1, 1)
