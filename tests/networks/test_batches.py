"""Networks for several batches: a program for each, chosen at the call, with the same weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small import Residual, SeveralResults, random_input, result_of, seeded, torch
from tests.networks.small_onnx import saved, small_model
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.networks import Network, from_exported, from_file, from_onnx, from_torch, load


@pytest.fixture(scope="module")
def network() -> Network:
    return from_torch(seeded(Residual()), random_input(2, 3, 8, 8), batches=(4, 1))


def open_program(model: Any, *shape: int) -> Any:
    """An exported program that leaves the first size open, from 1 to 16."""
    batch = torch.export.Dim("batch", min=1, max=16)
    example = (random_input(*shape),)
    return torch.export.export(model, example, dynamic_shapes=({0: batch},))


def test_each_batch_has_its_tasks(network: Network) -> None:
    assert network.batches == (1, 4)
    first, second = network.graphs
    for graph, batch in ((first, 1), (second, 4)):
        assert [layer.operator.result.shape[0] for layer in graph.layers] == [batch] * 4
    assert list(network.tasks.values()) == [1] * 8
    assert {task.operator for task in network.tasks} == {it.operator for it in network.layers}


def test_the_program_is_chosen_at_the_call(network: Network, tmp_path: Path) -> None:
    built = network.built(defaults(network))
    for compiled in (built, load(built.save(tmp_path / "net.so"))):
        for batch in (4, 1):
            data = random_input(batch, 3, 8, 8)
            torch.testing.assert_close(compiled(data), result_of(seeded(Residual()), data))
        with pytest.raises(UsageError, match="is built for the batches 1, 4, not for 3"):
            compiled(random_input(3, 3, 8, 8))
        with pytest.raises(UsageError, match=r"data must be float32 of shape \(4, 3, 8, 8\)"):
            compiled(random_input(4, 3, 8, 7))
        with pytest.raises(UsageError, match="data must be an array"):
            compiled("text")


def test_equal_weights_are_stored_once(network: Network) -> None:
    description = network.built(defaults(network)).description
    first, second = description.entries
    assert first.weights == second.weights
    assert len(description.weights) == len(first.weights)


def test_every_batch_is_compared_with_the_source() -> None:
    model = seeded(SeveralResults())
    network = from_torch(model, random_input(1, 6), batches=(1, 2))
    source = network.source
    assert source is not None
    shapes = []

    def recorded(inputs: Any) -> Any:
        shapes.append(inputs[0].shape)
        return source(inputs)

    given = random_input(2, 6).numpy()
    replace(network, source=recorded).build(inputs=[given], contenders=1)
    assert sorted(shapes) == [(1, 6), (2, 6), (2, 6)], "random ones, and those that were given"

    def wrong(inputs: Any) -> Any:
        return [result + (len(inputs[0]) == 2) for result in source(inputs)]

    with pytest.raises(TunesmithError, match="differs from its source by"):
        replace(network, source=wrong).build(contenders=1)


def test_an_exported_program_with_an_open_batch(tmp_path: Path) -> None:
    model, path = seeded(SeveralResults()), tmp_path / "net.pt2"
    torch.export.save(open_program(model, 2, 6), str(path))
    assert from_file(path).batches == (1,)
    network = from_file(path, batches=[3, 1])
    assert network.batches == (1, 3)
    compiled = network.built(defaults(network))
    for batch in (1, 3):
        data = random_input(batch, 6)
        for found, expected in zip(compiled(data), result_of(model, data), strict=True):
            torch.testing.assert_close(found, expected)
    with pytest.raises(UsageError, match="this program does not take the batch 17: "):
        from_file(path, batches=[17])


def test_a_model_in_onnx_with_an_open_batch(tmp_path: Path) -> None:
    path = saved(small_model(), tmp_path)
    network = from_onnx(path, batches=[1, 2])
    compiled = network.built(defaults(network))
    assert network.source is not None
    for batch in (1, 2):
        data = random_input(batch, 3, 8, 8).numpy()
        np.testing.assert_allclose(compiled(data), network.source([data])[0], rtol=1e-5)


def test_batches_that_a_model_does_not_have(tmp_path: Path) -> None:
    model = seeded(SeveralResults())
    fixed = torch.export.export(model, (random_input(2, 6),))
    assert from_exported(fixed, batches=[2]).batches == (2,)
    onnx = saved(small_model(sizes=(2, 3, 8, 8)), tmp_path)
    complaint = "the model has the batch 2, not 1: export it with"
    with pytest.raises(UsageError, match=complaint):
        from_exported(fixed, batches=[1, 4])
    with pytest.raises(UsageError, match=complaint):
        from_onnx(onnx, batches=[1])
    with pytest.raises(UsageError, match="a batch is at least 1, not 0"):
        from_torch(model, random_input(2, 6), batches=[0])
    with pytest.raises(UsageError, match="the first input of this network has no batch"):
        from_torch(model, torch.tensor(1.0), batches=[2])


def test_other_sizes_may_not_be_open() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return data + 1

    wide = torch.export.Dim("wide")
    program = torch.export.export(Model(), (random_input(2, 6),), dynamic_shapes=({1: wide},))
    with pytest.raises(UsageError, match=r"input 0 has the unknown size .*: export the model with"):
        from_exported(program)


def test_graphs_of_the_same_batch(network: Network) -> None:
    graph = network.graphs[0].graph
    with pytest.raises(UsageError, match="the first input has the same batch each time"):
        Network.of([graph, graph])
