"""A captured graph for one set of shapes, as functional operations of ATen on fake tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.fx.graph import CodeGen
from torch.fx.node import map_arg

from tunesmith.errors import TunesmithError
from tunesmith.networks.importing.pytorch import decomposed, exported
from tunesmith.networks.torch_backend.arguments import SCALAR, Arguments, number

# Operations to decompose, though TVM's importer has them: see importing/pytorch.py.
_DECOMPOSED = frozenset({"batch_norm.default"})

# They check what is known when a graph is compiled.
_CHECKS = ("_assert_tensor_metadata.default", "_assert_scalar.default")


class NotCapturedError(TunesmithError):
    """A graph that PyTorch has to compute as a whole. The message says why."""


@cache
def importable() -> Collection[str]:
    """The names of the operations that TVM's importer knows."""
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    return frozenset(ExportedProgramImporter().create_convert_map())


def captured(graph_module: Any, arguments: Arguments, values: Sequence[Any]) -> GraphModule:
    """The graph on values like these: its inputs are those of ``arguments``, the rest is constant.

    Each node has its fake tensor in ``meta["val"]``, and ``meta["is_view"]`` says whether it shares
    the memory of one that it reads. Raises ``NotCapturedError`` for a graph that writes to its
    arguments, and ``UsageError`` for one that PyTorch cannot export.
    """
    bound = _bound(graph_module, arguments, values)
    examples = [_like(values[place]) for place in arguments.inputs]
    program = exported(bound, examples)
    names = set(_DECOMPOSED)
    while True:
        plain = decomposed(program, names)
        if plain.graph_signature.user_inputs_to_mutate or plain.graph_signature.buffers_to_mutate:
            raise NotCapturedError("it writes to its inputs or to buffers")
        unknown = set(_decomposable(plain.graph)) - names
        if not unknown:
            break
        names |= unknown
    module = plain.module(check_guards=False)
    module.graph.set_codegen(CodeGen())
    _tidy(module.graph)
    _Facts(module).run(*examples)
    module.recompile()
    return module


def _bound(graph_module: Any, arguments: Arguments, values: Sequence[Any]) -> GraphModule:
    """The graph with its weights and numbers in place."""
    graph, attributes = Graph(), {}
    now: dict[Node, Any] = {}
    places = iter(range(len(values)))
    for node in graph_module.graph.nodes:
        place = next(places) if node.op == "placeholder" else None
        if place in arguments.numbers:
            now[node] = number(values[place])
        elif place in arguments.weights:
            attributes[node.name] = _constant(values[place])
            now[node] = graph.get_attr(node.name)
        elif node.op == "call_method" and node.target == SCALAR and _is_bound(node, now):
            now[node] = now[node.args[0]]
        elif node.op == "call_function" and node.target is torch._C._set_grad_enabled:
            continue  # no result needs gradients
        else:
            now[node] = graph.node_copy(node, now.__getitem__)
            if node.op in ("get_attr", "call_module"):
                attributes[node.target] = _attribute(graph_module, node.target)
    return GraphModule(attributes, graph)


def _is_bound(node: Node, now: dict[Node, Any]) -> bool:
    return not isinstance(now[node.args[0]], Node)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _constant(weight: Any) -> Any:
    """A weight that can be exported: tensors that were made in inference mode cannot."""
    return weight.clone() if weight.is_inference() else weight.detach()


def _like(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)


def _decomposable(graph: Graph) -> Iterator[str]:
    """The operations that are not known here, and that PyTorch can write with others."""
    can = torch.export.default_decompositions()
    for node in graph.nodes:
        if node.op == "call_function" and node.target in can:
            name = str(node.target).removeprefix("aten.")
            if name not in importable():
                yield name


def _tidy(graph: Graph) -> None:
    """Drop checks, and dropout that does nothing."""
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        name = node.target.__name__
        if name in _CHECKS and not node.users:
            graph.erase_node(node)
        elif name == "dropout.default" and not node.args[2]:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


class _Facts(Interpreter):  # type: ignore[misc]
    """Runs a graph on fake tensors, and notes them."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode()

    def run(self, *examples: Any) -> Any:
        with self._mode:
            return super().run(*map(self._fake, examples))

    def run_node(self, node: Node) -> Any:
        result = super().run_node(node)
        if node.op == "get_attr":
            result = self._fake(result)
        read: list[Any] = []
        map_arg((node.args, node.kwargs), lambda each: read.append(self.env[each]))
        made = set(_memories(result))
        node.meta["val"] = result
        node.meta["is_view"] = any(memory in made for each in read for memory in _memories(each))
        return result

    def _fake(self, value: Any) -> Any:
        return self._mode.from_tensor(value) if isinstance(value, torch.Tensor) else value


def _memories(value: Any) -> Iterator[int]:
    """Identities of the memory of the tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value.untyped_storage()._cdata
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _memories(each)
