"""LSTM and GRU in networks: of PyTorch and of ONNX, in all their forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small import random_input, seeded, torch
from tests.networks.test_import import steps_of
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_onnx, from_torch
from tunesmith.networks.check import check, random_inputs
from tunesmith.networks.zoo.registry import ZOO

onnx: Any = pytest.importorskip("onnx", reason="networks in ONNX need the package onnx")


def checked(network: Network) -> float:
    """The relative error of a network that is built without a search."""
    assert network.source is not None
    inputs = random_inputs(network.inputs)
    return check(network.built(defaults(network)), network.source, inputs)


class Everything(torch.nn.Module):  # type: ignore[misc]
    """Layers of both kinds, of both directions, with and without biases and given states; cells.

    They have the same sizes where they can, so that few programs are compiled.
    """

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.deep = nn.LSTM(5, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.plain = nn.LSTM(8, 4, bias=False)
        self.both_ways = nn.GRU(4, 4, bidirectional=True)
        self.gru = nn.GRU(8, 4, bias=False, batch_first=True)
        self.cell, self.gru_cell = nn.LSTMCell(4, 4), nn.GRUCell(4, 4)

    def forward(self, data: Any, hidden: Any, cell: Any) -> Any:
        first, (h, c) = self.deep(data)
        second, (last, _) = self.plain(first.transpose(0, 1), (hidden, cell))
        third, ends = self.both_ways(second)
        fourth, _ = self.gru(third.transpose(0, 1))
        states = self.cell(fourth[:, -1], (hidden[0], cell[0]))
        return h, c, last, ends, *states, self.gru_cell(*states)


def test_everything_of_pytorch() -> None:
    model = seeded(Everything())
    data = (random_input(2, 3, 5), random_input(1, 2, 4), random_input(1, 2, 4))
    network = from_torch(model, data)
    assert checked(network) < 1e-5
    left = {step for step in steps_of(network) if "(" not in step}
    assert left <= {"reshape", "permute_dims", "sliced", "concat"}


def test_the_language_model_is_covered_but_for_views() -> None:
    zoo = ZOO.get("lstm_lm")
    network = from_torch(zoo.model(), zoo.example(1))
    assert [step for step in steps_of(network) if "(" in step] == [
        "embedding(n=20, rows=10000, width=650)",
        "dense(m=20, n=2600, k=650, bias=true, constant_weights=true)",
        "lstm(steps=20, units=650, constant_weights=true)",
        "dense(m=20, n=2600, k=650, bias=true, constant_weights=true)",
        "lstm(steps=20, units=650, constant_weights=true)",
        "dense(n=10000, k=650, bias=true, constant_weights=true)",
    ]
    left = {step for step in steps_of(network) if "(" not in step}
    assert left == {"reshape", "sliced"}


def test_projections_of_states_are_computed_step_by_step() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 6, proj_size=3)

        def forward(self, data: Any) -> Any:
            return self.lstm(data)[0]

    assert checked(from_torch(seeded(Model()), random_input(2, 1, 4))) < 1e-5


def layer(
    kind: str, inputs: dict[str, Any], path: Path, sizes: Any = (3, 2, 4), **given: Any
) -> Path:
    """A file with one node; ``inputs`` are arrays for its further inputs by their names."""
    helper, rng = onnx.helper, np.random.default_rng(0)
    gates, units = {"LSTM": 4, "GRU": 3}[kind], 5
    ways = 2 if given.get("direction") == "bidirectional" else 1
    rows = gates * units
    arrays = {
        "W": rng.random((ways, rows, 4), dtype=np.float32) - 0.5,
        "R": rng.random((ways, rows, units), dtype=np.float32) - 0.5,
        **inputs,
    }
    order = ["W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"]
    names = [name if name in arrays else "" for name in order]
    while not names[-1]:
        names.pop()
    results = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, ["X", *names], results, hidden_size=units, **given)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "layer",
        [value("X", onnx.TensorProto.FLOAT, sizes)],
        [
            value(name, onnx.TensorProto.FLOAT, [f"{name}{axis}" for axis in range(4 - place)])
            for name, place in zip(results, (0, 1, 1), strict=False)
        ],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path / "layer.onnx"))
    return path / "layer.onnx"


def random_array(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).random(shape, dtype=np.float32) - np.float32(0.5)


LAYERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "lstm": ("LSTM", {}, {}),
    "lstm with all": (
        "LSTM",
        {
            "B": random_array(2, 40),
            "sequence_lens": np.full(2, 3, np.int32),
            "initial_h": random_array(2, 2, 5),
            "initial_c": random_array(2, 2, 5) * 2,
        },
        {"direction": "bidirectional", "activations": ["Sigmoid", "Tanh", "Tanh"] * 2},
    ),
    "lstm backwards": ("LSTM", {"B": random_array(1, 40)}, {"direction": "reverse"}),
    "gru": ("GRU", {"B": random_array(1, 30)}, {"linear_before_reset": 1}),
    "gru with all": (
        "GRU",
        {"B": random_array(2, 30), "initial_h": random_array(2, 2, 5)},
        {"linear_before_reset": 1, "direction": "bidirectional"},
    ),
    "gru that resets first": (
        "GRU",
        {"B": random_array(2, 30), "initial_h": random_array(2, 2, 5)},
        {"direction": "bidirectional"},
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_onnx(name: str, tmp_path: Path) -> None:
    kind, inputs, given = LAYERS[name]
    network = from_onnx(layer(kind, inputs, tmp_path, **given))
    assert checked(network) < 1e-5
    cells = [step for step in steps_of(network) if step.startswith(kind.lower())]
    expected = 0 if "resets" in name else 1 + ("all" in name)
    assert len(cells) == expected


def test_a_batch_may_be_the_first_axis(tmp_path: Path) -> None:
    """ONNX Runtime has no such layer: it is compared with one of the other layout."""
    inputs = {"B": random_array(2, 40), "initial_h": random_array(2, 2, 5)}
    plain = from_onnx(layer("LSTM", inputs, tmp_path, direction="bidirectional"))
    inputs["initial_h"] = inputs["initial_h"].swapaxes(0, 1)
    given = {"direction": "bidirectional", "layout": 1}
    turned = from_onnx(layer("LSTM", inputs, tmp_path, sizes=(2, 3, 4), **given))
    data = random_array(3, 2, 4)
    hidden, *ends = plain.built(defaults(plain))(data)
    found = turned.built(defaults(turned))(data.swapaxes(0, 1))
    np.testing.assert_allclose(found[0], hidden.transpose(2, 0, 1, 3), rtol=1e-5, atol=1e-6)
    for one, other in zip(found[1:], ends, strict=True):
        np.testing.assert_allclose(one, other.swapaxes(0, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "given", "message"),
    [
        ({"P": random_array(1, 15)}, {}, r"LSTM with peepholes \(input P\) is not supported"),
        ({"sequence_lens": np.array([2, 3], np.int32)}, {}, "sequences of different lengths"),
        ({}, {"activations": ["Relu", "Tanh", "Tanh"]}, "activations relu, tanh, tanh is not"),
        ({}, {"clip": 1.0}, "LSTM with clip is not supported"),
        ({}, {"input_forget": 1}, "LSTM with input_forget is not supported"),
    ],
)
def test_what_is_not_supported_is_said_in_one_line(
    inputs: dict[str, Any], given: dict[str, Any], message: str, tmp_path: Path, capsys: Any
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        from_onnx(layer("LSTM", inputs, tmp_path, **given))
    assert "\n" not in str(refused.value)
    assert capsys.readouterr().out == ""
