"""A language model of two LSTM layers (Zaremba et al., arXiv 1409.2329, the medium one)."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.zoo.registry import ZooModel

_WORDS = 10000
_UNITS = 650
_STEPS = 20


def _make() -> Any:
    import torch
    from torch import nn

    class LanguageModel(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(_WORDS, _UNITS)
            self.lstm = nn.LSTM(_UNITS, _UNITS, num_layers=2, batch_first=True)
            self.words = nn.Linear(_UNITS, _WORDS)

        def forward(self, tokens: torch.Tensor) -> Any:
            found, _ = self.lstm(self.embedding(tokens))
            return self.words(found[:, -1])

    return LanguageModel()


def _example(batch: int) -> tuple[Any, ...]:
    import torch

    return (torch.randint(0, _WORDS, (batch, _STEPS)),)


lstm_lm = ZooModel("LSTM language model, 20 words", _make, _example)
