"""Arguments of PyTorch's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def arguments(node: Any, importer: Any, *defaults: Any) -> Sequence[Any]:
    """A node's arguments in order, tensors as Relax has them, with defaults of the last ones."""
    names = [argument.name for argument in node.target._schema.arguments]
    required = len(names) - len(defaults)
    values = dict(zip(names[required:], defaults, strict=True))
    values |= dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return [_relax(values[name], importer) for name in names]


def _relax(value: Any, importer: Any) -> Any:
    return importer.env.get(value, value) if hasattr(value, "op") else value
