"""The figures of ``tunesmith bench calls`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.calls.calls import PEERS, WAYS, limit_of
from tunesmith.bench.pages.templates import markdown
from tunesmith.operators import operator_from_json

_TITLES = {"pytorch": "PyTorch", "numpy": "NumPy", "onnxruntime": "ONNX Runtime"}


def calls_page(figures: Mapping[str, Any]) -> str:
    """Markdown. ``figures`` are those of ``measure_calls``."""
    return markdown(
        "calls/page.md.jinja",
        figures=figures,
        label=lambda described: operator_from_json(described).label,
        ways=WAYS,
        limit_of=limit_of,
        peers={name: _TITLES[name] for name in PEERS},
    )
