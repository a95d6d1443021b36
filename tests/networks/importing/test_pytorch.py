"""What PyTorch's modules give, and what is left of them after their import."""

from __future__ import annotations

from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, torch
from tunesmith.networks import from_torch
from tunesmith.networks.check import check, random_inputs


def test_results_in_tuples_of_tuples() -> None:
    model, data = torch.nn.LSTM(4, 3).eval(), random_input(5, 2, 4)
    network = from_torch(model, data)
    assert network.source is not None
    compiled = network.built(defaults(network))
    assert check(compiled, network.source, [data.numpy()]) < 1e-5
    hidden, (last, cell) = result_of(model, data)
    for found, expected in zip(compiled(data), (hidden, last, cell), strict=True):
        torch.testing.assert_close(found, expected)


def test_results_in_dictionaries_and_lists_and_none() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return {"second": data.cos(), "first": (data[:1].sin(), [data[:, :2].exp(), None])}

    data = random_input(3, 4)
    network = from_torch(Model(), data)
    assert network.source is not None
    compiled = network.built(defaults(network))
    assert [found.shape for found in compiled(data)] == [(3, 4), (1, 4), (3, 2)]
    assert check(compiled, network.source, [data.numpy()]) < 1e-5


def test_modules_stay_in_their_mode() -> None:
    """Each in its own: a part may be kept from training."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.BatchNorm1d(4))
    model[2].eval()
    network = from_torch(model, random_input(3, 4))
    assert [module.training for module in model] == [True, True, False]
    assert model.training
    data = random_input(3, 4)
    found = network.built(defaults(network))(data)
    torch.testing.assert_close(found, result_of(model.eval(), data))


def test_bfloat16_is_compared_too() -> None:
    model, data = torch.nn.Linear(6, 8, bias=False).bfloat16().eval(), random_input(2, 6).bfloat16()
    network = from_torch(model, data)
    assert network.source is not None
    compiled = network.built(defaults(network))
    assert check(compiled, network.source, random_inputs(network.inputs), 0.05) <= 0.05
