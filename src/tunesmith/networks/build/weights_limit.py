"""What programs cost a network in time and memory, and how much its weights may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tunesmith.networks.build.growth import Option, fastest_with_shared
from tunesmith.networks.build.selection import Choice
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.tir.weights import WEIGHT, has_constant_weights
from tunesmith.target import Target
from tunesmith.task import Task

MAX_WEIGHTS_GROWTH = 4.0
"""How many times the original bytes prepared weights may take by default."""

# They take more than so many times only where that saves this share of a call at least.
_MODEST_GROWTH = 2.0
_WORTH_MORE = 0.05


@dataclass(frozen=True)
class Use:
    """How a network uses a task: in so many ``layers``, over these different ``weights``.

    Those of other tasks may be among them, such as of the same layer for another batch.
    """

    layers: int = 1
    weights: frozenset[object] = field(default_factory=lambda: frozenset({object()}))


@dataclass(frozen=True)
class WeightsLimit:
    """All constants of a network, of ``constant_bytes``, may take ``max_growth`` times as much.

    They take more than twice as much only if calls are 5 % shorter then.
    """

    uses: Mapping[Task, Use]
    constant_bytes: int
    target: Target
    max_growth: float

    def fastest(self, costs: Sequence[Sequence[Option]]) -> list[int] | None:
        """By tasks, which of the options are the fastest within the limit; None if none are."""
        found = self._within(costs, self.max_growth)
        modest = self._within(costs, min(_MODEST_GROWTH, self.max_growth))
        if found is None or modest is None:
            return found
        seconds = [
            sum(options[number].seconds for options, number in zip(costs, numbers, strict=True))
            for numbers in (found, modest)
        ]
        return found if seconds[0] < (1 - _WORTH_MORE) * seconds[1] else modest

    def _within(self, costs: Sequence[Sequence[Option]], growth: float) -> list[int] | None:
        original, shared = self._original_bytes
        limit = growth * self.constant_bytes - (self.constant_bytes - original)
        return fastest_with_shared(costs, limit, shared)

    def cost(self, task: Task, choice: Choice, measured: float | None) -> Option:
        """What a choice costs the network: the seconds ``measured`` there, or as far as known.

        Trials and estimates call a program again and again, so that weights that fit into the L3
        are read from there. In a network whose weights together do not fit they come from memory.
        """
        use, size = self.uses[task], choice.weight_bytes or 0
        shared = 0 if choice.laid_out else len(use.weights & self._shared) * size
        if measured is not None:
            return Option(measured, len(use.weights) * size, shared)
        seconds = choice.seconds or 0.0
        if self.target.kind == "cpu":
            machine = Machine.of(self.target)
            l3 = machine.usable_bytes[-1]
            if size <= l3 < self.constant_bytes:
                seconds += size / machine.bandwidth(self.constant_bytes)
        return Option(use.layers * seconds, len(use.weights) * size, shared)

    def exceeded(self, costs: Sequence[Sequence[Option]], chosen: Sequence[int]) -> str:
        """What there is to say of a choice that is not within the limit."""
        taken = [options[number] for options, number in zip(costs, chosen, strict=True)]
        size = sum(option.bytes - option.shared for option in taken)
        if any(option.shared for option in taken):
            size += self._original_bytes[1]
        return (
            f"no choice of programs keeps the weights within {self.max_growth:g} times their "
            f"original {self.constant_bytes / 1e6:.1f} MB: the layers' take {size / 1e6:.1f} MB"
        )

    @cached_property
    def _original_bytes(self) -> tuple[int, int]:
        """Of all tasks' weights as the model has them, each counted once; and of those that several
        tasks have."""
        sizes = {
            content: _original_bytes(task)
            for task, use in self.uses.items()
            for content in use.weights
        }
        return sum(sizes.values()), sum(sizes[content] for content in self._shared)

    @cached_property
    def _shared(self) -> frozenset[object]:
        """The weights that several tasks have."""
        readers = Counter(content for use in self.uses.values() for content in use.weights)
        return frozenset(content for content, count in readers.items() if count > 1)


def _original_bytes(task: Task) -> int:
    """The bytes of a layer's constant weights as the model has them."""
    operator = task.operator
    return operator.arguments[WEIGHT].bytes if has_constant_weights(operator) else 0
