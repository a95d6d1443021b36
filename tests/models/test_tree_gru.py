"""The TreeGRU: what a search relies on, and that it reads loops."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.models import CostModel, cost_model
from tunesmith.models.tree_gru import TreeGRU
from tunesmith.testing.cost_model import CostModelConformance
from tunesmith.tuners.autotvm import AutoTVM

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

Array = npt.NDArray[np.float64]


class TestRank(CostModelConformance):
    least_rank_correlation = 0.9
    orders_only = True
    prediction_tolerance = 1e-3

    def make_model(self, features: int) -> CostModel:
        return TreeGRU(features, embedding=16, hidden=16, slots=2, steps=100, learning_rate=1e-2)


class TestRegression(CostModelConformance):
    least_rank_correlation = 0.9
    prediction_tolerance = 1e-4

    def make_model(self, features: int) -> CostModel:
        return TreeGRU(
            features, "regression", embedding=16, hidden=16, slots=2, steps=100, learning_rate=1e-2
        )


def nests(count: int, seed: int) -> tuple[Array, Array]:
    """Programs of 1 to 4 loops of 3 features; the value is the sum of the loops' first ones."""
    rng = np.random.default_rng(seed)
    rows = 0.1 + rng.random((count, 4, 3))
    rows[np.arange(4) >= rng.integers(1, 5, size=count)[:, None]] = 0.0
    return rows.reshape(count, 12), rows[:, :, 0].sum(axis=1)


def small(**options: object) -> TreeGRU:
    settings: dict[str, object] = {"loops": 4, "embedding": 16, "hidden": 16, "slots": 2}
    settings |= {"steps": 200, "learning_rate": 1e-2, **options}
    return TreeGRU(12, **settings)  # type: ignore[arg-type] # by name


@pytest.mark.parametrize(
    ("has_gpu", "asked", "expected"),
    [(True, None, "cuda"), (False, None, "cpu"), (True, "cpu", "cpu")],
)
def test_it_takes_the_gpu_that_there_is(
    monkeypatch: pytest.MonkeyPatch, has_gpu: bool, asked: str | None, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert small(device=asked)._device == expected


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="PyTorch finds no GPU here: leave out device"):
        small(device="cuda")


def test_a_search_computes_on_the_processor_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU may be what is measured meanwhile."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    devices = {}
    for device in ("cpu", "cuda"):
        search = AutoTVM(model="tree-gru", device=device)
        model = search.made_model(12, loops=4)
        assert isinstance(model, TreeGRU)
        devices[device] = model._device
    assert devices == {"cpu": "cpu", "cuda": "cuda"}
    default = AutoTVM(model="tree-gru").made_model(12, loops=4)
    assert isinstance(default, TreeGRU)
    assert default._device == "cpu"


@pytest.mark.parametrize("objective", ["rank", "regression"])
def test_it_learns_from_all_loops(objective: str) -> None:
    features, values = nests(200, seed=0)
    others, expected = nests(100, seed=1)
    model = small(objective=objective)
    model.fit(features, values)
    assert np.corrcoef(model.predict(others).means, expected)[0, 1] > 0.9


def test_loops_that_do_not_exist_do_not_count() -> None:
    """A row more or less of zeros changes nothing."""
    features, values = nests(100, seed=0)
    model = small(steps=2)
    longer = TreeGRU(18, loops=6, embedding=16, hidden=16, slots=2, steps=2, learning_rate=1e-2)
    model.fit(features, values)
    padded = np.pad(features.reshape(100, 4, 3), ((0, 0), (0, 2), (0, 0))).reshape(100, 18)
    longer.fit(padded, values)
    np.testing.assert_allclose(
        longer.predict(padded).means, model.predict(features).means, rtol=1e-3, atol=1e-4
    )


def test_a_program_counts_the_same_beside_deeper_ones() -> None:
    """Those without any loop too."""
    features, values = nests(100, seed=0)
    features = features.reshape(100, 4, 3).copy()
    features[:10, 2:] = 0.0
    features[5:10] = 0.0
    model = small(steps=20)
    model.fit(features.reshape(100, 12), values)
    together = model.predict(features.reshape(100, 12)).means
    for some in (slice(0, 5), slice(5, 10)):
        alone = model.predict(features[some].reshape(-1, 12)).means
        np.testing.assert_allclose(alone, together[some], rtol=1e-4, atol=1e-5)


