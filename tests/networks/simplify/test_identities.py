"""Operations that look as if they changed nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, torch
from tunesmith.networks import from_torch


def test_reversals_stay() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any) -> Any:
            return data.flip(1).cos(), data.flip(0, 2), data[:, 0:3] * 1.0

    data = random_input(2, 3, 4)
    network = from_torch(Model(), data)
    for found, expected in zip(
        network.built(defaults(network))(data), result_of(Model(), data), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_reversals_of_onnx_stay(tmp_path: Path) -> None:
    from tests.networks.small_onnx import onnx, saved, small_model
    from tunesmith.networks import from_onnx

    model = small_model(
        [onnx.helper.make_node("Slice", ["data", "last", "none", "axis", "back"], ["result"])],
        (1, 3, 4, 2),
    )
    for name, value in {"last": -1, "none": -100, "axis": 2, "back": -1}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([value]), name))
    network = from_onnx(saved(model, tmp_path))
    data = random_input(1, 3, 4, 2).numpy()
    found = network.built(defaults(network))(data)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, data[:, :, ::-1])
