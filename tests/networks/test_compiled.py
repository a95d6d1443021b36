"""Compiled networks: called on arrays, saved and loaded."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.networks.choices import defaults
from tests.networks.small import Residual, SeveralResults, random_input, result_of, seeded, torch
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.networks import CompiledNetwork, from_torch, load


@pytest.fixture(scope="module")
def residual() -> CompiledNetwork:
    network = from_torch(seeded(Residual()), random_input(1, 3, 8, 8))
    return network.built(defaults(network))


def test_it_computes_what_pytorch_computes(residual: CompiledNetwork) -> None:
    data = random_input(1, 3, 8, 8)
    found, expected = residual(data), result_of(seeded(Residual()), data)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, expected)


def test_numpy_gives_numpy(residual: CompiledNetwork) -> None:
    data = random_input(1, 3, 8, 8)
    found = residual(data.numpy())
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, residual(data).numpy())


def test_results_of_two_calls_are_apart(residual: CompiledNetwork) -> None:
    data = random_input(1, 3, 8, 8)
    first = residual(data)
    kept = first.clone()
    residual(data * 2)
    torch.testing.assert_close(first, kept)


def test_threads_of_python_wait_for_each_other(residual: CompiledNetwork) -> None:
    data = [random_input(1, 3, 8, 8) * scale for scale in range(4)]
    expected = [residual(each) for each in data]

    def calls(number: int) -> bool:
        return all(torch.equal(residual(data[number]), expected[number]) for _ in range(300))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(calls, range(4)))


def test_unaligned_and_strided_inputs_are_taken(residual: CompiledNetwork) -> None:
    data = random_input(1, 3, 8, 8)
    shifted = torch.cat([torch.zeros(1), data.flatten()])[1:].reshape(data.shape)
    strided = data.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    expected = residual(data)
    for other in (shifted, strided, shifted.numpy(), strided.numpy()):
        torch.testing.assert_close(torch.as_tensor(residual(other)), expected)


def test_copies_of_inputs_use_the_same_memory_again(residual: CompiledNetwork) -> None:
    unaligned = torch.zeros(193)[1:].view(1, 3, 8, 8)
    residual(unaligned)
    (memory,) = residual._copies.values()
    assert memory.nbytes == 4 * 192
    first = residual(unaligned)
    unaligned += 1
    assert not torch.equal(residual(unaligned), first)
    assert [each is memory for each in residual._copies.values()] == [True]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), r"this network takes 1 inputs \(data\): 0"),
        ((np.zeros((1, 3, 8, 9), np.float32),), r"data must be float32 of shape \(1, 3, 8, 8\)"),
        ((np.zeros((1, 3, 8, 8)),), "data must be float32"),
        (("text",), "data must be an array"),
    ],
)
def test_inputs_that_do_not_fit(
    residual: CompiledNetwork, inputs: tuple[object, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        residual(*inputs)


def test_several_results_and_operations_without_an_operator(tmp_path: Path) -> None:
    data = random_input(2, 6)
    model = seeded(SeveralResults())
    network = from_torch(model, data)
    built = network.built(defaults(network))
    built.save(tmp_path / "net.so")
    for compiled in (built, load(tmp_path / "net.so")):
        for found, expected in zip(compiled(data), result_of(model, data), strict=True):
            torch.testing.assert_close(found, expected)


class Views(torch.nn.Module):  # type: ignore[misc]
    """Returns its input, views of it and of each other, and constants with and without a reader."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("unread", torch.rand(5))

    def forward(self, data: Any) -> Any:
        hidden = torch.relu(self.linear(data)).reshape(2, 8)
        views = data, data.reshape(2, 8), hidden, hidden.reshape(16)
        return *views, self.linear.bias, self.unread, self.unread


def test_results_share_no_memory(tmp_path: Path) -> None:
    """Whatever users write to results changes no input, no weight and no other result."""
    model, data = seeded(Views()), random_input(4, 4)
    network = from_torch(model, data)
    wanted = [result.clone() for result in result_of(model, data)]
    built, kept = network.built(defaults(network)), data.clone()
    built.save(tmp_path / "net.so")
    for compiled in (built, load(tmp_path / "net.so")):
        for _ in range(2):
            found = compiled(data)
            for result, expected in zip(found, wanted, strict=True):
                torch.testing.assert_close(result, expected)
                result.fill_(7)
            assert torch.equal(data, kept)


