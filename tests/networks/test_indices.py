"""Inputs that are indices of look-ups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, torch
from tunesmith.errors import UsageError
from tunesmith.networks import from_torch


class LookUps(torch.nn.Module):  # type: ignore[misc]
    """Elements at indices along an axis, and at places that two inputs name."""

    def forward(self, table: Any, columns: Any, first: Any, second: Any) -> Any:
        return table.gather(1, columns), table[first.long(), second.reshape(3, 1)]


def test_indices_outside_of_what_they_name_are_refused() -> None:
    columns = torch.tensor([[0, 3], [1, 1], [2, 0]])
    first, second = torch.tensor([0, 2], dtype=torch.int32), torch.tensor([0, 3, 1])
    inputs = random_input(3, 4), columns, first, second
    network = from_torch(LookUps(), inputs)
    assert network.bounds == {"columns": 4, "first": 3, "second": 4}
    compiled = network.built(defaults(network))
    for found, expected in zip(compiled(*inputs), result_of(LookUps(), *inputs), strict=True):
        torch.testing.assert_close(found, expected)
    for place, (name, bound) in enumerate(network.bounds.items(), start=1):
        for wrong in (bound, -1):
            given = list(inputs)
            given[place] = torch.full_like(given[place], wrong)
            message = f"{name} must be indices from 0 to {bound - 1}, not from {wrong}"
            with pytest.raises(UsageError, match=message):
                compiled(*given)
