"""What waits to be built or measured on a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tunesmith.measure.cluster.worker import Built, Work
from tunesmith.measurement import Candidate


@dataclass(eq=False)
class Order:
    """A candidate that is to be measured.

    ``library`` is its machine code if another node has built it, in ``build_time`` seconds. With
    ``unshipped`` it is to be built where it is measured.
    """

    candidate: Candidate
    library: bytes | None = None
    build_time: float = 0.0
    unshipped: bool = False

    @property
    def work(self) -> Work:
        return Work(self.candidate, self.library)


class Orders:
    """The orders that no node has in hand, first come first served."""

    def __init__(self) -> None:
        self._waiting: deque[Order] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, candidates: Iterable[Candidate]) -> None:
        self._waiting.extend(map(Order, candidates))

    def clear(self) -> None:
        self._waiting.clear()

    def give_back(self, orders: Sequence[Order]) -> None:
        """These come first: they have waited before."""
        self._waiting.extendleft(reversed(orders))

    def to_measure(self, count: int, unbuilt: int) -> list[Order]:
        """Take so many, those first that are built; of the others no more than ``unbuilt``, but all
        that no other node can build."""
        built = [one for one in self._waiting if one.library is not None or one.unshipped]
        others = [one for one in self._waiting if one.library is None and not one.unshipped]
        return self._take([*built, *others[: max(0, unbuilt)]][: max(0, count)])

    def to_build(self, count: int) -> list[Order]:
        """Take so many that another node may build; the last ones: the first are measured soon."""
        fit = [one for one in self._waiting if one.library is None and not one.unshipped]
        return self._take(fit[-count:])

    def take_built(self, orders: Sequence[Order], built: Sequence[Built]) -> None:
        """Nodes are to measure what another one was to build.

        What failed there is built again where it is measured: the other machine may be slower, or
        lack memory.
        """
        for one in built:
            order = next(order for order in orders if order.candidate == one.result.candidate)
            order.library = one.library
            order.build_time = one.result.seconds
            order.unshipped = one.library is None
        self.give_back(orders)

    def _take(self, orders: Sequence[Order]) -> list[Order]:
        taken = set(map(id, orders))
        self._waiting = deque(one for one in self._waiting if id(one) not in taken)
        return list(orders)
