"""The entry point: from a graph of TorchDynamo to a callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.networks.torch_backend.calls import CompiledGraph, described
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.remarks import Remarks


def backend(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Sequence[Any]]:
    """What TorchDynamo calls instead of a graph that it has captured.

    ``options`` are the fields of ``Options``. The graph is compiled when it is called first, so
    that is when errors are raised: ``UsageError`` for unknown options, and ``StoreError`` for a
    store that cannot be used. What cannot be compiled is left to PyTorch.
    """
    try:
        chosen = Options.of(options, mode)
    except UsageError as error:  # raised here PyTorch would wrap it in lines of its own
        return _raising(error)
    remarks = Remarks(chosen.quiet)
    why = _why_eager(graph_module, example_inputs)
    if why is not None:
        remarks.say(f"PyTorch computes {described(graph_module)}: {why}")
        return graph_module.forward  # type: ignore[no-any-return]
    return CompiledGraph(graph_module, chosen, remarks)


def _why_eager(graph_module: Any, example_inputs: Sequence[Any]) -> str | None:
    """Why PyTorch has to compute a whole graph; None if it does not."""
    import torch

    (output,) = graph_module.graph.find_nodes(op="output")
    results = [node.meta.get("example_value") for node in output.all_input_nodes]
    if any(isinstance(each, torch.Tensor) and each.requires_grad for each in results):
        return (
            "its results need gradients (call the model under torch.no_grad() or "
            "torch.inference_mode())"
        )
    tensors = [each for each in example_inputs if isinstance(each, torch.Tensor)]
    devices = sorted({each.device.type for each in tensors} - {"cpu"})
    if torch.is_autocast_enabled("cpu"):
        return "it is under autocast, and networks are compiled for float32"
    if devices:
        return f"it has tensors on {', '.join(devices)}, and networks are compiled for CPUs"
    return None


def _raising(error: UsageError) -> Callable[..., Sequence[Any]]:
    def call(*_: Any) -> Sequence[Any]:
        raise error

    return call
