"""What the emulated GPU cannot tell: kernels and networks with PyTorch on a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import BIASED, DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of
from tests.models.test_tree_gru import nests
from tests.networks.gpu import gpu_choices, model_of, several
from tunesmith.cuda.devices import gpus
from tunesmith.errors import TunesmithError
from tunesmith.kernel.kernel import Kernel
from tunesmith.models.tree_gru import TreeGRU
from tunesmith.networks import from_torch, load
from tunesmith.operators import Operator, conv2d, matmul
from tunesmith.sketches import sketches, sketches_for
from tunesmith.target import Target

torch: Any = pytest.importorskip("torch", reason="tests on a real GPU need PyTorch")

GPU = Target("cuda")
SMALL_LAYER = conv2d(ci=32, h=14, w=14, co=64, kernel=3, padding=1, constant_weights=True)


def _missing() -> str | None:
    """Why these tests cannot run here."""
    try:
        gpus()
    except TunesmithError as error:
        return str(error)
    return None if torch.cuda.is_available() else "this PyTorch cannot use the GPU"


MISSING = _missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


def tensors(*arrays: Any) -> list[Any]:
    return [torch.from_numpy(np.array(array)).cuda() for array in arrays]


def built(operator: Operator, name: str) -> Kernel:
    sketch = sketches()[name]
    config = sketch.default(operator, GPU)
    return Kernel.build(operator, GPU, sketch.program(operator, GPU, config), config)


def test_arrays_in_main_memory() -> None:
    inputs = inputs_of(BIASED)
    assert_right(BIASED, kernel_of(BIASED, GPU)(*inputs), inputs)


def test_tensors_of_pytorch_give_one() -> None:
    result = kernel_of(SQUARE, GPU)(*tensors(DATA, WEIGHT))
    assert result.is_cuda
    assert_right(SQUARE, result.cpu().numpy(), [DATA, WEIGHT])


def test_tensors_that_are_transposed_are_copied() -> None:
    data, weight = tensors(np.ascontiguousarray(DATA.T), WEIGHT)
    result = kernel_of(SQUARE, GPU)(data.T, weight)
    assert_right(SQUARE, result.cpu().numpy(), [DATA, WEIGHT])


def test_it_runs_on_the_stream_of_pytorch() -> None:
    """The call waits for what is on the stream before it: a long product, then its inputs."""
    kernel, (data, weight) = kernel_of(SQUARE, GPU), tensors(DATA, WEIGHT)
    late, stream = torch.zeros_like(data), torch.cuda.Stream()
    large = torch.ones(8192, 8192, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        large @ large
        late.copy_(data)
        result = kernel(late, weight)
    stream.synchronize()
    assert_right(SQUARE, result.cpu().numpy(), [DATA, WEIGHT])


def test_a_cuda_graph_of_pytorch() -> None:
    kernel, (data, weight) = kernel_of(SQUARE, GPU), tensors(np.zeros_like(DATA), WEIGHT)
    out = torch.empty_like(data)
    kernel(data, weight, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(data, weight, out=out)
    data.copy_(torch.from_numpy(DATA))
    graph.replay()
    torch.cuda.synchronize()
    assert_right(SQUARE, out.cpu().numpy(), [DATA, WEIGHT])


@pytest.mark.parametrize("name", [each.name for each in sketches_for(SMALL_LAYER, GPU)])
def test_prepared_and_saved_kernels(name: str, tmp_path: Path) -> None:
    built(SMALL_LAYER, name).save(tmp_path / "layer.so")
    data, weight = inputs_of(SMALL_LAYER)
    prepared = Kernel.load(tmp_path / "layer.so").prepare(weight)
    for given in (data, *tensors(data)):
        result = prepared(given)
        found = result if isinstance(result, np.ndarray) else result.cpu().numpy()
        assert_right(SMALL_LAYER, found, [data, weight])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_16_bits(dtype: str) -> None:
    operator = matmul(m=256, n=192, k=320, dtype=dtype)
    inputs = inputs_of(operator)
    wide = [torch.from_numpy(each.astype(np.float32)) for each in inputs]
    given = [each.to("cuda", getattr(torch, dtype)) for each in wide]
    for sketch in sketches_for(operator, GPU):
        result = built(operator, sketch.name)(*given)
        assert result.dtype == getattr(torch, dtype)
        assert_right(operator, result.float().cpu().numpy(), inputs)


@pytest.mark.parametrize("name", ["residual", "transformer", "uncovered"])
def test_networks(name: str, tmp_path: Path) -> None:
    model, example = model_of(name)
    network = from_torch(model, example, "cuda")
    compiled = network.built(gpu_choices(network))
    loaded = load(compiled.save(tmp_path / "net.so"))
    with torch.no_grad():
        expected = model(example)
    for found in (compiled(example.numpy()), loaded(example.cuda())):
        pairs = zip(several(found), several(expected), strict=True)
        for ours, theirs in pairs:
            torch.testing.assert_close(torch.as_tensor(ours).cpu(), theirs, rtol=1e-4, atol=1e-5)


def test_the_tree_gru_learns_on_the_gpu() -> None:
    """It takes the GPU by itself, and predicts what it predicts on the processor."""
    features, values = nests(300, seed=0)
    others, expected = nests(100, seed=1)
    predicted = []
    for device in (None, "cpu"):
        model = TreeGRU(12, loops=4, steps=200, device=device)
        model.fit(features, values)
        predicted.append(model.predict(others).means)
    assert TreeGRU(12, loops=4)._device == "cuda"
    assert np.corrcoef(predicted[0], expected)[0, 1] > 0.9
    assert np.corrcoef(predicted[0], predicted[1])[0, 1] > 0.9
