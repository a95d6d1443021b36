"""TVM's own passes find our schedules in a database, and make our programs with them."""

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
from tests.exchange.metaschedule.schedules import CONV, exported
from tests.exchange.metaschedule.tasks import CPU, some_config
from tunesmith.exchange.metaschedule.definitions import same_function
from tunesmith.operators import Operator, conv2d, dense, depthwise_conv2d, matmul
from tunesmith.sketches import sketch_for
from tunesmith.sketches.sketch import ScheduleSketch
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.space import Config
from tunesmith.target import Target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "database"


def scheduled(operator: Operator, config: Config, function: Any) -> Any:
    """Our program for a function of a network."""
    from tvm import IRModule

    sketch = sketch_for(operator, CPU, "cpu_tiled")
    assert isinstance(sketch, ScheduleSketch)
    named = function.with_attr("global_symbol", "main")
    return sketch.schedule(operator, CPU, config, IRModule({"main": named})).mod["main"]


def random_arrays(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.random(shape, dtype=np.float32) - np.float32(0.5) for shape in shapes]


def test_our_own_definition_has_our_program(folder: Path) -> None:
    operator = matmul(m=32, n=48, k=16, bias=True, relu=True)
    config = some_config(operator, pack_weight=True)
    found = exported(folder, operator, config).query_schedule(lower(operator), CPU.to_tvm(), "main")
    ours = sketch_for(operator, CPU, "cpu_tiled").program(operator, CPU, config)
    assert same_function(found.mod["main"], ours["main"])
    assert not same_function(found.mod["main"], lower(operator)["main"])


@pytest.mark.parametrize("attach", [False, True])
def test_a_product_in_a_network(attach: bool, folder: Path) -> None:
    from tvm.relax import op

    operator = matmul(m=32, n=48, k=16, bias=True, relu=True)
    config = some_config(operator, pack_weight=True)
    arrays = random_arrays((32, 16), (16, 48), (48,))

    def body(emit: Any, data: Any, weight: Any, bias: Any) -> Any:
        return emit(op.nn.relu(emit(op.add(emit(op.matmul(data, weight)), bias))))

    plain = fused(network([it.shape for it in arrays], body), attach=attach)
    module = applied(plain, exported(folder, operator, config))
    (function,), (before,) = functions(module), functions(plain)
    assert is_scheduled(function)
    assert same_function(
        function.without_attr("tirx.is_scheduled"), scheduled(operator, config, before)
    )
    assert not same_function(function, before)
    np.testing.assert_allclose(
        run(module, *arrays), operator.reference(*arrays), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    "operator",
    [
        conv2d(**CONV, relu=True),
        conv2d(**CONV, layout="NHWC", stride=2),
        conv2d(**{**CONV, "kernel": 1, "padding": 0}, groups=2, post_ops="silu"),
        conv2d(**{**CONV, "padding": (0, 1, 1, 2)}, dilation=2, residual=True, post_ops="gelu"),
        depthwise_conv2d(c=8, h=10, w=10, kernel=3, padding=1, bias=True),
    ],
    ids=lambda operator: str(operator.label),
)
@pytest.mark.parametrize("seed", [0, 1])
def test_convolutions(operator: Any, seed: int, folder: Path) -> None:
    from tvm.relax import op

    config = some_config(operator, seed=seed)
    around = (*operator.padding, *operator.padding)[:4]
    nchw = operator.layout == "NCHW"
    arrays = operator.make_inputs(seed=0)
    shaped = [it.reshape(-1, 1, 1) if it.ndim == 1 and nchw else it for it in arrays]

    def body(emit: Any, data: Any, weight: Any, *others: Any) -> Any:
        value = emit(
            op.nn.conv2d(
                data,
                weight,
                strides=operator.stride,
                padding=around,
                dilation=operator.dilation,
                groups=operator.groups,
                data_layout=operator.layout,
                kernel_layout="OIHW" if nchw else "HWIO",
            )
        )
        for other in others:
            # A bias of channels, as importers write it.
            shape = (1, *other.ty.shape) if len(other.ty.shape) == 3 else other.ty.shape
            value = emit(op.add(value, emit(op.reshape(other, shape))))
        steps = {"silu": op.nn.silu, "gelu": op.nn.gelu}
        if operator.relu:
            value = emit(op.nn.relu(value))
        return emit(steps[operator.post_ops](value)) if operator.post_ops else value

    module = applied(
        fused(network([it.shape for it in shaped], body)), exported(folder, operator, config)
    )
    assert any(map(is_scheduled, functions(module)))
    relative, absolute = operator.tolerance
    np.testing.assert_allclose(
        run(module, *shaped), operator.reference(*arrays), rtol=relative, atol=absolute
    )


