"""Look-ups by indices that are computed first."""

from __future__ import annotations

from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import result_of, torch
from tunesmith.networks import from_torch


class LookUp(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, words: Any) -> Any:
        return (
            self.table(words.masked_fill(words < 0, 0)),
            self.table(torch.where(words < 3, 3, words)),
            self.table(torch.where(words < 0, words + 9, words)),
            self.table(torch.where(words < 2, words + 10, words) % 10),
        )


def test_indices_that_are_chosen_stay() -> None:
    """Only those that count from the end are left out, where calls refuse them."""
    model, words = LookUp(), torch.tensor([[0, -1, 5], [9, 2, 3]])
    network = from_torch(model, words)
    assert network.bounds == {}
    compiled = network.built(defaults(network))
    for found, expected in zip(compiled(words), result_of(model, words), strict=True):
        torch.testing.assert_close(found, expected)


def test_indices_that_count_from_the_end_are_those_of_the_input() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)

        def forward(self, words: Any) -> Any:
            return self.table(torch.where(words < 0, words + 10, words))

    network = from_torch(Model(), torch.tensor([[0, 1, 5], [9, 2, 3]]))
    assert network.bounds == {"words": 10}
    assert "where" not in {node.op for node in network.graphs[0].graph.nodes}
