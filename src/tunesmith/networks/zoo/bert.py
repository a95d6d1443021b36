"""BERT-base (Devlin et al., arXiv 1810.04805): twelve layers, 128 tokens."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.zoo.registry import ZooModel

_WORDS, _TOKENS = 30522, 128
_LAYERS, _UNITS, _HEADS, _INNER = 12, 768, 12, 3072


def _make() -> Any:
    import torch
    from torch import nn

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(_UNITS, _UNITS) for _ in range(3))
            self.output = nn.Linear(_UNITS, _UNITS)
            self.first, self.second = nn.Linear(_UNITS, _INNER), nn.Linear(_INNER, _UNITS)
            self.after_attention, self.after = (nn.LayerNorm(_UNITS, 1e-12) for _ in range(2))

        def heads(self, data: Any) -> Any:
            batch, tokens, _ = data.shape
            return data.view(batch, tokens, _HEADS, _UNITS // _HEADS).transpose(1, 2)

        def forward(self, data: Any) -> Any:
            found = nn.functional.scaled_dot_product_attention(
                self.heads(self.query(data)),
                self.heads(self.key(data)),
                self.heads(self.value(data)),
            )
            attended = self.output(found.transpose(1, 2).reshape(data.shape))
            data = self.after_attention(data + attended)
            inner = nn.functional.gelu(self.first(data))
            return self.after(data + self.second(inner))

    class Bert(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(_WORDS, _UNITS)
            self.positions = nn.Parameter(torch.randn(_TOKENS, _UNITS) * 0.02)
            self.norm = nn.LayerNorm(_UNITS, 1e-12)
            self.layers = nn.Sequential(*(Layer() for _ in range(_LAYERS)))

        def forward(self, tokens: Any) -> Any:
            return self.layers(self.norm(self.words(tokens) + self.positions))

    return Bert()


def _example(batch: int) -> tuple[Any, ...]:
    import torch

    return (torch.randint(0, _WORDS, (batch, _TOKENS)),)


bert_base = ZooModel("BERT-base, 128 tokens", _make, _example)
