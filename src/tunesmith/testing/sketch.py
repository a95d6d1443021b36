"""The conformance suite of sketches: inherit it, name a sketch and operators, pytest does the rest.

::

    from tunesmith.testing.sketch import SketchConformance

    class TestMine(SketchConformance):
        sketch = Mine()
        operators = (matmul(m=64, n=48, k=96), matmul(m=7, n=13, k=1, bias=True))

It builds and runs the default and a few random configs of each operator: take small ones, and such
whose sizes have few divisors or none. Needs pytest.
"""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tunesmith.errors import InstantiationError
from tunesmith.kernel import arrays
from tunesmith.kernel.kernel import Kernel
from tunesmith.measure.trial.verify import find_mismatch, poison_like
from tunesmith.operators import Argument, Operator
from tunesmith.sketches import Sketch
from tunesmith.sketches.tir.weights import (
    PREPARE,
    WEIGHT,
    has_constant_weights,
    prepared_weights,
    with_weights,
    without_weights,
)
from tunesmith.space import Config, Space
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda
from tunesmith.testing.processors import cpu_target_parameters


def mismatch(
    sketch: Sketch, operator: Operator, config: Config, target: Target | None = None, seed: int = 0
) -> str | None:
    """Build and run a config in this process: what is wrong with the result, or None.

    The output holds NaN (the complement of each integer) before the call, so that elements that
    are never written, or added to before they are set, are found out. CUDA code runs on the CPU
    (see ``emulated_gpu``).
    """
    target = target or Target()
    return mismatch_of(sketch.program(operator, target, config), operator, config, target, seed)


def mismatch_of(
    program: Any, operator: Operator, config: Config, target: Target, seed: int = 0
) -> str | None:
    """The same for a program that was made from a config."""
    inputs = operator.make_inputs(seed)
    expected = operator.reference(*inputs)
    unset = poison_like(expected)
    if target.kind == "cuda":
        weights = prepared_weights(program)
        if weights is not None:
            blank = arrays.as_numpy(arrays.poisoned_tensor(weights))
            laid_out = run_cuda(program, target, [inputs[WEIGHT], blank], PREPARE)
            inputs = with_weights(inputs, laid_out)
        result = run_cuda(program, target, [*inputs, unset])
    else:
        kernel = Kernel.build(operator, target, program, config)
        output = arrays.new_tensor(operator.result)
        output.copyfrom(unset)
        if has_constant_weights(operator):
            kernel.prepare(inputs[WEIGHT])(*without_weights(inputs), out=output)
        else:
            kernel(*inputs, out=output)
        result = arrays.as_numpy(output)
    return find_mismatch(result, expected, *operator.tolerance)


# What was made of the first configs, by suite, operator and target, and how to make more.
_Attempts = tuple[list[tuple[Config, Any]], Iterator[tuple[Config, Any]]]
_attempts: dict[tuple[type, str, str], _Attempts] = {}