def test_the_order_of_loops_matters() -> None:
    features, values = nests(100, seed=0)
    model = small(steps=20)
    model.fit(features, values)
    turned = features.reshape(100, 4, 3)[:, ::-1].reshape(100, 12)
    assert not np.allclose(model.predict(turned).means, model.predict(features).means)


def test_the_loss_is_that_of_all_pairs() -> None:
    scores, wanted = np.array([1.0, 0.5, 2.0]), np.array([0.1, 0.9, 0.9])
    # Pairs with different values: (1, 0) and (2, 0).
    expected = np.mean([np.log1p(np.exp(-(0.5 - 1.0))), np.log1p(np.exp(-(2.0 - 1.0)))])
    found = small()._rank_loss(torch.tensor(scores), torch.tensor(wanted))
    assert float(found) == pytest.approx(expected)


def test_the_users_generator_and_threads_stay_as_they_are() -> None:
    features, values = nests(50, seed=0)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    model = small(steps=5)
    model.fit(features, values)
    model.predict(features)
    assert (torch.get_rng_state() == state).all()
    assert torch.get_num_threads() == threads


def test_features_are_of_loops_only_where_that_is_said() -> None:
    """Of a configuration there may be any number, 16 times some number too."""
    assert cost_model("tree-gru", 48)._loops == 1  # type: ignore[attr-defined]
    assert cost_model("tree-gru", 48, loops=16)._loops == 16  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="12 features are not those of 5 loops"):
        TreeGRU(12, loops=5)


def test_an_unknown_objective() -> None:
    with pytest.raises(UsageError, match="the objective must be rank or regression, not 'speed'"):
        TreeGRU(12, "speed")  # type: ignore[arg-type]


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match="the model TreeGRU needs PyTorch"):
        TreeGRU(12)


def test_sizes_are_those_of_the_paper() -> None:
    """Appendix A.3: embeddings and states of 128 numbers."""
    features, values = nests(8, seed=0)
    model = TreeGRU(12, loops=4, steps=0)
    model.fit(features, values)
    shapes = {name: tuple(weight.shape) for name, weight in model._weights.items()}
    assert shapes["embed"] == (128, 3)
    assert shapes["input"] == shapes["state"] == (3 * 128, 128)
    assert shapes["slots"] == (8, 128)
    assert shapes["score"] == (1, 8 * 128)


def test_a_prediction_is_what_the_paper_says() -> None:
    """Section 4, beside PyTorch's own cell: embedded rows go from the innermost loop outwards, each
    state h is scattered as ``softmax(W^T h)_i h``, and the slots are summed over the loops."""
    features, values = nests(20, seed=3)
    model = small(steps=3, device="cpu")
    model.fit(features, values)
    weights = {name: weight.detach() for name, weight in model._weights.items()}
    cell = torch.nn.GRUCell(16, 16)
    cell.weight_ih.data, cell.weight_hh.data = weights["input"], weights["state"]
    cell.bias_ih.data, cell.bias_hh.data = weights["input_bias"], weights["state_bias"]
    expected = []
    for program in features.reshape(20, 4, 3):
        memory, state = torch.zeros(2, 16), torch.zeros(1, 16)
        for row in program[::-1]:
            if not row.any():
                continue
            scaled = torch.tensor((row - model._centre) / model._deviation, dtype=torch.float32)
            embedded = torch.clamp(weights["embed"] @ scaled + weights["embed_bias"], min=0.0)
            state = cell(embedded[None], state)
            exponentials = torch.exp(weights["slots"] @ state[0])
            memory += (exponentials / exponentials.sum())[:, None] * state
        score = weights["score"][0] @ memory.flatten() + weights["score_bias"][0]
        expected.append(values.min() + np.ptp(values) * score.item())
    assert np.std(expected) > 0.01
    np.testing.assert_allclose(model.predict(features).means, expected, rtol=1e-4, atol=1e-5)
