"""TVM may compare functions by their reduction alone: what our schedules then serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.exchange.metaschedule.networks import (
    applied,
    functions,
    fused,
    is_scheduled,
    network,
    run,
)
from tests.exchange.metaschedule.schedules import CONV, database, exported
from tests.exchange.metaschedule.tasks import some_config
from tunesmith.operators import conv2d


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "database"


@pytest.mark.parametrize("epilogue", [{}, {"bias": True, "relu": True}], ids=["none", "relu"])
def test_a_schedule_serves_other_epilogues(epilogue: dict[str, Any], folder: Path) -> None:
    from tvm.relax import op

    operator = conv2d(**CONV, bias=True, relu=True)
    tuned = conv2d(**CONV, **epilogue)
    exported(folder, tuned, some_config(tuned))
    data, weight, bias = operator.make_inputs(seed=0)
    shapes = [data.shape, weight.shape, (1, 16, 1, 1)]

    def body(emit: Any, data: Any, weight: Any, bias: Any) -> Any:
        value = emit(op.nn.conv2d(data, weight, padding=[1, 1, 1, 1]))
        return emit(op.tanh(emit(op.nn.relu(emit(op.add(value, bias))))))

    module = fused(network(shapes, body))
    assert not any(map(is_scheduled, functions(applied(module, database(folder)))))
    module = applied(module, database(folder, "anchor-block"))
    assert all(map(is_scheduled, functions(module)))
    np.testing.assert_allclose(
        run(module, data, weight, bias.reshape(1, -1, 1, 1)),
        np.tanh(operator.reference(data, weight, bias)),
        atol=1e-4,
    )


def test_an_epilogue_must_not_be_missing(folder: Path) -> None:
    """An error of TVM that the page warns of."""
    from tvm.error import InternalError
    from tvm.relax import op

    operator = conv2d(**CONV, relu=True)
    exported(folder, operator, some_config(operator))
    shapes = [it.shape for it in operator.make_inputs(seed=0)]
    module = fused(network(shapes, lambda emit, x, w: emit(op.nn.conv2d(x, w, padding=1))))
    assert not any(map(is_scheduled, functions(applied(module, database(folder)))))
    with pytest.raises(InternalError):
        applied(module, database(folder, "anchor-block"))
