"""``torch.compile`` with our backend: results like PyTorch's."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest

from tests.networks.small import Residual, SeveralResults, random_input, result_of, seeded, torch
from tests.networks.torch_backend.built import (
    OPTIONS,
    Built,
    Perceptron,
    check,
    compiled,
)
from tunesmith.networks import from_torch
from tunesmith.networks.torch_backend import backend

pytestmark = pytest.mark.filterwarnings("ignore")


def test_pytorch_finds_it() -> None:
    (found,) = entry_points(group="torch_dynamo_backends", name="tunesmith")
    assert found.load() is backend
    assert "tunesmith" in torch._dynamo.list_backends()


def test_a_convolutional_network_is_one_piece(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    found = check(seeded(Residual()), random_input(1, 3, 8, 8))
    assert built.names == [["conv2d", "conv2d", "pool2d", "dense"]]
    assert not found.requires_grad
    assert caplog.messages == []


def test_it_has_the_tasks_of_the_same_network_imported(built: Built) -> None:
    model, data = seeded(Residual()), random_input(1, 3, 8, 8)
    check(model, data)
    imported = from_torch(model, data)
    assert built == [[layer.operator for layer in imported.layers]]


def test_several_shapes_share_a_compiled_model(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    ours = compiled(model)
    for batch in (1, 2, 5, 2, 1, 5):
        check(model, random_input(batch, 6), ours=ours)
    assert [each[0].arguments[0].shape for each in built] == [(1, 6), (2, 6), (5, 6)]
    assert caplog.messages == []


def test_more_shapes_than_allowed_are_left_to_pytorch(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    options = {**OPTIONS, "shapes": 2}
    ours = torch.compile(model, backend="tunesmith", options=options, dynamic=True)
    for batch in (2, 3, 4, 5, 3, 4):
        check(model, random_input(batch, 6), ours=ours)
    assert len(built) == 2
    assert caplog.messages == [
        "tunesmith: PyTorch computes a graph of 1 operation: there are more input shapes than "
        "the option shapes allows"
    ]


def test_several_results_keep_their_structure(built: Built) -> None:
    model = seeded(SeveralResults())

    def named(data: Any, *, scale: float) -> Any:
        product, joined, last = model(data)
        return {"product": product, "rest": [joined * scale, (last, data.shape[0])]}

    data = random_input(2, 6)
    with torch.no_grad():
        found = compiled(named)(data, scale=2.0)
        torch.testing.assert_close(found, named(data, scale=2.0))
    (names,) = built.names
    assert names[0] == "dense"


class Broken(torch.nn.Module):  # type: ignore[misc]
    """Two graphs, with a print between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Perceptron(), torch.nn.Linear(4, 3)

    def forward(self, data: Any) -> Any:
        between = self.first(data)
        torch._dynamo.graph_break()
        return self.second(between)


def test_a_graph_break(built: Built) -> None:
    check(seeded(Broken()), random_input(2, 6))
    assert built.names == [["dense", "dense"], ["dense"]]


def test_results_share_memory_as_those_of_pytorch_do(built: Built) -> None:
    model = seeded(torch.nn.Linear(6, 8))

    def views(data: Any) -> Any:
        result = model(data)
        return result, result.view(-1), data.transpose(0, 1), result.clone(), data.clone()

    data = random_input(2, 6)
    whole, flat, turned, copied, other = check(views, data)
    assert built.names == [["dense"]]
    assert whole.data_ptr() == flat.data_ptr()
    assert turned.data_ptr() == data.data_ptr()
    addresses = {each.data_ptr() for each in (whole, data, copied, other)}
    assert len(addresses) == 4, "copies are in memory of their own"


def test_strides_are_those_of_pytorch(built: Built) -> None:
    model = seeded(Residual())

    def convolutions(data: Any) -> Any:
        return model.second(model.first(data).relu())

    data = random_input(1, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    found = check(convolutions, data)
    assert found.stride() == result_of(convolutions, data).stride() == (512, 1, 64, 8)
    assert built.names == [["conv2d", "conv2d"]]


def test_tensors_that_the_graph_makes(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model = seeded(torch.nn.Linear(6, 8))

    def places(data: Any) -> Any:
        made = torch.arange(8)
        return model(data) + made + torch.tensor([2.0]), made, torch.eye(8)

    ours = compiled(places)
    _, first, _ = check(places, random_input(2, 6), ours=ours)
    first.zero_()
    check(places, random_input(2, 6), ours=ours)
    assert built.names == [["dense"]]
    assert caplog.messages == []
