"""ONNX files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, UsageError, last_line, system_reason
from tunesmith.networks.check import Source, SourceError
from tunesmith.networks.graph import Array
from tunesmith.networks.importing.onnx_operators import own_operators
from tunesmith.networks.importing.onnx_padding import with_padding_in_numbers

_UNSUPPORTED = re.compile(r"not supported for frontend ONNX:\s*(.*)", re.DOTALL)


def read_model(path: str | Path) -> Any:
    """The ``onnx.ModelProto`` of a file.

    Raises ``UsageError`` for a file that is missing or holds no model, or whose weights are
    missing, and ``MissingDependencyError`` without the package ``onnx``.
    """
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError(
            "networks in ONNX need the package onnx: pip install 'tunesmith[networks]'"
        ) from None
    try:
        model = onnx.load(str(path), load_external_data=False)
        _check_version(model, path)
        _load_weights(model, Path(path))
        onnx.checker.check_model(model)
    except UsageError:
        raise
    except FileNotFoundError as error:
        missing = error.filename or path
        raise UsageError(f"there is no file {missing}: name a model that is there") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {system_reason(error)}") from error
    except Exception as error:
        raise UsageError(f"{path} is no model in ONNX: {last_line(error)}") from error
    return model


def _check_version(model: Any, path: str | Path) -> None:
    """Raises ``UsageError`` for a model whose operators are of a newer version than the package."""
    import onnx

    known = onnx.defs.onnx_opset_version()
    newest = max((each.version for each in model.opset_import if not each.domain), default=0)
    if newest > known:
        raise UsageError(
            f"{path} has operators of version {newest}, and the package onnx {onnx.__version__} "
            f"knows them up to {known}: export the model for an older version"
        )


def _load_weights(model: Any, path: Path) -> None:
    """Load the weights of a model that are in other files, in the model's folder.

    Raises ``UsageError`` if these are missing or cut off.
    """
    from onnx.external_data_helper import load_external_data_for_model

    places = [entry for tensor in model.graph.initializer for entry in tensor.external_data]
    for name in {entry.value for entry in places if entry.key == "location"}:
        if not (path.parent / name).is_file():
            raise UsageError(
                f"the weights of {path} are missing: put the file {name} into the same folder"
            )
    try:
        load_external_data_for_model(model, str(path.parent))
    except Exception as error:
        raise UsageError(
            f"the weights of {path} cannot be read: {last_line(error)}: copy the model again"
        ) from error


def input_shapes(model: Any, batch: int) -> Mapping[str, Sequence[int]]:
    """The shapes of a model's inputs by name; ``batch`` stands for a first size that is no number.

    Raises ``UsageError`` for other sizes that are none.
    """
    weights = _weights(model)
    found = {}
    for given in model.graph.input:
        if given.name in weights:
            continue
        sizes = []
        for place, size in enumerate(given.type.tensor_type.shape.dim):
            if size.HasField("dim_value"):
                sizes.append(int(size.dim_value))
            elif place == 0:
                sizes.append(batch)
            else:
                raise UsageError(
                    f"input {given.name} has the unknown size {size.dim_param or '?'}: export the "
                    "model with fixed sizes, but for the batch"
                )
        found[given.name] = sizes
    return found


def module_of(model: Any, batch: int = 1) -> Any:
    """The Relax module of a model. Raises ``UsageError`` for what cannot be imported."""
    from tvm.relax.frontend.onnx import from_onnx

    if any(_is_new_attention(node) for node in model.graph.node):
        raise UsageError(
            f"this network has operators that are not supported: {_placed('Attention', model)}, as "
            "of opset 23: export it with an older one"
        )
    shapes = {name: list(shape) for name, shape in input_shapes(model, batch).items()}
    try:
        padded = with_padding_in_numbers(model, shapes)
        with own_operators(), redirect_stdout(StringIO()):  # it prints what it refuses
            return from_onnx(padded, shape_dict=shapes, keep_params_in_input=False)
    except UsageError:
        raise
    except Exception as error:
        unsupported = _UNSUPPORTED.search(str(error))
        if unsupported:
            names = ", ".join(_placed(name.strip(" ,"), model) for name in unsupported[1].split())
            raise UsageError(
                f"this network has operators that are not supported: {names}"
            ) from error
        raise UsageError(f"this network cannot be imported: {last_line(error)}") from error


def _is_new_attention(node: Any) -> bool:
    """Whether a node is ONNX's own attention; ONNX Runtime has another operator of that name."""
    return node.op_type == "Attention" and node.domain in ("", "ai.onnx")


def _placed(operator: str, model: Any) -> str:
    """The name of an operator, with the first node that has it: its name, or what it makes."""
    for node in model.graph.node:
        if node.op_type == operator:
            return f"{operator} (node {node.name or 'that makes ' + node.output[0]})"
    return operator


def source_of(model: Any) -> Source:
    """What ONNX Runtime computes of inputs, or where it is missing or refuses the model ONNX's own
    evaluator.

    It raises ``SourceError`` for a model that this evaluator cannot compute either.
    """
    names = [given.name for given in model.graph.input if given.name not in _weights(model)]
    try:
        import onnxruntime

        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
    except ImportError:
        return partial(_evaluated, model, names, "install onnxruntime, which computes more")
    except Exception as error:
        return partial(_evaluated, model, names, f"ONNX Runtime refuses it: {last_line(error)}")
    return partial(_run, session, names)


def _run(session: Any, names: Sequence[str], inputs: Sequence[Array]) -> list[Array]:
    try:
        return list(session.run(None, dict(zip(names, inputs, strict=True))))
    except Exception as error:
        raise SourceError(f"ONNX Runtime cannot run the network: {last_line(error)}") from error


def _evaluated(
    model: Any, names: Sequence[str], remark: str, inputs: Sequence[Array]
) -> list[Array]:
    """The results of ONNX's own evaluator, which computes fewer models than we do."""
    from onnx.reference import ReferenceEvaluator

    try:
        results = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    except Exception as error:
        raise SourceError(
            f"ONNX's own evaluator cannot compute the network ({last_line(error)}): {remark}"
        ) from error
    return list(results)


def _weights(model: Any) -> set[str]:
    return {tensor.name for tensor in model.graph.initializer}
