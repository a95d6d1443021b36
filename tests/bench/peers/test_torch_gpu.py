"""PyTorch's operators for GPUs: set up on the processor, timed by CUDA that only pretends."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tunesmith.bench.gpu.workloads import small_operators
from tunesmith.bench.peers import refusals
from tunesmith.bench.peers.torch_gpu import (
    GpuTimer,
    HostTimer,
    library_of,
    torch_ways,
    use_full_precision,
)
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.operators import (
    Conv2d,
    Operator,
    ProductOperator,
    batch_matmul,
    conv2d,
    matmul,
    softmax,
)

torch = pytest.importorskip("torch", reason="PyTorch is what is compared with")

_PRODUCTS = [
    one
    for one in small_operators()
    if isinstance(one, ProductOperator) and refusals.torch(one) is None
]
# As PyTorch may round between the sum and what comes after it.
_COARSE = {"float16": 2.0**-8, "bfloat16": 2.0**-5}


# --- What is computed


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("operator", _PRODUCTS, ids=lambda operator: operator.key)
def test_every_way_computes_the_operator(operator: Operator) -> None:
    inputs = operator.make_inputs(0)
    expected = np.asarray(operator.reference(*inputs), "float64")
    relative, absolute = operator.tolerance
    coarse = _COARSE.get(operator.dtype, 0.0)
    scale = max(1.0, float(np.abs(expected).max()))
    with torch.backends.mkldnn.flags(enabled=False):
        for name, call in torch_ways(operator, inputs, "cpu").items():
            result: Any = call()
            if getattr(operator, "layout", "NCHW") == "NHWC":
                result = result.permute(0, 2, 3, 1)
            np.testing.assert_allclose(
                result.double().numpy(),
                expected,
                max(relative, coarse),
                max(absolute, coarse * scale),
                err_msg=name,
            )


def test_the_ways() -> None:
    def ways(operator: Operator) -> dict[str, Any]:
        return torch_ways(operator, operator.make_inputs(0), "cpu")

    layer = conv2d(ci=4, h=6, w=6, co=8, kernel=3)
    assert list(ways(layer)) == ["NCHW", "channels last"]
    assert list(ways(conv2d(ci=4, h=6, w=6, co=8, kernel=3, layout="NHWC"))) == ["channels last"]
    assert list(ways(matmul(m=4, n=4, k=4))) == ["cuBLAS", "cuBLASLt"]
    assert library_of(layer) == "cuDNN"
    assert library_of(batch_matmul(b=1, m=4, n=4, k=4)) == "cuBLAS"


def test_images_have_their_channels_last_in_memory() -> None:
    layer = conv2d(ci=4, h=6, w=6, co=8, kernel=3)
    plain, last = (call() for call in torch_ways(layer, layer.make_inputs(0), "cpu").values())
    assert plain.stride()[1] != 1
    assert last.stride()[1] == 1
    assert isinstance(layer, Conv2d)
    assert last.shape == layer.output_shape


def test_products_are_written_to_the_same_memory() -> None:
    product = matmul(m=4, n=4, k=4)
    for call in torch_ways(product, product.make_inputs(0), "cpu").values():
        assert call().data_ptr() == call().data_ptr()


def test_what_is_not_compared_is_refused() -> None:
    for operator in (softmax(m=2, n=3), matmul(m=2, n=2, k=2, dtype="int8")):
        with pytest.raises(UsageError, match="is not compared on GPUs"):
            torch_ways(operator, operator.make_inputs(0), "cpu")


def test_float32_is_computed_in_float32() -> None:
    before = torch.is_grad_enabled()
    try:
        use_full_precision()
        assert not torch.backends.cudnn.allow_tf32
        assert not torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.benchmark
    finally:
        torch.set_grad_enabled(before)
        torch.backends.cudnn.benchmark = False


# --- How long it takes


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="this PyTorch has CUDA")
def test_a_pytorch_without_cuda_is_said() -> None:
    with pytest.raises(MissingDependencyError, match=r"PyTorch .* is without CUDA: install a"):
        GpuTimer()


def test_the_processor_is_timed_by_its_clock() -> None:
    calls = []
    seconds = HostTimer().recorded(lambda: calls.append(1))(0.001)
    assert 0 < seconds < 0.001
    assert len(calls) > 10


@dataclass
class PretendedCuda:
    """CUDA's part of PyTorch: a call takes ``call_seconds``, and what happens is written down."""

    call_seconds: float
    now: float = 0.0
    recording: Any = None
    captured: list[int] = field(default_factory=list)
    replays: int = 0

    def call(self) -> None:
        if self.recording is not None:
            self.recording.calls += 1

    def module(self) -> Any:
        here = self

        class Graph:
            calls = 0

            def replay(self) -> None:
                here.replays += 1
                here.now += self.calls * here.call_seconds

        class Capture:
            def __init__(self, graph: Any, stream: Any) -> None:
                self.graph = graph

            def __enter__(self) -> None:
                here.recording = self.graph

            def __exit__(self, *_: object) -> None:
                here.captured.append(self.graph.calls)
                here.recording = None

        class Event:
            at = 0.0

            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = here.now

            def synchronize(self) -> None:
                pass

            def elapsed_time(self, end: Any) -> float:
                return 1e3 * float(end.at - self.at)

        class Stream:
            def __enter__(self) -> None:
                pass

            def __exit__(self, *_: object) -> None:
                pass

        cuda = SimpleNamespace(
            is_available=lambda: True, Stream=Stream, stream=lambda stream: stream, Event=Event,
            CUDAGraph=Graph, graph=Capture, synchronize=lambda: None,
        )  # fmt: skip
        backends = SimpleNamespace(cuda=SimpleNamespace(is_built=lambda: True))
        return SimpleNamespace(cuda=cuda, backends=backends)


@pytest.mark.parametrize(
    ("call_seconds", "graph", "launches"), [(1e-5, 100, 10), (5e-4, 20, 1), (0.3, 1, 1)]
)
def test_graphs_fill_a_round(
    monkeypatch: pytest.MonkeyPatch, call_seconds: float, graph: int, launches: int
) -> None:
    cuda = PretendedCuda(call_seconds)
    monkeypatch.setitem(sys.modules, "torch", cuda.module())
    seconds = GpuTimer().recorded(cuda.call)
    before = cuda.replays
    assert seconds(0.01) == pytest.approx(call_seconds)
    assert cuda.captured == [1, graph]
    assert cuda.replays - before == 2 * launches, "once before what is timed"
    assert seconds(0.01) == pytest.approx(call_seconds)
    assert cuda.captured == [1, graph], "it is recorded once"
