"""Options that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.networks.small import random_input, seeded, torch
from tests.networks.torch_backend.built import (
    Built,
    Perceptron,
)
from tunesmith.errors import StoreError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore")


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
