"""LSTM and GRU of ONNX, which TVM's importer does not have.

https://onnx.ai/onnx/operators/onnx__LSTM.html and onnx__GRU.html: one layer, of one or both
directions. The gates lie in another order than in PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.networks.importing.recurrent import GATES, Cells, Found, Weights

# Where PyTorch's gates are in ONNX: i, f, g, o in i, o, f, c, and r, z, n in z, r, h.
_ORDER = {"lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
_ACTIVATIONS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}
_BACKWARDS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def recurrent_converters() -> dict[str, Any]:
    """TVM's converters of these operators, as its importer takes them."""
    from tvm.relax.frontend.onnx import onnx_frontend

    def converter(kind: str) -> Any:
        def convert(_: Any, builder: Any, inputs: Any, attributes: Any, __: Any) -> Any:
            return _converted(kind, builder, inputs, attributes)

        methods = {"_impl_v1": classmethod(convert)}
        return type(kind.upper(), (onnx_frontend.OnnxOpConverter,), methods)

    return {kind.upper(): converter(kind) for kind in GATES}


def _converted(
    kind: str, builder: Any, inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> Any:
    """The outputs of a node, as a tuple of Relax. Raises ``UsageError`` for what is not supported.

    They are the hidden states of all steps (steps, directions, b, units), and all states in the
    end, (directions, b, units) each; with ``layout=1`` the batch is the first axis of all.
    """
    from tvm import relax

    names = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
    given = dict.fromkeys(names) | dict(zip(names, inputs, strict=False))
    _check(kind, given, attributes)
    cells = Cells(builder, kind)
    batch_first = bool(attributes.get("layout", 0))

    def steps_first(value: Any) -> Any:
        return cells.permuted(value, (1, 0, 2)) if batch_first and value is not None else value

    data = steps_first(given["X"])
    begin = ("initial_h", "initial_c")[: 2 if kind == "lstm" else 1]
    states = [steps_first(given[name]) for name in begin]
    found = []
    for way, reverse in enumerate(_BACKWARDS[_text(attributes.get("direction", "forward"))]):
        weights = _weights(cells, kind, given, way)
        zeros = cells.zeros((data.ty.shape[1], weights.of_states.ty.shape[1]), data.ty.dtype)
        before = [
            zeros if each is None else cells.part(each, way, way + 1, squeezed=True)
            for each in states
        ]
        steps = cells.layer
        if kind == "gru" and not attributes.get("linear_before_reset", 0):
            steps = cells.layer_of_reset_states
        found.append(steps(data, weights, before, reverse=reverse))
    return relax.Tuple(_outputs(cells, found, batch_first))


def _outputs(cells: Cells, found: Sequence[Found], batch_first: bool) -> list[Any]:
    hidden = cells.stacked([each.hidden for each in found])
    ends = [cells.stacked(states) for states in zip(*(each.last for each in found), strict=True)]
    if batch_first:
        hidden = cells.permuted(hidden, (2, 1, 0, 3))
        return [hidden, *(cells.permuted(end, (1, 0, 2)) for end in ends)]
    return [cells.permuted(hidden, (1, 0, 2, 3)), *ends]


def _weights(cells: Cells, kind: str, given: Mapping[str, Any], way: int) -> Weights:
    """Those of a direction, with the gates in PyTorch's order."""
    gates, of_states = GATES[kind], cells.part(given["R"], way, way + 1, squeezed=True)
    units = int(of_states.ty.shape[1])

    def ordered(data: Any, first: int = 0) -> Any:
        parts = [first + gate * units for gate in _ORDER[kind]]
        return cells.joined([cells.part(data, part, part + units) for part in parts], 0)

    of_inputs = cells.part(given["W"], way, way + 1, squeezed=True)
    biases: list[Any] = []
    if given["B"] is not None:
        both = cells.part(given["B"], way, way + 1, squeezed=True)
        biases = [ordered(both), ordered(both, gates * units)]
    return Weights(ordered(of_inputs), ordered(of_states), *biases)


def _check(kind: str, given: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    """Raises ``UsageError`` for what none of the operators has."""
    name = kind.upper()
    if given["P"] is not None:
        raise UsageError(f"{name} with peepholes (input P) is not supported: export it without")
    lengths = given["sequence_lens"]
    if lengths is not None:
        steps = given["X"].ty.shape[1 if attributes.get("layout", 0) else 0]
        constant = getattr(getattr(lengths, "value", None), "numpy", None)
        if constant is None or not (constant() == int(steps)).all():
            raise UsageError(
                f"{name} with sequences of different lengths (input sequence_lens) is not "
                "supported: export it without"
            )
    functions = tuple(_text(each).lower() for each in attributes.get("activations", ()))
    wanted = _ACTIVATIONS[kind]
    if functions and functions != wanted * (len(functions) // len(wanted)):
        raise UsageError(f"{name} with activations {', '.join(functions)} is not supported")
    for attribute in ("clip", "input_forget"):
        if attributes.get(attribute):
            raise UsageError(f"{name} with {attribute} is not supported: export it without")


def _text(word: Any) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)
