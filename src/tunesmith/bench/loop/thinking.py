"""How long tuners think about a config when they have observed thousands.

``python -m tunesmith.bench.loop.thinking nose annealing`` prints milliseconds a config.
"""

from __future__ import annotations

import argparse
import time

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Space
from tunesmith.tuners import Search, Tuner, tuner

# As many as are measured at a time on a machine with several cores, and one at a time, as
# recorded spaces are searched.
_BATCHES = 8, 1


def conv2d_space() -> Space:
    """AutoTVM's CUDA template of conv2d on ResNet-18's C6: 36,864,000 configs, 8 parameters."""
    return Space(
        [
            Factorization("tile_f", 128, 4),
            Factorization("tile_y", 28, 4),
            Factorization("tile_x", 28, 4),
            Factorization("tile_rc", 128, 2),
            Factorization("tile_ry", 3, 2),
            Factorization("tile_rx", 3, 2),
            Ordinal("auto_unroll_max_step", (0, 512, 1500)),
            Categorical("unroll_explicit", (0, 1)),
        ]
    )


def thinking_ms(
    algorithm: Tuner, observations: int = 5000, configs: int = 600, batch: int = 8
) -> float:
    """Milliseconds a config that ``algorithm`` takes to propose it and to observe its measurement.

    The mean of ``configs`` proposals after ``observations`` on ``conv2d_space``, so many a
    ``batch``. It counts the process's CPU time, so that a busy machine does not matter.
    """
    search = algorithm.start(conv2d_space(), seed=0)
    _run(search, observations, _BATCHES[0])
    return 1e3 * _run(search, configs, batch) / configs


def _run(search: Search, configs: int, batch: int) -> float:
    """CPU seconds of the search's own until it has proposed so many more configs."""
    space = search.space
    goal = space.config_at(space.cartesian_size // 3)
    thought = 0.0
    for done in range(0, configs, batch):
        start = time.process_time()
        proposed = search.propose(min(batch, configs - done))
        thought += time.process_time() - start
        measured = [_measure(space, config, goal) for config in proposed]
        start = time.process_time()
        search.observe(measured)
        thought += time.process_time() - start
    return thought


def _measure(space: Space, config: Config, goal: Config) -> Measurement:
    """A smooth problem: the further from the goal, the slower."""
    return Measurement(config, Outcome.NO_ERROR, (1.0 + space.distance(config, goal),))


def main() -> None:
    parser = argparse.ArgumentParser(description="Milliseconds of thinking a proposed config.")
    parser.add_argument("tuners", nargs="+", help="names, as `tunesmith tuners` lists them")
    parser.add_argument("--observations", type=int, default=5000)
    arguments = parser.parse_args()
    for name in arguments.tuners:
        for batch in _BATCHES:
            taken = thinking_ms(tuner(name), arguments.observations, batch=batch)
            print(f"{name}, {batch} at a time: {taken:.3f} ms")


if __name__ == "__main__":
    main()
