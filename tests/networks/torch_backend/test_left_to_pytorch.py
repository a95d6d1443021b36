"""What is left to PyTorch, and the lines that say so."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.networks.small import Residual, random_input, result_of, seeded, torch
from tests.networks.torch_backend.built import (
    OPTIONS,
    Built,
    Perceptron,
    check,
    compiled,
    said,
)
from tunesmith.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")


class Spectrum(torch.nn.Module):  # type: ignore[misc]
    """Fourier's transform, which we do not have, between two products."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(5, 3)

    def forward(self, data: Any) -> Any:
        return self.second(torch.fft.rfft(self.first(data).relu()).abs())


def test_an_operation_that_is_not_supported(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model = seeded(Spectrum())
    check(model, random_input(2, 6))
    assert built.names == [["dense"], ["dense"]]
    line = inspect.getsourcelines(Spectrum.forward)[1] + 1
    place = f"{Path(__file__).name}, line {line}"
    text = f"tunesmith: PyTorch computes _fft_r2c.default ({place}): it is not supported"
    assert text in caplog.messages
    before = list(caplog.messages)
    torch._dynamo.reset()
    check(model, random_input(2, 6))
    assert caplog.messages == before, "each line is said once"


def test_quiet_says_nothing(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = seeded(Spectrum()), random_input(2, 6)
    ours = torch.compile(model, backend="tunesmith", options={**OPTIONS, "quiet": True})
    check(model, data, ours=ours)
    assert built.names == [["dense"], ["dense"]]
    assert caplog.messages == []


def test_an_operation_of_another_library(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    @torch.library.custom_op("tunesmith_tests::doubled", mutates_args=())
    def doubled(data: torch.Tensor) -> torch.Tensor:
        return data * 2

    doubled.register_fake(torch.empty_like)
    first, second = seeded(torch.nn.Linear(6, 8)), seeded(torch.nn.Linear(8, 3))
    check(lambda data: second(doubled(first(data))), random_input(2, 6))
    assert built.names == [["dense"], ["dense"]]
    assert said(caplog) == ["tunesmith: PyTorch computes doubled.default: it is not supported"]


def test_an_operation_that_fails_at_the_import_is_found(
    built: Built, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    def fails(_self: Any, _node: Any) -> None:
        raise ValueError("no softplus today")

    monkeypatch.setattr(ExportedProgramImporter, "_softplus", fails)
    first, second = seeded(torch.nn.Linear(6, 8)), seeded(torch.nn.Linear(8, 3))
    softplus = torch.nn.functional.softplus
    check(lambda data: second(softplus(first(data))), random_input(2, 6))
    assert built.names == [["dense"], ["dense"]]
    (message,) = said(caplog)
    assert message.startswith("tunesmith: PyTorch computes softplus.default: ")
    assert message.endswith("no softplus today")


def test_an_operation_that_is_imported_wrongly_is_found(
    built: Built, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    def wrong(self: Any, node: Any) -> Any:
        return self.env[node.args[0]]

    monkeypatch.setattr(ExportedProgramImporter, "_softplus", wrong)
    first, second = seeded(torch.nn.Linear(6, 8)), seeded(torch.nn.Linear(8, 3))
    softplus = torch.nn.functional.softplus
    check(lambda data: second(softplus(first(data))), random_input(2, 6))
    assert built.names[-2:] == [["dense"], ["dense"]]
    (message,) = said(caplog)
    assert "PyTorch computes softplus.default: the compiled network differs" in message


def test_without_an_operator_of_ours(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    check(lambda data: data.flatten() + 1, random_input(2, 6))
    assert built == []
    assert caplog.messages == [
        "tunesmith: PyTorch computes a graph of 2 operations: Tunesmith has no operator that would "
        "make it faster"
    ]


def test_gradients_are_left_to_pytorch(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = seeded(Perceptron()), random_input(2, 6)
    ours = compiled(model)
    ours(data).sum().backward()
    found = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    model(data).sum().backward()
    expected = {name: weight.grad for name, weight in model.named_parameters()}
    torch.testing.assert_close(found, expected)
    assert built == []
    (message,) = caplog.messages
    assert "its results need gradients (call the model under torch.no_grad()" in message
    check(model, data, ours=ours)
    assert built.names == [["dense", "dense"]]


def test_no_grad_inside_of_what_is_compiled(built: Built) -> None:
    model, data = seeded(Perceptron()), random_input(2, 6)

    @torch.no_grad()
    def inference(data: Any) -> Any:
        return model(data)

    found = compiled(inference)(data)
    assert not found.requires_grad
    torch.testing.assert_close(found, result_of(model, data))
    assert built.names == [["dense", "dense"]]


def test_inference_mode(built: Built) -> None:
    with torch.inference_mode():  # the weights are tensors of that mode, too
        model, data = seeded(Perceptron()), random_input(2, 6)
        torch.testing.assert_close(compiled(model)(data), model(data))
    assert built.names == [["dense", "dense"]]


def test_training_writes_to_buffers(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    data = random_input(2, 3, 8, 8)
    model, other = seeded(Residual()).train(), seeded(Residual()).train()
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(data), other(data))
    torch.testing.assert_close(model.norm.running_mean, other.norm.running_mean)
    assert built == []
    (message,) = caplog.messages
    assert message.endswith("it writes to its inputs or to buffers")


def test_dropout_is_random_in_training_alone(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(), torch.nn.Linear(8, 3))
    check(seeded(model), random_input(2, 6))
    assert built.names == [["dense", "dense"]]
    with torch.no_grad():
        ours = compiled(model.train())
        results = [ours(random_input(2, 6)) for _ in range(5)]
    assert any(not torch.equal(result, results[0]) for result in results)
    (message,) = caplog.messages
    assert message.endswith("dropout.default: it is random")


def test_inputs_that_are_written_to(built: Built) -> None:
    model = seeded(Perceptron())

    def writes(data: Any) -> Any:
        result = model(data)
        data.add_(1)
        return result, data.view(-1)

    ours, theirs = random_input(2, 6), random_input(2, 6)
    with torch.no_grad():
        found, expected = compiled(writes)(ours), writes(theirs)
    torch.testing.assert_close((ours, *found), (theirs, *expected))
    assert found[1].data_ptr() == ours.data_ptr()
    assert built == []


def test_types_that_we_do_not_have(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model = seeded(Perceptron()).double()
    check(model, random_input(2, 6).double())
    assert built == []
    assert "tunesmith: PyTorch computes linear.default: it computes with float64" in said(caplog)


def test_autocast_is_left_to_pytorch(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = seeded(Perceptron()), random_input(2, 6)
    with torch.autocast("cpu", torch.bfloat16):
        check(model, data)
    assert built == []
    assert "it is under autocast" in caplog.text


class Words(torch.nn.Module):  # type: ignore[misc]
    """Looks up words of ten, and those after them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = torch.nn.Embedding(10, 8), torch.nn.Linear(8, 3)

    def forward(self, words: Any) -> Any:
        return self.linear(self.embedding(words)) + self.linear(self.embedding(words + 1))


def test_indices_outside_of_a_table_are_refused(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(Words())
    ours = compiled(model)
    check(model, torch.tensor([[1, 2, 8]]), ours=ours)
    assert built
    assert said(caplog) == [
        "tunesmith: PyTorch computes embedding.default: its indices are not known to be inside of "
        "its input"
    ]
    with torch.no_grad():
        with pytest.raises(UsageError, match="must be indices from 0 to 9, not from -1 to 2"):
            ours(torch.tensor([[1, -1, 2]]))
        with pytest.raises(IndexError):  # 9 + 1, which PyTorch looks up
            ours(torch.tensor([[1, 9, 2]]))