class SketchConformance:
    """The tests. A subclass sets ``sketch`` and ``operators``, which the sketch supports.

    They run for the processors of ``cpu_targets``, or for the ``on`` that a subclass sets.
    """

    sketch: ClassVar[Sketch]
    operators: ClassVar[Sequence[Operator]]
    #: The one target to test for, such as a GPU.
    on: ClassVar[Target | None] = None
    #: How many random configs of each operator are built and run, beside the default.
    samples: ClassVar[int] = 2

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "operator" in metafunc.fixturenames:
            metafunc.parametrize("operator", self.operators, ids=lambda operator: operator.key)
        if "target" in metafunc.fixturenames:
            targets = cpu_target_parameters() if self.on is None else [self.on]
            metafunc.parametrize("target", targets, ids=lambda target: target.key)

    def configs(self, operator: Operator, target: Target, count: int) -> Iterator[Config]:
        """The default, then ``count`` random configs."""
        yield self.sketch.default(operator, target)
        rng = np.random.default_rng(len(operator.key))
        for _ in range(count):
            yield self.sketch.space(operator, target).sample(rng)

    def programs(
        self, operator: Operator, target: Target, count: int
    ) -> Iterator[tuple[Config, Any]]:
        """The default and up to ``count`` random configs, with their programs.

        Random ones may be refused: that is what ``InstantiationError`` is for. A program is made
        once for all tests: TVM takes longer to schedule than to build some of them.
        """
        key = type(self), operator.key, target.key
        if key not in _attempts:
            _attempts[key] = [], self.attempts(operator, target)
        made, others = _attempts[key]
        while len(made) <= count and (attempt := next(others, None)) is not None:
            made.append(attempt)
        yield from made[: count + 1]

    def attempts(self, operator: Operator, target: Target) -> Iterator[tuple[Config, Any]]:
        """The default and random configs, as many as there are, with their programs."""
        known: set[Config] = set()
        for config in self.configs(operator, target, 60):
            if config in known:
                continue
            known.add(config)
            try:
                yield config, self.sketch.program(operator, target, config)
            except InstantiationError:
                assert len(known) > 1, "the default is refused"

    # --- The space

    def test_it_supports_its_operators(self, operator: Operator, target: Target) -> None:
        assert self.sketch.supports(operator, target)

    def test_the_default_is_in_the_space(self, operator: Operator, target: Target) -> None:
        self.sketch.space(operator, target).check(self.sketch.default(operator, target))

    def test_space_and_default_are_the_same_each_time(
        self, operator: Operator, target: Target
    ) -> None:
        assert self.sketch.space(operator, target) == self.sketch.space(operator, target)
        assert self.sketch.default(operator, target) == self.sketch.default(operator, target)

    def test_space_and_configs_survive_json(self, operator: Operator, target: Target) -> None:
        space = self.sketch.space(operator, target)
        again = Space.from_json(json.loads(json.dumps(space.to_json())))
        assert again == space
        for config in self.configs(operator, target, 20):
            assert space.contains(config)
            copy = Config.from_json(json.loads(json.dumps(config.to_json())))
            assert copy == config
            assert again.contains(copy)

    # --- The programs

    def test_results_match_the_reference(self, operator: Operator, target: Target) -> None:
        tried = 0
        for config, program in self.programs(operator, target, self.samples):
            wrong = mismatch_of(program, operator, config, target)
            assert wrong is None, f"{config.key}: {wrong}"
            tried += 1
        if tried == 1:
            configs = set(self.configs(operator, target, 60))
            assert len(configs) == 1, "every random config is refused"

    def test_a_program_is_a_function_of_arguments_and_result(
        self, operator: Operator, target: Target
    ) -> None:
        for config, program in self.programs(operator, target, 3):
            functions = {variable.name_hint for variable in program.get_global_vars()}
            prepared = prepared_weights(program)
            tensors = [*operator.arguments, operator.result]
            if prepared is None:
                assert functions == {"main"}
            else:
                assert functions == {"main", PREPARE}
                assert has_constant_weights(operator), "other weights may change with each call"
                assert _parameters(program[PREPARE]) == _types([tensors[WEIGHT], prepared])
                tensors = with_weights(tensors, prepared)
                known = self.sketch.weight_bytes(operator, target, config)
                assert known in (None, prepared.bytes)
            assert _parameters(program["main"]) == _types(tensors)

    def test_the_same_config_gives_the_same_program(
        self, operator: Operator, target: Target
    ) -> None:
        for config, program in self.programs(operator, target, 3):
            # By way of JSON, as a config comes out of a store.
            stored = Config.from_json(json.loads(json.dumps(config.to_json())))
            again = self.sketch.program(operator, target, stored)
            assert again.script() == program.script()

    def test_a_config_of_another_space_is_refused(self, operator: Operator, target: Target) -> None:
        strange = Config({**self.sketch.default(operator, target), "no such parameter": 1})
        with pytest.raises(InstantiationError, match=r"^.+\Z"):
            self.sketch.program(operator, target, strange)

    # --- The sketch itself

    def test_it_has_a_name_and_a_version(self) -> None:
        assert self.sketch.name == self.sketch.name.strip() != ""
        assert isinstance(self.sketch.version, int)
        assert self.sketch.version >= 1

    def test_another_process_can_find_it_by_name(self, target: Target) -> None:
        kind = type(self.sketch)
        assert getattr(importlib.import_module(kind.__module__), kind.__qualname__) is kind
        copy = pickle.loads(pickle.dumps(self.sketch))
        assert type(copy) is kind
        for operator in self.operators:
            assert copy.space(operator, target) == self.sketch.space(operator, target)
            assert copy.default(operator, target) == self.sketch.default(operator, target)


def _parameters(function: Any) -> list[tuple[tuple[int, ...], str]]:
    """Shape and element type of each buffer that a function takes."""
    return [(tuple(map(int, one.shape)), str(one.dtype)) for one in function.params]


def _types(tensors: Sequence[Argument]) -> list[tuple[tuple[int, ...], str]]:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]
