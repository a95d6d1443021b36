"""Columns by name: what tasks have in common is in the same place, what they lack is NaN."""

from __future__ import annotations

import math

import numpy as np

from tests.transfer.made_up import SKETCH, problem_of
from tunesmith.features.estimate_parts import PARTS
from tunesmith.operators import conv2d, matmul
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.encoding import ESTIMATE, RATE, Encoding, task_values

TASK = Task(matmul(m=8, n=16, k=32), Target(mcpu="znver4", cores=2))
CONFIG = Config(
    {
        "tile": [4, 2],
        "depth": 7,
        "order": ["b", "a"],
        "packed": True,
        "pad": "root",
    }
)


def row_of(config: Config, **estimate: float) -> dict[str, float]:
    encoding = Encoding.of([(TASK, "s", [config])])
    seconds = np.array([estimate.get("seconds", math.nan)])
    rows = encoding.rows(TASK, "s", [config], (seconds, np.full((1, len(PARTS)), 0.5)))
    return dict(zip(encoding.names, rows[0].tolist(), strict=True))


def test_values_of_a_config() -> None:
    row = row_of(CONFIG)
    assert row["config.tile.0"] == np.float32(math.log2(5))
    assert row["config.tile.1"] == np.float32(math.log2(3))
    assert row["config.depth"] == 3.0
    assert (row["config.order.b"], row["config.order.a"]) == (0.0, 1.0)
    assert row["config.packed"] == 1.0
    assert row["config.pad=root"] == 1.0


def test_values_of_a_task() -> None:
    row = row_of(CONFIG)
    assert row["operator.m"] == np.float32(math.log2(9))
    assert row["operator=matmul"] == 1.0
    assert row["sketch=s"] == 1.0
    assert (row["target.lanes"], row["target.cores"]) == (16.0, 2.0)
    assert row["operator.flops"] == np.float32(math.log2(TASK.operator.flops))


def test_sizes_in_a_text_have_a_column_each() -> None:
    image = Task(conv2d(ci=4, h=9, w=9, co=4, kernel=(3, 5)), Target(mcpu="znver4", cores=1))
    values = task_values(image, "s")
    assert values["operator.kernel.0"] == 2.0
    assert values["operator.kernel.1"] == math.log2(6)


def test_the_estimate_and_its_rate() -> None:
    row = row_of(CONFIG, seconds=2.0**-10)
    assert row[ESTIMATE] == -10.0
    assert row[RATE] == np.float32(math.log2(TASK.operator.flops) + 10.0)
    assert row["estimate.imbalance"] == 0.5
    assert math.isnan(row_of(CONFIG)[ESTIMATE])


def test_what_a_task_does_not_have_is_nan() -> None:
    other = Config({"depth": 3, "unroll": 4})
    encoding = Encoding.of([(TASK, "s", [CONFIG]), (TASK, "t", [other])])
    rows = encoding.rows(TASK, "t", [other, other], None)
    place = {name: number for number, name in enumerate(encoding.names)}
    assert np.isnan(rows[:, [place["config.tile.0"], place["sketch=s"], place[ESTIMATE]]]).all()
    assert (rows[:, place["config.depth"]] == 2.0).all()


def test_names_that_are_not_known_are_left_out() -> None:
    encoding = Encoding(["config.depth"])
    assert encoding.rows(TASK, "s", [CONFIG], None).tolist() == [[3.0]]


def test_each_config_has_its_own_values() -> None:
    problem = problem_of(64)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    encoding = Encoding.of([(problem.task, SKETCH, configs)])
    together = encoding.rows(problem.task, SKETCH, configs, None)
    for config, row in zip(configs, together, strict=True):
        np.testing.assert_array_equal(encoding.rows(problem.task, SKETCH, [config], None)[0], row)


def test_no_configs() -> None:
    encoding = Encoding(["config.depth", ESTIMATE])
    assert encoding.rows(TASK, "s", [], (np.empty(0), np.empty((0, len(PARTS))))).shape == (0, 2)
