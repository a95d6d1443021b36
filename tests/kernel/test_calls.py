"""Calls on arrays wherever they start, without a copy, and by several threads at once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.kernels import SQUARE, aligned, assert_right, inputs_of, kernel_of
from tunesmith import operators
from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Argument, Operator, conv2d, matmul
from tunesmith.sketches import Sketch, sketches_for
from tunesmith.sketches.tir.weights import WEIGHT
from tunesmith.target import Target, instructions

OPERATORS = (
    matmul(m=6, n=32, k=16, bias=True),
    matmul(m=6, n=32, k=16, constant_weights=True),
    matmul(m=4, n=32, k=16, dtype="bfloat16", constant_weights=True),
    matmul(m=4, n=32, k=16, dtype="int8"),
    conv2d(ci=16, h=6, w=6, co=16, kernel=3, padding=1, bias=True, relu=True),
    conv2d(ci=16, h=6, w=6, co=16, kernel=3, padding=1, constant_weights=True),
    operators.depthwise_conv2d(c=16, h=6, w=6, kernel=3, padding=1),
    operators.softmax(m=3, n=32),
    operators.layer_norm(m=3, n=32),
    operators.pool2d(c=16, h=6, w=6, kernel=2, stride=2),
)
TARGETS = [Target(mcpu=name, cores=1) for name in ("haswell", "skylake-avx512")]


def _cases() -> list[Any]:
    return [
        pytest.param(operator, target, sketch, id=f"{operator.key}-{target.mcpu}-{sketch.name}")
        for operator in OPERATORS
        for target in TARGETS
        for sketch in sketches_for(operator, target)
    ]


def _moved(array: Any, offset: int) -> Any:
    copy = aligned(array.shape, array.dtype, offset) if array.dtype.kind == "f" else None
    if copy is None:
        memory = np.empty(array.nbytes + 128, np.uint8)
        start = -memory.ctypes.data % 64 + offset
        copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize(("operator", "target", "sketch"), _cases())
def test_a_program_takes_arrays_that_start_anywhere(
    operator: Operator, target: Target, sketch: Sketch
) -> None:
    if instructions(target.processor) - instructions(Target().processor):
        pytest.skip(f"this processor has not all instructions of {target.processor}")
    config = sketch.default(operator, target)
    kernel: Any = Kernel.build(operator, target, sketch.program(operator, target, config), config)
    inputs = inputs_of(operator)
    expected = operator.reference(*inputs)
    step = min(array.itemsize for array in inputs)
    for offset in range(0, 64, step * (1 if step > 2 else 3)):
        given = [_moved(array, offset) for array in inputs]
        out = _moved(np.zeros_like(expected), offset)
        call = kernel.prepare(given.pop(WEIGHT)) if _constant(operator) else kernel
        assert call(*given, out=out) is out
        assert_right(operator, out, inputs)
        assert_right(operator, call(*given), inputs)


def _constant(operator: Any) -> bool:
    return getattr(operator, "constant_weights", False)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_nothing_is_copied_and_no_step_is_taken_twice(
    dtype: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = matmul(m=4, n=8, k=8, dtype=dtype)
    inputs = [_moved(array, 2 if array.itemsize == 2 else 4) for array in inputs_of(operator)]
    expected = operator.reference(*inputs)
    given: list[Any] = inputs
    out: Any = _moved(np.zeros_like(expected), 4)
    if library == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        if dtype == "bfloat16":
            given = [torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) for a in inputs]
            result = torch.from_numpy(out.view(np.int16)).view(torch.bfloat16)
        else:
            given, result = [torch.from_numpy(a) for a in inputs], torch.from_numpy(out)
    else:
        result = out
    kernel = kernel_of(operator)

    def refuse(*arguments: Any, **named: Any) -> None:
        raise AssertionError("the longer way was taken")

    for name in ("input_tensor", "output_tensor", "_copied"):
        monkeypatch.setattr(arrays, name, refuse)
    assert kernel(*given, out=result) is result
    assert_right(operator, out, inputs)
    new = kernel(*given)
    assert type(new) is type(given[0])
    if library == "numpy":
        assert_right(operator, new, inputs)
    else:
        assert (new == result).all()


def test_a_read_only_array_is_read_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    data, weight = inputs_of(SQUARE)
    data.flags.writeable = False
    monkeypatch.setattr(arrays, "_copied", lambda value: pytest.fail("it is copied"))
    assert_right(SQUARE, kernel_of(SQUARE)(data, weight), [data, weight])


@pytest.mark.parametrize("shape", [(), (3, 5)])
def test_a_copy_is_aligned_and_of_the_same_shape(shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    memory = np.arange(count + 32, dtype=np.float32)
    start = -memory.ctypes.data % arrays.ALIGNMENT // 4 + 1
    value = memory[start : start + count].reshape(shape)
    tensor = arrays.input_tensor(value, Argument("data", shape, "float32"), arrays.ALIGNMENT)
    assert tensor.data_ptr() % arrays.ALIGNMENT == 0
    assert tensor.data_ptr() != value.ctypes.data
    np.testing.assert_array_equal(arrays.as_numpy(tensor), value, strict=True)


def test_what_changes_between_calls_is_seen_each_time() -> None:
    data, weight = inputs_of(SQUARE)
    kernel, out = kernel_of(SQUARE), aligned((16, 16), offset=4)
    kernel(data, weight, out=out)
    out.flags.writeable = False
    before = out.copy()
    with pytest.raises(UsageError, match=r"\Aout is read-only: give an array that "):
        kernel(data, weight, out=out)
    np.testing.assert_array_equal(out, before)
    expected = SQUARE.reference(data, weight)
    kernel(data, weight, out=data)
    np.testing.assert_allclose(data, expected, 1e-4, 1e-4)


def test_several_threads_call_one_kernel_at_once() -> None:
    operator = matmul(m=16, n=32, k=16, constant_weights=True)
    _, weight = inputs_of(operator)
    prepared, kernel = kernel_of(operator).prepare(weight), kernel_of(SQUARE)
    wrong: list[object] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        first, second = inputs_of(operator, seed), inputs_of(SQUARE, seed)
        want, want_square = operator.reference(first[0], weight), SQUARE.reference(*second)
        out = np.empty_like(want)
        start.wait()
        for _ in range(200):
            results = (prepared(first[0]), prepared(first[0], out=out), kernel(*second))
            for result, right in zip(results, (want, want, want_square), strict=True):
                if not np.allclose(result, right, 1e-4, 1e-4):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
