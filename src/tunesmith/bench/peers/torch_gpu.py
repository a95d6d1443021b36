"""PyTorch's operators on a GPU, which are cuBLAS's and cuDNN's, and how long a call takes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from tunesmith.bench.peers.torch_operators import own_tensor, product_call
from tunesmith.bench.timing.gpu_time import calls_of
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operator,
    ProductOperator,
)

Call = Callable[[], Any]

# Calls before those that count: cuDNN tries its algorithms in the first one.
_FIRST_CALLS = 3

# As in ``GpuProgram.seconds``: more calls than these are several launches of a graph.
_CALLS_OF_A_GRAPH = 100


def library_of(operator: Operator) -> str:
    """Which of NVIDIA's libraries computes an operator in PyTorch."""
    return "cuBLAS" if isinstance(operator, Matmul | BatchMatmul | Dense) else "cuDNN"


def use_full_precision() -> None:
    """Have float32 computed in float32, and cuDNN try all of its algorithms; learn nothing.

    Sums of 16-bit products may be reduced in 16 bits, as PyTorch has it.
    """
    import torch

    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0  # the first ten, unless told so


def torch_ways(operator: Operator, inputs: Sequence[Any], device: str) -> dict[str, Call]:
    """Calls of an operator on these NumPy arrays, by the names of the ways in which they compute.

    Images are convolved as they are and with their channels last, matrices multiplied into the same
    memory in each call by either of the libraries for it. Raises ``UsageError`` for an operator
    that is not compared.
    """
    import torch

    if not isinstance(operator, ProductOperator) or operator.dtype == "int8":
        raise UsageError(f"{operator.name} of {operator.dtype} is not compared on GPUs")
    tensors = [own_tensor(array).to(device) for array in inputs]
    if isinstance(operator, Matmul | BatchMatmul | Dense):
        result = tensors[0].new_empty(operator.output_shape)
        call = product_call(operator, tensors, result)
        return {"cuBLAS": partial(_by, "cublas", call), "cuBLASLt": partial(_by, "cublaslt", call)}
    plain = product_call(operator, tensors)
    if not isinstance(operator, Conv2d | DepthwiseConv2d | Conv2dTranspose):
        return {"default": plain}
    if getattr(operator, "layout", "NCHW") == "NHWC":
        return {"channels last": plain}
    # Images and weights, all that has four axes, with the channels innermost in memory.
    last = [
        one.contiguous(memory_format=torch.channels_last) if one.dim() == 4 else one
        for one in tensors
    ]
    return {"NCHW": plain, "channels last": product_call(operator, last)}


def _by(library: str, call: Call) -> Any:
    """The call by cuBLAS or by cuBLASLt; a processor has neither."""
    import torch

    if torch.backends.cuda.is_built():
        torch.backends.cuda.preferred_blas_library(library)
    return call()


class Timer(Protocol):
    """How long calls take: ``recorded`` prepares one, and gives a function from the length of a
    round in seconds to the mean seconds of a call in it."""

    @property
    def versions(self) -> Mapping[str, str]:
        """What computes."""
        ...

    def recorded(self, call: Call) -> Callable[[float], float]: ...


class GpuTimer:
    """Times calls on the GPU, without the processor's part in them: CUDA graphs between events.

    Raises ``MissingDependencyError`` where PyTorch has no CUDA, or no GPU.
    """

    def __init__(self) -> None:
        import torch

        if not torch.backends.cuda.is_built():
            raise MissingDependencyError(
                f"PyTorch {torch.__version__} is without CUDA: install a build for CUDA"
            )
        if not torch.cuda.is_available():
            raise MissingDependencyError(
                f"PyTorch {torch.__version__} (CUDA {torch.version.cuda}) finds no GPU that it can "
                "use: the driver may be too old for it"
            )
        self._torch = torch
        self._stream = torch.cuda.Stream()

    @property
    def versions(self) -> Mapping[str, str]:
        torch = self._torch
        return {
            "torch": str(torch.__version__),
            "CUDA of torch": str(torch.version.cuda),
            "cuDNN": str(torch.backends.cudnn.version()),
        }

    def recorded(self, call: Call) -> Callable[[float], float]:
        torch = self._torch
        torch.cuda.synchronize()  # tensors were laid out on another stream
        with torch.cuda.stream(self._stream):
            for _ in range(_FIRST_CALLS):
                call()
        torch.cuda.synchronize()
        once = self._time(self._graph(call, 1), 1)
        graphs: dict[int, Any] = {}

        def seconds(duration: float) -> float:
            calls = calls_of(duration, once)
            size = min(calls, _CALLS_OF_A_GRAPH)
            if size not in graphs:
                graphs.clear()
                graphs[size] = self._graph(call, size)
            return self._time(graphs[size], -(-calls // size)) / size

        return seconds

    def _graph(self, call: Call, size: int) -> Any:
        """So many calls, one after the other."""
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph, stream=self._stream):
            for _ in range(size):
                call()
        return graph

    def _time(self, graph: Any, launches: int) -> float:
        """Seconds of a launch: the second time, when the GPU is at work."""
        cuda = self._torch.cuda
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        with cuda.stream(self._stream):
            for _ in range(2):
                start.record()
                for _ in range(launches):
                    graph.replay()
                end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / launches


class HostTimer:
    """The same for calls on the processor, by its clock: a stand-in where there is no GPU."""

    @property
    def versions(self) -> Mapping[str, str]:
        import torch

        return {"torch": str(torch.__version__)}

    def recorded(self, call: Call) -> Callable[[float], float]:
        from tunesmith.bench.timing.serving import seconds_a_call

        call()
        return lambda duration: seconds_a_call(call, duration)
