"""Where an operation of PyTorch stands in the user's code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def place_of(node: Any) -> str:
    """The line of code that a node of ``torch.fx`` is from, as ``model.py, line 12``; empty if
    PyTorch does not know it."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return ""
    file, line = frames[-1]
    return f"{Path(file).name}, line {line}"


def module_of_node(node: Any) -> str:
    """The path of the module that a node is from, such as ``encoder.2``; empty if it is not in a
    submodule."""
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    return str(modules[-1][0]) if modules else ""


def placed(name: str, nodes: Iterable[Any]) -> str:
    """The name of an operation, with the first place that one of these nodes has it at."""
    for node in nodes:
        if str(getattr(node.target, "__name__", "")) != name:
            continue
        module = module_of_node(node)
        where = [f"module {module}" if module else "", place_of(node)]
        found = ", ".join(each for each in where if each)
        return f"{name} ({found})" if found else name
    return name
