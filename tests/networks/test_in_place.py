"""Programs timed inside of the network, and builds that go by these times."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import pytest

from tests.networks.choices import defaults
from tests.networks.small import Residual, random_input, result_of, seeded, torch
from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.networks import CompiledNetwork, Network, from_torch, in_place
from tunesmith.networks.build.contenders import contenders
from tunesmith.networks.build.growth import Option
from tunesmith.networks.build.kernels import LayerKernel, layer_kernel
from tunesmith.networks.build.programs import BuildState, HowToBuild, compiled_kernels, kernel_name
from tunesmith.networks.build.selection import Choice, Origin, picked
from tunesmith.networks.in_place import times_in_place
from tunesmith.operators import dense
from tunesmith.task import Task


@pytest.fixture(scope="module")
def network() -> Network:
    return from_torch(seeded(Residual()), random_input(1, 3, 8, 8))


def test_each_kernel_of_a_task_has_a_time(network: Network) -> None:
    """A task with one kernel is in all networks; others are in their own alone."""
    first, *others = network.tasks
    choices = picked(problems_of(first), 0)[:3]
    kernels = {first: [layer_kernel(kernel_name(0, first), choice) for choice in choices]}
    kernels |= {
        task: [layer_kernel(kernel_name(number, task), defaults(network)[task])]
        for number, task in enumerate(others, 1)
    }
    found = times_in_place(kernels, network.linked, [[random_input(1, 3, 8, 8).numpy()]])
    assert [len(found[task]) for task in network.tasks] == [3] + [1] * len(others)
    assert all(0 < seconds < 1 for each in found.values() for seconds in each)


def test_timed_networks_are_freed(network: Network) -> None:
    task = next(iter(network.tasks))
    choices = picked(problems_of(task), 0)[:2]
    kernels = [layer_kernel(kernel_name(0, task), choice) for choice in choices]
    others = {
        task: layer_kernel(kernel_name(number, task), choice)
        for number, (task, choice) in enumerate(defaults(network).items())
    }
    linked: list[weakref.ref[CompiledNetwork]] = []
    timed: list[weakref.ref[CompiledNetwork]] = []

    class Watched(CompiledNetwork):
        def watched(self, watch: Callable[..., int]) -> Self:
            twin = super().watched(watch)
            timed.append(weakref.ref(twin))
            return twin

    def link(given: Mapping[Task, LayerKernel]) -> CompiledNetwork:
        made = network.linked({**others, **given})
        made = Watched(made.description, made._executable, made._weights)
        linked.append(weakref.ref(made))
        return made

    times_in_place({task: kernels}, link, [[random_input(1, 3, 8, 8).numpy()]])
    gc.collect()
    assert [reference() for reference in (*linked, *timed)] == [None] * 4


class FakeNetwork:
    """Calls take so many seconds by a clock that nothing else moves."""

    def __init__(self, clock: SimpleNamespace, seconds: float) -> None:
        self.calls = 0
        self._clock = clock
        self._seconds = seconds

    def watched(self, watch: Callable[..., int]) -> FakeNetwork:
        self._watch = watch
        return self

    def __call__(self, *_: object) -> None:
        self.calls += 1
        self._watch(None, "layer", True)
        self._clock.now += self._seconds
        self._watch(None, "layer", False)


@pytest.mark.parametrize(
    ("seconds", "rounds", "calls"),
    [(5.0, 1, 1), (1.0, 1, 1), (0.4, 2, 2), (0.11, 5, 2), (0.001, 40, 2)],
)
def test_comparing_ends(
    monkeypatch: pytest.MonkeyPatch, seconds: float, rounds: int, calls: int
) -> None:
    """Two networks on three examples: long calls are not repeated, and rounds end in time."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(in_place, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    made: list[FakeNetwork] = []

    def link(_: object) -> Any:
        made.append(FakeNetwork(clock, seconds))
        return made[-1]

    kernel: Any = SimpleNamespace(name="layer")
    task = Task(dense(n=8, k=8))
    found = times_in_place({task: [kernel, kernel]}, link, [[], [], []])
    assert [network.calls for network in made] == [rounds * calls * 3] * 2
    assert found[task] == pytest.approx([3 * seconds] * 2)


def test_a_build_goes_by_the_times_in_the_network(network: Network) -> None:
    """The stub turns the order of all programs around."""
    given: dict[Task, list[Choice]] = {}
    states: list[BuildState] = []

    def reversed_times(kernels: Mapping[Task, Sequence[LayerKernel]]) -> Mapping[Task, list[float]]:
        given.update({task: [it.choice for it in each] for task, each in kernels.items()})
        return {
            task: [float(-number) for number in range(len(each))] for task, each in given.items()
        }

    how = HowToBuild(tell=states.append, contenders=3, in_place=reversed_times)
    found = compiled_kernels(network.uses, network.constant_bytes, network.target, how)
    assert max(map(len, given.values())) == 3
    assert {task: each[-1] for task, each in given.items()} == {
        task: kernel.choice for task, kernel in found.items()
    }
    assert "comparing programs in the network" in {state.doing for state in states}


def test_who_is_compared(network: Network) -> None:
    """The best, the one with the least weights, the best of each sketch, then the next ones."""
    task, other = list(network.tasks)[:2]
    choices = picked(problems_of(task), 0)
    sketches = {choice.problem.sketch.name for choice in choices}
    assert len(sketches) > 1
    costs = {choice: Option(1.0 + 0.01 * number, 100) for number, choice in enumerate(choices)}
    costs[choices[-1]] = Option(9.0, 10)
    little = dict.fromkeys(picked(problems_of(other), 0), Option(1e-3, 10))
    found = contenders({task: costs, other: little}, 3)
    assert found[task][:2] == [choices[0], choices[-1]]
    assert len({choice.problem.sketch.name for choice in found[task]}) > 1
    assert [len(found[it]) for it in (task, other)] == [3, 1]


def test_the_models_favourite_is_compared_with_what_was_measured(network: Network) -> None:
    """Trials may prefer programs whose weights stay in a cache, which a network's do not."""
    picks = picked(problems_of(next(iter(network.tasks))), 0)
    best = {pick.problem.sketch.name: replace(pick, origin=Origin.STORE) for pick in picks}
    measured = list(best.values())
    assert len(measured) > 1
    costs = {choice: Option(1.0 + 0.01 * n, 10) for n, choice in enumerate([*measured, *picks])}
    found = contenders({measured[0].problem.task: costs}, 2)
    assert list(found.values()) == [[measured[0], picks[0]]]


def test_a_network_that_is_built_so_computes_the_same(network: Network) -> None:
    compiled = network.build(contenders=2)
    data = random_input(1, 3, 8, 8)
    torch.testing.assert_close(compiled(data), result_of(seeded(Residual()), data))
    with pytest.raises(UsageError, match="contenders must be 1 or more, not 0"):
        network.build(contenders=0)
