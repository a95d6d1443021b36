"""Which operations of a captured graph may become ours."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import Graph, Node

from tunesmith.networks.torch_backend.capture import importable

_TYPES = frozenset(
    {torch.float32, torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64}
)

# They read or write at places that other tensors name, and would not stop at the end of memory.
_INDEXED = (
    "gather",
    "index",
    "index_put",
    "index_select",
    "one_hot",
    "scatter",
    "slice_scatter",
    "take",
)
_LOOK_UP = "embedding.default"
# These hand indices on: see networks/indices.py.
_SAME_INDICES = ("_to_copy", "permute", "reshape", "squeeze", "transpose", "unsqueeze", "view")

UNCHECKED = "its indices are not known to be inside of its input"

Refused = Mapping[str, str]
"""Why PyTorch computes nodes, by their names; "" where there is nothing to say."""


def operation(node: Node) -> str:
    """The name of an operation, such as ``conv2d.default``."""
    return str(getattr(node.target, "__name__", node.target))


def refusals(graph: Graph, known: Refused) -> dict[str, str]:
    """What cannot be ours in a graph: what is known already, and what follows from the nodes."""
    found = dict(known)
    for node in graph.nodes:
        if node.op == "call_function" and node.name not in found:
            why = _refusal(node, found)
            if why is not None:
                found[node.name] = why
    return found


def _refusal(node: Node, found: Refused) -> str | None:
    if node.target is operator.getitem:
        return found.get(node.args[0].name) or _unusable(node.meta["val"])
    if not isinstance(node.target, torch._ops.OpOverload):
        return "it is no operation of ATen"
    if is_constant(node):
        return ""  # a constant of the parts that read it
    reasons = (_unusable(each.meta["val"]) for each in (node, *node.all_input_nodes))
    return _unsafe(node, found) or next((why for why in reasons if why is not None), None)


def _unsafe(node: Node, found: Refused) -> str | None:
    """Why an operation of ATen cannot be one of ours, whatever its tensors are."""
    name = operation(node)
    if name not in importable():
        return "it is not supported"
    if _is_random(node):
        return "it is random"
    if node.target._schema.is_mutable:
        return "it writes to what it reads"
    if name.partition(".")[0] in _INDEXED:
        return UNCHECKED
    if name == _LOOK_UP and not _is_checked(node.args[1], found):
        return UNCHECKED
    return None


def is_constant(node: Node) -> bool:
    """Whether a node is a weight, or makes the same tensor in each call, such as ``arange``."""
    if node.op == "get_attr":
        return True
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and not node.all_input_nodes
        and not operation(node).startswith("empty")
        and not _is_random(node)
    )


def _is_random(node: Node) -> bool:
    """Whether an operation draws numbers: one with dropout draws none in inference."""
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    names = [argument.name for argument in node.target._schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    if given.get("train") is False:
        return False
    return "dropout_p" not in names or bool(given.get("dropout_p"))


def _is_checked(index: Any, found: Refused) -> bool:
    """Whether indices are an input of the part that looks them up: calls check those."""
    while (
        index.op == "call_function"
        and index.name not in found
        and operation(index).partition(".")[0] in _SAME_INDICES
    ):
        index = index.args[0]
    return index.op == "placeholder" or index.name in found


def _unusable(value: Any) -> str | None:
    """Why a tensor cannot be one of ours; those of an operation with several are looked at when
    they are read."""
    if not isinstance(value, torch.Tensor):
        return None
    if value.dtype not in _TYPES:
        return f"it computes with {str(value.dtype).removeprefix('torch.')}"
    if value.layout is not torch.strided:
        return "it has sparse tensors"
    return None if value.numel() else "it has empty tensors"


def leave_views(graph: Graph, is_ours: Callable[[Node], bool]) -> None:
    """PyTorch makes the views that a graph returns, and those that its own operations read.

    So they share memory with what they are views of, and have the strides that PyTorch gives them.
    The same views inside of our parts stay there. ``meta["is_left"]`` marks what is PyTorch's.
    """
    for node in reversed(graph.nodes):
        if not (is_ours(node) and node.meta.get("is_view")):
            continue
        outside = [user for user in node.users if not is_ours(user)]
        if not outside:
            continue
        with graph.inserting_after(node):
            left = graph.node_copy(node)
        left.meta["is_left"] = True
        for user in outside:
            user.replace_input_with(node, left)
    graph.eliminate_dead_code()
