"""``torch.compile`` with our backend: results like PyTorch's, and what is left to PyTorch."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tests.networks.small import Residual, SeveralResults, random_input, result_of, seeded, torch
from tunesmith.errors import StoreError, UsageError
from tunesmith.networks import Network, from_torch
from tunesmith.networks.build.kernels import LayerKernel, layer_kernel
from tunesmith.networks.build.programs import HowToBuild, Use, compiled_kernels, kernel_name
from tunesmith.networks.build.selection import Origin, defaults
from tunesmith.networks.torch_backend import attempts, backend, remarks
from tunesmith.operators import Operator
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task

pytestmark = pytest.mark.filterwarnings("ignore")

OPTIONS = {"store": "sqlite://", "cores": 1}


class Built(list[list[Operator]]):
    """The operators of the layers of each network that was built, which need no search here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        linked = Network.linked

        def noted(network: Network, kernels: Mapping[Task, LayerKernel]) -> Any:
            self.append([layer.operator for layer in network.layers])
            return linked(network, kernels)

        monkeypatch.setattr(Network, "linked", noted)
        monkeypatch.setattr(attempts, "compiled_kernels", default_kernels)

    @property
    def names(self) -> list[list[str]]:
        return [[operator.name for operator in each] for each in self]


def default_kernels(
    uses: Mapping[Task, Use], _bytes: int, _target: Target, _how: HowToBuild, first: int
) -> Mapping[Task, LayerKernel]:
    return {
        task: layer_kernel(kernel_name(number, task), defaults(task)[0])
        for number, task in enumerate(uses, first)
    }


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines, without the places in the code that they name."""
    return [re.sub(r" \([^()]+, line \d+\)", "", line) for line in caplog.messages]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Built:
    return Built(monkeypatch)


@pytest.fixture(autouse=True)
def afresh(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    remarks.forget()
    caplog.set_level(logging.WARNING, "tunesmith")
    yield
    torch._dynamo.reset()


def compiled(model: Any) -> Any:
    return torch.compile(model, backend="tunesmith", options=OPTIONS)


def check(model: Any, *inputs: Any, ours: Any = None) -> Any:
    """Our results are those of PyTorch, of the same kinds and shapes."""
    with torch.no_grad():
        found = (compiled(model) if ours is None else ours)(*inputs)
    torch.testing.assert_close(found, result_of(model, *inputs), rtol=1e-4, atol=1e-5)
    return found


def test_pytorch_finds_it() -> None:
    (found,) = entry_points(group="torch_dynamo_backends", name="tunesmith")
    assert found.load() is backend
    assert "tunesmith" in torch._dynamo.list_backends()


def test_a_convolutional_network_is_one_piece(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    found = check(seeded(Residual()), random_input(1, 3, 8, 8))
    assert built.names == [["conv2d", "conv2d", "pool2d", "dense"]]
    assert not found.requires_grad
    assert caplog.messages == []


def test_it_has_the_tasks_of_the_same_network_imported(built: Built) -> None:
    model, data = seeded(Residual()), random_input(1, 3, 8, 8)
    check(model, data)
    imported = from_torch(model, data)
    assert built == [[layer.operator for layer in imported.layers]]


class Perceptron(torch.nn.Sequential):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))


def test_several_shapes_share_a_compiled_model(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    ours = compiled(model)
    for batch in (1, 2, 5, 2, 1, 5):
        check(model, random_input(batch, 6), ours=ours)
    assert [each[0].arguments[0].shape for each in built] == [(1, 6), (2, 6), (5, 6)]
    assert caplog.messages == []


def test_more_shapes_than_allowed_are_left_to_pytorch(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    model = seeded(torch.nn.Linear(6, 8))
    options = {**OPTIONS, "shapes": 2}
    ours = torch.compile(model, backend="tunesmith", options=options, dynamic=True)
    for batch in (2, 3, 4, 5, 3, 4):
        check(model, random_input(batch, 6), ours=ours)
    assert len(built) == 2
    assert caplog.messages == [
        "tunesmith: PyTorch computes a graph of 1 operation: there are more input shapes than "
        "the option shapes allows"
    ]


def test_several_results_keep_their_structure(built: Built) -> None:
    model = seeded(SeveralResults())

    def named(data: Any, *, scale: float) -> Any:
        product, joined, last = model(data)
        return {"product": product, "rest": [joined * scale, (last, data.shape[0])]}

    data = random_input(2, 6)
    with torch.no_grad():
        found = compiled(named)(data, scale=2.0)
        torch.testing.assert_close(found, named(data, scale=2.0))
    (names,) = built.names
    assert names[0] == "dense"


class Broken(torch.nn.Module):  # type: ignore[misc]
    """Two graphs, with a print between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Perceptron(), torch.nn.Linear(4, 3)

    def forward(self, data: Any) -> Any:
        between = self.first(data)
        torch._dynamo.graph_break()
        return self.second(between)


def test_a_graph_break(built: Built) -> None:
    check(seeded(Broken()), random_input(2, 6))
    assert built.names == [["dense", "dense"], ["dense"]]


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


