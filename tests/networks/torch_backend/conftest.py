"""Every test has a TorchDynamo of its own, and may note what is built.

Nothing is imported before a test runs: without PyTorch the files are skipped, and this one is not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.networks.torch_backend.built import Built


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Built:
    from tests.networks.torch_backend.built import Built

    return Built(monkeypatch)


@pytest.fixture(autouse=True)
def afresh(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    from tests.networks.small import torch
    from tunesmith.networks.torch_backend import remarks

    remarks.forget()
    caplog.set_level(logging.WARNING, "tunesmith")
    yield
    torch._dynamo.reset()
