"""Kernels as callables over what is no NumPy array: PyTorch's tensors, TVM's, anyone's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels import DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of, misaligned
from tunesmith.errors import UsageError
from tunesmith.operators import matmul

# -- PyTorch --------------------------------------------------------------------------------------


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tensors_give_a_tensor(torch: Any) -> None:
    data, weight = map(torch.from_numpy, (DATA, WEIGHT))
    result = kernel_of(SQUARE)(data, weight)
    assert isinstance(result, torch.Tensor)
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])
    assert isinstance(kernel_of(SQUARE)(DATA, weight), np.ndarray), "the first one decides"


def test_tensors_may_lie_in_memory_in_any_way(torch: Any) -> None:
    memory = torch.zeros(257)
    moved = memory[1:].view(16, 16).copy_(torch.from_numpy(DATA))
    transposed = torch.from_numpy(DATA.T.copy()).T
    for data in (moved, transposed):
        result = kernel_of(SQUARE)(data, torch.from_numpy(WEIGHT))
        assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])


def test_gradients_end_at_a_kernel(torch: Any) -> None:
    data = torch.from_numpy(DATA.copy()).requires_grad_()
    result = kernel_of(SQUARE)(data, torch.from_numpy(WEIGHT))
    assert not result.requires_grad
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])


@pytest.mark.parametrize("offset", [0, 1], ids=["aligned", "misaligned"])
def test_tensors_of_bfloat16(torch: Any, offset: int) -> None:
    operator = matmul(m=16, n=16, k=16, dtype="bfloat16")
    inputs = inputs_of(operator)
    tensors = [
        torch.zeros(257, dtype=torch.bfloat16)[offset:][:256]
        .view(16, 16)
        .copy_(torch.from_numpy(array.astype(np.float32)))
        for array in inputs
    ]
    result = kernel_of(operator)(*tensors)
    assert result.dtype == torch.bfloat16
    assert_right(operator, result.float().numpy(), inputs)


@pytest.mark.parametrize("kind", ["aligned", "misaligned", "transposed"])
def test_out_may_be_a_tensor(torch: Any, kind: str) -> None:
    memory = torch.full((257,), torch.nan)
    out = {
        "aligned": memory[:256].view(16, 16),
        "misaligned": memory[1:].view(16, 16),
        "transposed": memory[:256].view(16, 16).T,
    }[kind]
    assert kernel_of(SQUARE)(DATA, WEIGHT, out=out) is out
    assert_right(SQUARE, out.numpy(), [DATA, WEIGHT])


def test_out_may_be_the_input_tensor(torch: Any) -> None:
    data = torch.from_numpy(DATA).clone()
    kernel_of(SQUARE)(data, WEIGHT, out=data)
    assert_right(SQUARE, data.numpy(), [DATA, WEIGHT])


def test_tensors_that_do_not_fit_are_refused_in_one_line(torch: Any) -> None:
    kernel, zeros = kernel_of(SQUARE), torch.zeros(16, 16)
    for data, reason in [
        (zeros.double(), "data must be float32 of shape .+, not float64"),
        (torch.zeros(16, 16, device="meta"), "data cannot be used as an array: "),
        (zeros.to_sparse(), "data cannot be used as an array: "),
    ]:
        with pytest.raises(UsageError, match=rf"\A{reason}.*\Z"):
            kernel(data, WEIGHT)
    for out, reason in [
        (zeros.clone().requires_grad_(), r"out requires gradients: give out\.detach\(\)"),
        (torch.zeros(16, 1).expand(16, 16), "out cannot be used as an array: "),
    ]:
        with pytest.raises(UsageError, match=rf"\A{reason}.*\Z"):
            kernel(DATA, WEIGHT, out=out)


# -- TVM ------------------------------------------------------------------------------------------


def test_tensors_of_tvm_are_taken_filled_and_returned() -> None:
    import tvm

    data = tvm.runtime.tensor(DATA)
    result = kernel_of(SQUARE)(data, WEIGHT)
    assert isinstance(result, tvm.runtime.Tensor)
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])
    assert kernel_of(SQUARE)(data, WEIGHT, out=data) is data
    assert_right(SQUARE, data.numpy(), [DATA, WEIGHT])


# -- other libraries ------------------------------------------------------------------------------


class OnlyDlpack:
    """An array of a library that nobody knows, somewhere."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self._array = array
        self._device = device
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0


def test_arrays_of_unknown_libraries_are_taken_and_numpy_ones_returned() -> None:
    kernel = kernel_of(SQUARE)
    for data in (DATA, misaligned(DATA)):
        result = kernel(OnlyDlpack(data), OnlyDlpack(WEIGHT))
        assert isinstance(result, np.ndarray)
        assert_right(SQUARE, result, [DATA, WEIGHT])
    with pytest.raises(UsageError, match=r"\Aout must be a NumPy array or a PyTorch tensor, not "):
        kernel(DATA, WEIGHT, out=OnlyDlpack(DATA.copy()))


def test_an_array_on_another_device_is_refused() -> None:
    message = r"\Adata must be in main memory: copy it there from its device\Z"
    with pytest.raises(UsageError, match=message):
        kernel_of(SQUARE)(OnlyDlpack(DATA, device=2), WEIGHT)
