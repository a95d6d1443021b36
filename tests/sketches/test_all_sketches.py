"""Every sketch on every target that it is for: random configs of random operators of odd sizes."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from tvm.error import InternalError

from tests.emulated import needs_compiler
from tests.sketches.odd_operators import NAMES, OddOperators
from tests.sweeps import share_of
from tunesmith.cuda.multiprocessors import multiprocessor
from tunesmith.errors import InstantiationError
from tunesmith.sketches import Sketch
from tunesmith.sketches.registry import SKETCHES
from tunesmith.target import Target
from tunesmith.testing.processors import cpu_target_parameters
from tunesmith.testing.sketch import mismatch_of

PROGRAMS = {"cpu": 60, "cuda": 5}
# GPUs whose figures are known: some sketches are for the newer ones alone, and all take their
# limits from them.
ARCHS = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
# So many operators of a name are drawn to see whether a sketch is for it: some are for few.
DRAWS = 500
# TVM fails so to lower about one of 400 programs, of blocks of a single thread that copies vectors:
# a failed trial, as for a user.
TVMS_LIMIT = "eval_vec_"


def _cases() -> list[Any]:
    gpus = [Target("cuda", arch=f"sm_{arch}") for arch in ARCHS]
    cases = [
        pytest.param(name, *one.values, id=f"{name}-{one.id}", marks=one.marks)
        for name in SKETCHES.names()
        for one in cpu_target_parameters()
        if name.startswith("cpu")
    ]
    return cases + [
        pytest.param(name, gpu, id=f"{name}-{gpu.arch}", marks=needs_compiler)
        for name in SKETCHES.names()
        for gpu in gpus
        if name.startswith("cuda")
    ]


def test_the_figures_of_these_gpus_are_known() -> None:
    assert all(multiprocessor(f"sm_{arch}") for arch in ARCHS)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "target"), _cases())
def test_random_configs_compute_the_reference(
    name: str, target: Target, pytestconfig: pytest.Config
) -> None:
    sketch, seed = SKETCHES.get(name), zlib.crc32(f"{name} {target.key}".encode())
    programs = share_of(PROGRAMS[target.kind], pytestconfig)
    names = _names_for(sketch, target, seed)
    if not names:
        pytest.skip(f"{name} is not for {target.arch}")
    operators, rng = OddOperators(seed, names), np.random.default_rng(seed)
    wrong, refused, made = [], [], 0
    while made < programs:
        operator = next(operators)
        if not sketch.supports(operator, target):
            continue
        config = sketch.space(operator, target).sample(rng)
        try:
            program = sketch.program(operator, target, config)
        except InstantiationError:
            continue
        made += 1
        try:
            reason = mismatch_of(program, operator, config, target, seed=made)
        except InternalError as error:
            if target.kind == "cpu" or TVMS_LIMIT not in str(error):
                raise
            refused.append(f"{operator.key} {config.key}")
            continue
        if reason is not None:
            wrong.append(f"{operator.key} {config.key}: {reason}")
    assert wrong == []
    assert len(refused) <= 1


def _names_for(sketch: Sketch, target: Target, seed: int) -> list[str]:
    """The names of operators that a sketch is for: one of so many is drawn that it supports."""
    drawn = {name: OddOperators(seed, [name]) for name in NAMES}
    return [
        name
        for name, operators in drawn.items()
        if any(sketch.supports(next(operators), target) for _ in range(DRAWS))
    ]
