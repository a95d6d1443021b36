"""The context encoded TreeGRU of "Learning to Optimize Tensor Programs", section 4, figure 3d.

A program's loops are read from the innermost to the outermost by a gated recurrent unit, each
through an embedding of its context. The state h after each loop is scattered into memory slots,
``out_i = softmax(W^T h)_i h``, and the slots are summed over the loops: so the result does not
depend on how many there are. A linear layer makes the prediction. Embedding and hidden size are
those of appendix A.3; it gives no number of slots.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.models import pytorch
from tunesmith.models.cost_model import Objective, Prediction

Array = npt.NDArray[np.float64]

# Points of a step of training, and of a prediction.
_BATCH = 64
_PREDICTED_AT_ONCE = 1024

# The least deviation of a feature that counts: others do not change.
_LEAST_DEVIATION = 1e-6


class TreeGRU:
    """A ``CostModel`` without uncertainty, on PyTorch.

    Features are the rows of ``loops``, outermost first, one after the other; rows of zeros are
    loops that do not exist. With one loop, the default, all features are one row. It is trained for
    ``steps`` of 64 points. ``device`` is PyTorch's; None: the GPU, if there is one that PyTorch can
    use.

    With the objective ``rank`` predictions have the order of the values, but neither their unit nor
    their scale. Raises ``UsageError`` for another objective than ``rank`` and ``regression``, for
    loops that do not divide the features, and for the device ``cuda`` without a GPU that PyTorch
    can use; ``MissingDependencyError`` without PyTorch.
    """

    objectives: ClassVar[tuple[Objective, ...]] = ("rank", "regression")
    reads_loops: ClassVar[bool] = True
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")

    def __init__(
        self,
        features: int,
        objective: Objective = "rank",
        *,
        loops: int = 1,
        embedding: int = 128,
        hidden: int = 128,
        slots: int = 8,
        steps: int = 200,
        learning_rate: float = 2e-3,
        device: str | None = None,
    ) -> None:
        if objective not in self.objectives:
            raise UsageError(f"the objective must be rank or regression, not {objective!r}")
        if features % loops:
            raise UsageError(f"{features} features are not those of {loops} loops")
        self._torch = pytorch.load_torch("the model TreeGRU")
        self.objective = objective
        self._loops = loops
        self._row = features // loops
        self._sizes = embedding, hidden, slots
        self._steps = steps
        self._learning_rate = learning_rate
        has_gpu = self._torch.cuda.is_available()
        if device == "cuda" and not has_gpu:
            raise UsageError("PyTorch finds no GPU here: leave out device, or take cpu")
        self._device = device or ("cuda" if has_gpu else "cpu")
        self._weights: dict[str, Any] = {}
        self._centre: Array = np.zeros(self._row)
        self._deviation: Array = np.ones(self._row)
        self._least, self._range = 0.0, 0.0

    def fit(self, features: Array, values: Array) -> None:
        """As in ``CostModel``."""
        self._least, self._range = float(values.min()), float(np.ptp(values))
        self._weights = {}
        if not self._range > 0.0 or not self._row:
            return
        rows = features.reshape(-1, self._row)
        there = rows[rows.any(axis=1)]
        if len(there):
            self._centre, self._deviation = there.mean(axis=0), there.std(axis=0)
            self._deviation[self._deviation < _LEAST_DEVIATION] = 1.0
        rng = np.random.default_rng(0)
        with pytorch.one_thread(self._torch):
            self._train(features, (values - self._least) / self._range, rng)

    def predict(self, features: Array) -> Prediction:
        """As in ``CostModel``."""
        if not self._weights or not len(features):
            return Prediction(np.full(len(features), self._least), None)
        parts = []
        with pytorch.one_thread(self._torch), self._torch.no_grad():
            for first in range(0, len(features), _PREDICTED_AT_ONCE):
                some = features[first : first + _PREDICTED_AT_ONCE]
                parts.append(self._scores(*self._inputs(some)).cpu().numpy())
        scores = np.concatenate(parts).astype(np.float64)
        return Prediction(self._least + self._range * scores, None)

    def _train(self, features: Array, scaled: Array, rng: np.random.Generator) -> None:
        torch = self._torch
        self._weights = self._initial(pytorch.generator(torch, rng))
        optimizer = torch.optim.Adam(self._weights.values(), lr=self._learning_rate)
        inputs, exists = self._inputs(features)
        wanted = self._tensor(scaled)
        loss_of = self._rank_loss if self.objective == "rank" else torch.nn.functional.mse_loss
        count = len(scaled)
        order = np.empty(0, dtype=np.intp)
        for _ in range(self._steps):
            if len(order) < min(_BATCH, count):
                order = np.concatenate([order, rng.permutation(count)])
            batch = torch.as_tensor(order[:_BATCH], device=self._device)
            order = order[_BATCH:]
            optimizer.zero_grad()
            loss = loss_of(self._scores(inputs[batch], exists[batch]), wanted[batch])
            loss.backward()
            optimizer.step()

    def _rank_loss(self, scores: Any, wanted: Any) -> Any:
        """Equation 2: the mean over all pairs with different values."""
        torch = self._torch
        better = torch.sign(wanted[:, None] - wanted[None, :])
        apart = scores[:, None] - scores[None, :]
        pairs = torch.nn.functional.softplus(-better * apart) * better.abs()
        return pairs.sum() / better.abs().sum().clamp(min=1.0)

    def _initial(self, generator: Any) -> dict[str, Any]:
        embedding, hidden, slots = self._sizes
        shapes = {
            "embed": (embedding, self._row),
            "embed_bias": (embedding,),
            "input": (3 * hidden, embedding),
            "state": (3 * hidden, hidden),
            "input_bias": (3 * hidden,),
            "state_bias": (3 * hidden,),
            "slots": (slots, hidden),
            "score": (1, slots * hidden),
            "score_bias": (1,),
        }
        return {
            name: pytorch.uniform(self._torch, shape, max(shape[-1], 1) ** -0.5, generator)
            .detach()
            .to(self._device)
            .requires_grad_()
            for name, shape in shapes.items()
        }

    def _inputs(self, features: Array) -> tuple[Any, Any]:
        """Normalised rows, shape (points, loops, row), and which exist, shape (points, loops).

        Loops after the last one that any point has change nothing, and are left out.
        """
        rows = features.reshape(-1, self._loops, self._row)
        exists = (rows != 0.0).any(axis=2, keepdims=False) | (self._loops == 1)
        last = int(np.flatnonzero(exists.any(axis=0)).max(initial=0))
        rows, exists = rows[:, : last + 1], exists[:, : last + 1]
        return self._tensor((rows - self._centre) / self._deviation), self._tensor(exists)

    def _tensor(self, array: Any) -> Any:
        return self._torch.as_tensor(
            np.asarray(array, dtype=np.float32).copy(), device=self._device
        )

    def _scores(self, rows: Any, exists: Any) -> Any:
        """The network, shape (points,)."""
        torch, weights = self._torch, self._weights
        linear = torch.nn.functional.linear
        embedded = linear(rows, weights["embed"], weights["embed_bias"]).relu()
        gates = linear(embedded, weights["input"], weights["input_bias"])
        state = torch.zeros((len(rows), self._sizes[1]), dtype=torch.float32, device=self._device)
        states = []
        exists = exists[:, :, None]
        for loop in reversed(range(rows.shape[1])):
            following = self._step(gates[:, loop], state)
            there = exists[:, loop]
            state = there * following + (1.0 - there) * state
            states.append(state)
        scattered = torch.stack(states[::-1], dim=1)  # points, loops, hidden
        slots = torch.softmax(linear(scattered, weights["slots"]), dim=2) * exists
        memory = slots.transpose(1, 2) @ scattered
        return linear(memory.flatten(1), weights["score"], weights["score_bias"])[:, 0]

    def _step(self, gates: Any, state: Any) -> Any:
        """A step of a gated recurrent unit (Cho et al. 2014)."""
        torch, weights = self._torch, self._weights
        of_state = torch.nn.functional.linear(state, weights["state"], weights["state_bias"])
        reset, update, new = gates.chunk(3, dim=1)
        state_reset, state_update, state_new = of_state.chunk(3, dim=1)
        keep = torch.sigmoid(update + state_update)
        candidate = torch.tanh(new + torch.sigmoid(reset + state_reset) * state_new)
        return keep * state + (1.0 - keep) * candidate