def test_a_dense_layer_needs_its_pass(folder: Path) -> None:
    from tvm.relax import op

    operator = dense(m=4, n=32, k=16)
    arrays = operator.make_inputs(seed=0)
    layer = network(
        [it.shape for it in arrays],
        lambda emit, data, weight: emit(op.matmul(data, emit(op.permute_dims(weight)))),
    )
    found = exported(folder, operator, some_config(operator))
    assert not any(map(is_scheduled, functions(applied(fused(layer), found))))
    module = applied(fused(layer, transpose=True), found)
    assert all(map(is_scheduled, functions(module)))
    np.testing.assert_allclose(run(module, *arrays), operator.reference(*arrays), atol=1e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_constant_weights_are_laid_out_when_a_network_is_built(packed: bool, folder: Path) -> None:
    from tvm.ir.transform import Sequential
    from tvm.relax import op
    from tvm.relax import transform as passes

    operator = conv2d(**CONV, bias=True, relu=True, constant_weights=True)
    data, weight, bias = operator.make_inputs(seed=0)

    def body(emit: Any, data: Any, weight: Any, bias: Any) -> Any:
        value = emit(op.nn.conv2d(data, weight, padding=[1, 1, 1, 1]))
        return emit(op.nn.relu(emit(op.add(value, bias))))

    layer = network([data.shape], body, [weight, bias.reshape(1, -1, 1, 1)])
    found = exported(folder, operator, some_config(operator, pack_weight=packed))
    assert not any(map(is_scheduled, functions(applied(fused(layer), found))))
    module = applied(fused(layer, attach=True), found)
    with CPU.to_tvm():
        module = Sequential(
            [
                passes.SplitLayoutRewritePreproc(),
                passes.FoldConstant(),
                passes.DeadCodeElimination(["main"]),
            ]
        )(module)
    (function,) = functions(module)
    assert is_scheduled(function)
    assert (len(function.params[1].shape) > 4) == packed
    relative, absolute = operator.tolerance
    np.testing.assert_allclose(
        run(module, data), operator.reference(data, weight, bias), rtol=relative, atol=absolute
    )


@pytest.mark.parametrize("constant", [False, True])
def test_tvms_own_pipeline(constant: bool, folder: Path) -> None:
    from tvm import relax
    from tvm.relax import op

    operator = conv2d(**CONV, bias=True, relu=True, constant_weights=constant)
    exported(folder, operator, some_config(operator, pack_weight=True))
    data, weight, bias = operator.make_inputs(seed=0)
    weights = [weight, bias.reshape(1, -1, 1, 1)]

    def body(emit: Any, data: Any, weight: Any, bias: Any) -> Any:
        value = emit(op.nn.conv2d(data, weight, padding=[1, 1, 1, 1]))
        return emit(op.nn.relu(emit(op.add(value, bias))))

    arrays = [data] if constant else [data, *weights]
    layer = network([it.shape for it in arrays], body, weights if constant else [])
    pipeline = relax.pipeline.static_shape_tuning_pipeline(
        total_trials=0,
        target=CPU.to_tvm(),
        work_dir=str(folder),
        cpu_weight_prepack=constant,
    )
    module = pipeline(layer)
    assert all(map(is_scheduled, functions(module)))
    relative, absolute = operator.tolerance
    np.testing.assert_allclose(
        run(module, *arrays),
        operator.reference(data, weight, bias),
        rtol=relative,
        atol=absolute,
    )


@pytest.mark.parametrize(
    "operator",
    [matmul(m=64, n=64, k=64, bias=True), depthwise_conv2d(c=8, h=10, w=10, kernel=3, padding=1)],
    ids=lambda operator: operator.name,
)
def test_programs_for_gpus(operator: Operator, folder: Path) -> None:
    """TVM's pipeline compiles what the database's schedule makes of a network's function."""
    import tvm

    target = Target("cuda", arch="sm_90")
    sketch = sketch_for(operator, target, "cuda_tiled")
    config = sketch.default(operator, target)
    found = exported(folder, operator, config, target, "cuda_tiled")
    ours = sketch.program(operator, target, config)["main"]
    programs = [
        found.query_schedule(it.workload.mod, target.to_tvm(), "main").mod
        for it in found.get_all_tuning_records()
    ]
    assert len(programs) == 3
    assert sum(same_function(it["main"], ours) for it in programs) == 1
    for program in programs:
        with target.to_tvm():
            source = tvm.compile(program, target.to_tvm()).mod.imports[0].inspect_source()
        assert "__shared__" in source
