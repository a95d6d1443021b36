"""Small networks whose parts are of every kind that there is on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.networks.small import Residual, random_input, seeded, torch
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.networks import Network
from tunesmith.networks.build.selection import Choice, Origin
from tunesmith.task import Task

nn: Any = torch.nn


class Transformer(nn.Module):  # type: ignore[misc]
    """Words to vectors, and a block of attention and two products over them."""

    def __init__(self, size: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(10, size)
        self.norms = nn.ModuleList([nn.LayerNorm(size), nn.LayerNorm(size)])
        self.attended = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 24), nn.Linear(24, size)

    def forward(self, words: Any) -> Any:
        data = self.embedding(words)
        batch, length, size = data.shape
        parts = self.attended(self.norms[0](data)).chunk(3, -1)
        query, key, value = (
            part.reshape(batch, length, self.heads, -1).transpose(1, 2) for part in parts
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        data = data + self.output(attended.transpose(1, 2).reshape(batch, length, size))
        return data + self.narrow(nn.functional.gelu(self.wide(self.norms[1](data))))


class Uncovered(nn.Module):  # type: ignore[misc]
    """What no sketch for GPUs covers: elementwise, reductions, sums of prefixes, sorting."""

    def __init__(self) -> None:
        super().__init__()
        self.sequence = nn.Conv1d(4, 4, 3)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, data: Any) -> Any:
        pooled = nn.functional.max_pool2d(data, 3, 2, 1, ceil_mode=True)
        return (
            torch.where(data > 0, data.tanh(), data * self.scale),
            nn.functional.adaptive_avg_pool2d(data, 3),
            torch.cat([pooled.mean(1), pooled.sum(1)], 1).permute(0, 2, 1),
            self.sequence(data[:, :, 0]),
            data.cumsum(-1),
            torch.topk(data, 2).values,
            data.argmax(1),
            nn.functional.pad(data, (1, 2, 3, 0)).softmax(1),
        )


def model_of(name: str) -> tuple[Any, Any]:
    """A network of this name, and an input."""
    if name == "residual":
        return seeded(Residual()), random_input(1, 3, 6, 6)
    if name == "transformer":
        return seeded(Transformer()), torch.tensor([[3, 9, 0, 1, 2]])
    return seeded(Uncovered()), random_input(2, 4, 7, 7)


def gpu_choices(network: Network) -> Mapping[Task, Choice]:
    """The default of Winograd's sketch, which lays out weights, or else of the first one."""
    found = {}
    for task in network.tasks:
        problems = problems_of(task)
        named = {problem.sketch.name: problem for problem in problems}
        problem = named.get("cuda_winograd", problems[0])
        found[task] = Choice(problem, problem.default, None, Origin.DEFAULT)
    return found


def assert_close(found: Any, expected: Any) -> None:
    """The results of a call, whatever library they are of, against PyTorch's."""
    pairs = zip(several(found), several(expected), strict=True)
    for ours, theirs in pairs:
        array = ours.numpy() if hasattr(ours, "numpy") else ours
        np.testing.assert_allclose(array, theirs.numpy(), 1e-4, 1e-5)


def several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)
