"""LSTM and GRU of PyTorch, whole layers and single cells.

TVM's importer of an exported program writes out the steps of some of them. These functions take its
place (``custom_convert_map`` of ``from_exported_program``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.networks.importing.recurrent import Cells, Weights

Converter = Callable[[Any, Any], Any]
"""Given a node of PyTorch's graph and TVM's importer: what the node computes."""


def _layers(kind: str, node: Any, importer: Any) -> Any:
    """``aten.lstm.input`` and ``aten.gru.input``: all layers and directions."""
    data, states, parameters, has_biases, count, _, _, both_ways, batch_first = (
        importer.retrieve_args(node)
    )
    cells = Cells(importer.block_builder, kind)
    ways = 2 if both_ways else 1
    each = _weights(parameters, count * ways, has_biases=has_biases)
    begin = list(states) if kind == "lstm" else [states]
    if batch_first:
        data = cells.permuted(data, (1, 0, 2))
    ends: list[tuple[Any, ...]] = []
    for layer in range(count):
        found = []
        for way in range(ways):
            number = layer * ways + way
            before = [cells.part(one, number, number + 1, squeezed=True) for one in begin]
            found.append(cells.layer(data, each[number], before, reverse=way == 1))
        data = cells.joined([one.hidden for one in found], 2)
        ends += [one.last for one in found]
    if batch_first:
        data = cells.permuted(data, (1, 0, 2))
    return (data, *(cells.stacked(states) for states in zip(*ends, strict=True)))


def _cell(kind: str, node: Any, importer: Any) -> Any:
    """``aten.lstm_cell`` and ``aten.gru_cell``: a single step."""
    data, states, *weights = importer.retrieve_args(node)
    cells = Cells(importer.block_builder, kind)
    before = list(states) if kind == "lstm" else [states]
    found = cells.layer(_step(importer, data), Weights(*weights), before)
    return found.last if kind == "lstm" else found.last[0]


def _step(importer: Any, data: Any) -> Any:
    from tvm import relax

    return importer.block_builder.emit(relax.op.expand_dims(data, [0]))


def _weights(parameters: Sequence[Any], count: int, *, has_biases: bool) -> list[Weights]:
    """Those of each direction of each layer. Raises ``UsageError`` for projections of states."""
    length = 4 if has_biases else 2
    if len(parameters) != count * length:
        raise UsageError("an LSTM with projections (proj_size) cannot be imported: leave them out")
    return [
        Weights(*parameters[first : first + length]) for first in range(0, count * length, length)
    ]


RECURRENT: Mapping[str, Converter] = {
    "lstm.input": partial(_layers, "lstm"),
    "gru.input": partial(_layers, "gru"),
    "lstm_cell.default": partial(_cell, "lstm"),
    "gru_cell.default": partial(_cell, "gru"),
}