class Masked(torch.nn.Module):  # type: ignore[misc]
    """Masks of booleans: an input, a constant, between layers, joined, and a result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        causal = torch.tril(torch.ones(4, 4, dtype=torch.bool))
        self.register_buffer("causal", causal, persistent=False)

    def forward(self, data: Any, mask: Any) -> Any:
        seen = mask.logical_and(self.causal)
        scores = self.linear(data).masked_fill(~seen, -1e4)
        both = torch.cat([seen, data > 0], 1)
        return torch.softmax(scores, 1), both.float().sum(1), ~both


def test_booleans(tmp_path: Path) -> None:
    model, data = seeded(Masked()), random_input(4, 4)
    inputs = data, random_input(4, 4) > -0.5
    network = from_torch(model, inputs)
    built = network.build(contenders=1)
    built.save(tmp_path / "net.so")
    assert "bool" in {buffer.argument.dtype for buffer in built.description.entries[0].buffers}
    for compiled in (built, load(tmp_path / "net.so")):
        for found, expected in zip(compiled(*inputs), result_of(model, *inputs), strict=True):
            torch.testing.assert_close(found, expected)
    found = built(*(each.numpy() for each in inputs))
    np.testing.assert_array_equal(found[2], result_of(model, *inputs)[2].numpy())


def test_a_saved_network_loads_elsewhere_and_prints_nothing(
    residual: CompiledNetwork, tmp_path: Path
) -> None:
    saved = residual.save(tmp_path / "made" / "net.so")
    assert [path.name for path in saved.parent.iterdir()] == ["net.so"]
    data = random_input(1, 3, 8, 8).numpy()
    np.save(tmp_path / "data.npy", data)
    program = (
        "import numpy as np, tunesmith.networks as networks\n"
        f"network, data = networks.load({str(saved)!r}), np.load({str(tmp_path / 'data.npy')!r})\n"
        "found = network(data)\n"
        "network.bind(data)()\n"
        f"np.save({str(tmp_path / 'found.npy')!r}, found)\n"
        "import sys\n"
        "from pathlib import Path\n"
        "assert not {'tvm', 'torch'} & set(sys.modules), 'they take memory for nothing'\n"
        "assert 'tvm_compiler' not in Path('/proc/self/maps').read_text(), 'it does, too'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("", "")
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), residual(data))


def test_a_missing_file_and_one_that_is_no_network(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"no file .*net\.so: build the network first"):
        load(tmp_path / "net.so")
    (tmp_path / "net.so").write_text("no library")
    with pytest.raises(TunesmithError, match=r"net\.so is not a network's library: "):
        load(tmp_path / "net.so")


def test_a_network_is_saved_as_a_library(residual: CompiledNetwork, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"name it like net\.so"):
        residual.save(tmp_path / "net.onnx")


SIZE = 512


@pytest.fixture(scope="module")
def wide() -> CompiledNetwork:
    """A network with a megabyte of weights."""
    model = seeded(torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE)))
    network = from_torch(model, random_input(1, SIZE))
    return network.built(defaults(network))


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may be larger, here and in processes that are started, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("size", "complaint"),
    [
        (SIZE, "cannot write .*: file too large: make room"),  # while its weights are written
        (4 * SIZE * (SIZE + 1) + 100, "cannot compile a network's description: "),
        (4 * SIZE * (SIZE + 1) + 8000, "cannot link "),
    ],
)
def test_a_disk_without_room(
    wide: CompiledNetwork, tmp_path: Path, size: int, complaint: str
) -> None:
    library = tmp_path / "net.so"
    library.write_text("the old one")
    with largest_file(size), pytest.raises(TunesmithError, match=complaint) as refused:
        wide.save(library)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == [library]
    assert library.read_text() == "the old one"
    assert wide.save(library).stat().st_size > 4 * SIZE * SIZE


def test_a_disk_that_may_be_too_full_to_link(
    wide: CompiledNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_500_000))
    with pytest.raises(TunesmithError, match=r"may take \d MB, and 2 are free: make room"):
        wide.save(tmp_path / "net.so")
    assert list(tmp_path.iterdir()) == []


class Words(torch.nn.Module):  # type: ignore[misc]
    """The sum of the embeddings of two words of ten."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.embedding(words).sum(1)


def test_indices_outside_of_their_table_are_refused(tmp_path: Path) -> None:
    model, words = seeded(Words()), torch.tensor([[3, 9]])
    network = from_torch(model, words)
    compiled = network.built(defaults(network))
    compiled.save(tmp_path / "net.so")
    for built in (compiled, load(tmp_path / "net.so")):
        torch.testing.assert_close(built(words), result_of(model, words))
        for wrong in ([[0, 10]], [[-1, 0]]):
            with pytest.raises(UsageError, match="words must be indices from 0 to 9, not from "):
                built(torch.tensor(wrong))