def test_results_share_memory_as_those_of_pytorch_do(built: Built) -> None:
    model = seeded(torch.nn.Linear(6, 8))

    def views(data: Any) -> Any:
        result = model(data)
        return result, result.view(-1), data.transpose(0, 1), result.clone(), data.clone()

    data = random_input(2, 6)
    whole, flat, turned, copied, other = check(views, data)
    assert built.names == [["dense"]]
    assert whole.data_ptr() == flat.data_ptr()
    assert turned.data_ptr() == data.data_ptr()
    addresses = {each.data_ptr() for each in (whole, data, copied, other)}
    assert len(addresses) == 4, "copies are in memory of their own"


def test_strides_are_those_of_pytorch(built: Built) -> None:
    model = seeded(Residual())

    def convolutions(data: Any) -> Any:
        return model.second(model.first(data).relu())

    data = random_input(1, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    found = check(convolutions, data)
    assert found.stride() == result_of(convolutions, data).stride() == (512, 1, 64, 8)
    assert built.names == [["conv2d", "conv2d"]]


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


def test_tensors_that_the_graph_makes(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model = seeded(torch.nn.Linear(6, 8))

    def places(data: Any) -> Any:
        made = torch.arange(8)
        return model(data) + made + torch.tensor([2.0]), made, torch.eye(8)

    ours = compiled(places)
    _, first, _ = check(places, random_input(2, 6), ours=ours)
    first.zero_()
    check(places, random_input(2, 6), ours=ours)
    assert built.names == [["dense"]]
    assert caplog.messages == []


def test_weights_that_change(built: Built, caplog: pytest.LogCaptureFixture) -> None:
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    ours = compiled(model)
    check(model, data, ours=ours)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 6):
        model(data).sum().backward()
        optimizer.step()
        check(model, data, ours=ours)
        check(model, data, ours=ours)
        assert len(built) == min(step, 3) + 1
    assert caplog.messages == [
        "tunesmith: the weights of a graph of 1 operation have changed: it is compiled again",
        "tunesmith: PyTorch computes a graph of 1 operation: its weights change again and again",
    ]


def test_weights_in_other_memory(built: Built) -> None:
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    ours = compiled(model)
    check(model, data, ours=ours)
    model.weight.data = model.weight.data * 2
    check(model, data, ours=ours)
    assert len(built) == 2


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"second": 5}, "unknown option of the backend tunesmith 'second': did you mean seconds?"),
        ({"seconds": -1}, "option seconds of the backend tunesmith must be 0 or more seconds"),
        ({"quiet": "no"}, "must be True or False, not 'no'"),
        ({"shapes": 0}, "must be a positive integer, not 0"),
        ({"limit": "1"}, "must be a positive number, not '1'"),
        ({"store": 3}, "must be a file or a URL, not 3"),
        ({"tuner": "genetics"}, "unknown tuner 'genetics': did you mean genetic"),
        ({"cores": 0}, "a target needs at least one core"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    ours = torch.compile(seeded(Perceptron()), backend="tunesmith", options=options)
    with pytest.raises(UsageError, match=message) as caught, torch.no_grad():
        ours(random_input(2, 6))
    assert "\n" not in str(caught.value)


def test_a_mode_is_refused() -> None:
    ours = torch.compile(seeded(Perceptron()), backend="tunesmith", mode="max-autotune")
    with pytest.raises(UsageError, match="has no mode 'max-autotune'"), torch.no_grad():
        ours(random_input(2, 6))


def test_a_store_that_cannot_be_opened(built: Built, tmp_path: Path) -> None:
    options = {"store": str(tmp_path)}
    ours = torch.compile(seeded(Perceptron()), backend="tunesmith", options=options)
    with pytest.raises(StoreError, match="is a folder: name a file in it"), torch.no_grad():
        ours(random_input(2, 6))


@pytest.mark.slow
def test_seconds_tune_first_and_what_is_stored_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    origins: list[Origin] = []

    def noted(*arguments: Any) -> Mapping[Task, LayerKernel]:
        found = compiled_kernels(*arguments)
        origins.extend(kernel.choice.origin for kernel in found.values())
        return found

    monkeypatch.setattr(attempts, "compiled_kernels", noted)
    model, data = seeded(torch.nn.Linear(6, 8)), random_input(2, 6)
    stored = {"store": tmp_path / "tuning.db"}

    def run(options: Mapping[str, Any]) -> None:
        torch._dynamo.reset()
        check(model, data, ours=torch.compile(model, backend="tunesmith", options=options))

    run({**stored, "seconds": 2})
    assert caplog.messages == ["tunesmith: tuning 1 task for 2 seconds"]
    with open_store(stored["store"]) as store:
        (task,) = store.tasks()
        runs = len(store.runs(task.key))
    assert runs
    run({**stored, "seconds": 2})
    run(stored)
    with open_store(stored["store"]) as store:
        assert len(store.runs(task.key)) == runs, "the seconds were spent already"
    assert origins == [Origin.STORE] * 3
