"""N-A2C's memory."""

from __future__ import annotations

import numpy as np

from tunesmith.features.moves import Moves
from tunesmith.features.vectors import Ints
from tunesmith.space import Ordinal, Space
from tunesmith.testing.trials import space_named
from tunesmith.tuners.neural.memory import Memory

LINE = Space([Ordinal("n", tuple(range(40)))])


def transitions(memory: Memory) -> set[tuple[int, int, float]]:
    """Those of a line: from where, to where, and the throughput there."""
    before, actions, speeds, after = memory.draw(2000, np.random.default_rng(0))
    assert ((after - before)[:, 0] == 2 * actions - 1).all()  # action 0 is down, 1 is up
    return set(zip(before[:, 0].tolist(), after[:, 0].tolist(), speeds.tolist(), strict=True))


def state(n: int) -> Ints:
    return np.array([n], dtype=np.int32)


def test_the_memory_holds_the_transitions_between_measured_states() -> None:
    memory = Memory(100, Moves(LINE))
    for n, speed in ((3, 0.3), (9, 0.9), (5, 0.5), (4, 0.4), (39, 3.9)):
        memory.add(state(n), speed)
    assert transitions(memory) == {(3, 4, 0.4), (4, 3, 0.3), (4, 5, 0.5), (5, 4, 0.4)}


def test_there_are_none_while_no_two_states_are_neighbours() -> None:
    memory = Memory(100, Moves(LINE))
    for n in (3, 9):
        memory.add(state(n), 1.0)
    assert [part.shape for part in memory.draw(64, np.random.default_rng(0))] == [
        (0, 1),
        (0,),
        (0,),
        (0, 1),
    ]


def test_the_actions_of_the_memory_lead_from_state_to_state_for_all_kinds_of_parameter() -> None:
    space = space_named("mixed")
    moves = Moves(space)
    memory = Memory(50, moves)
    speeds = {}
    middle = space.sample(np.random.default_rng(0))
    for n, config in enumerate([middle, *space.neighbours(middle)[:40]]):
        memory.add(moves.vectors.vector(config), float(n))
        speeds[config] = float(n)
    before, actions, drawn, after = memory.draw(500, np.random.default_rng(1))
    assert moves.possible(before)[np.arange(500), actions].all()
    assert (moves.step(before, actions) == after).all()
    ends = [moves.vectors.config(end) for end in after]
    assert [speeds[end] for end in ends] == drawn.tolist()
    assert all(
        space.distance(moves.vectors.config(start), end) == 1
        for start, end in zip(before, ends, strict=True)
    )


def test_the_memory_has_a_fixed_size_and_keeps_the_latest() -> None:
    memory = Memory(3, Moves(LINE))
    for n in range(10):
        memory.add(state(n), float(n))
        assert len(memory) == min(n + 1, 3)
    assert transitions(memory) == {(7, 8, 8.0), (8, 7, 7.0), (8, 9, 9.0), (9, 8, 8.0)}
