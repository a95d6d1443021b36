"""Measures the programs of a job on the nodes of a cluster."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.activity import Activity
from tunesmith.measure.cluster.cluster import Cluster
from tunesmith.measure.cluster.kind import Role, describe_node
from tunesmith.measure.cluster.node import Node
from tunesmith.measure.cluster.orders import Orders
from tunesmith.measure.cluster.worker import Turn
from tunesmith.measure.local.scheduler import READY_BATCH
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.timing import round_seconds
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import MeasurerLostError, MeasureSettings

# How long to wait for an answer before looking for new nodes, in seconds.
_LOOK_UP = 1.0


class RayMeasurer:
    """A ``Measurer`` for a job. Each measuring node measures like a ``LocalMeasurer``.

    What a lost node had in hand goes to others. ``released`` is called when this is closed.

    ``collect`` and ``play_off`` raise ``MeasurerLostError`` when no node is left that measures.
    """

    def __init__(self, job: Job, cluster: Cluster, released: Callable[[], None]) -> None:
        """Raises ``TunesmithError`` if no node is what the target means."""
        self._cluster = cluster
        self._released = released
        self._reference = cluster.reference(job.target, describe_node())
        self._job = dataclasses.replace(job, target=self._reference.resolve(job.target))
        self._job.to_text()  # complain now about what cannot be sent
        self._orders = Orders()
        self._finished: list[Measurement] = []
        self._played: list[Measurement] | None = None
        self._best = math.inf
        self._splits: dict[Node, Mapping[str, float]] = {}
        self._started: float | None = None
        self._stopped: float | None = None
        self._closed = False

    # -- the protocol ----------------------------------------------------------------------------

    @property
    def machine(self) -> Mapping[str, Any]:
        return self._reference.machines[self._job.target.kind]

    @property
    def batch(self) -> int:
        wanted = 0
        for node in self._cluster.nodes:
            role = self._role(node)
            if role is Role.MEASURE:
                wanted += self._wanted(node)
            elif role is Role.BUILD and node.kind is not None:
                wanted += 2 * node.kind.cores
        return max(1, wanted)

    @property
    def pending(self) -> int:
        in_hand = sum(len(node.hand) for node in self._cluster.nodes if node.job is self)
        return len(self._orders) + in_hand + len(self._finished)

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:
        """As in ``Measurer``. Raises ``TunesmithError`` once the measurer is closed."""
        if self._closed:
            raise TunesmithError("this measurer is closed: make a new one")
        if self._started is None:
            self._started = time.monotonic()
        self._best = min(self._best, best)
        self._orders.add(candidates)
        if self._orders:
            self._pump(0.0)

    def collect(self, timeout: float) -> list[Measurement]:
        deadline = time.monotonic() + timeout
        if self.pending > len(self._finished):
            self._pump(0.0)
        while self.pending and not self._finished:
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
            self._pump(min(left, _LOOK_UP))
        finished, self._finished = self._finished, []
        return finished

    def cancel(self) -> None:
        self._orders.clear()
        for node in self._ours():
            node.cancel()

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        """As in ``Measurer``, on one node, after what that has in hand. Each round is one repeat.

        If the node is lost, another one measures all again.
        """
        if rounds < 1:
            raise UsageError(f"a play-off needs at least one round, not {rounds}")
        if not candidates:
            return []
        node: Node | None = None
        self._played = None
        while self._played is None:
            if node is None or node not in self._cluster.nodes:
                idle = (one for one in self._ours() if one.call is None)
                node = next((one for one in idle if one.role is Role.MEASURE), None)
                if node is not None:
                    node.ask("play_off", candidates, rounds)
            self._pump(_LOOK_UP)
        return self._played

    def round_cost(self, measurement: Measurement) -> float:
        return round_seconds(measurement.seconds, self._job.settings.min_repeat_time)

    @property
    def simulated(self) -> None:
        return None

    def time_split(self) -> dict[str, float]:
        """As in ``Measurer``: the wall clock, divided as the nodes' time is on average."""
        if self._started is None:
            return {activity.value: 0.0 for activity in Activity}
        wall = (self._stopped or time.monotonic()) - self._started
        spent = {a.value: sum(split[a] for split in self._splits.values()) for a in Activity}
        total = sum(spent.values())
        if total <= 0.0:
            return {**spent, Activity.IDLE.value: wall}
        return {activity: wall * seconds / total for activity, seconds in spent.items()}

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._stopped = time.monotonic()
        for node in self._ours():
            node.leave()
        self.cancel()
        self._released()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- nodes -----------------------------------------------------------------------------------

    def _ours(self) -> list[Node]:
        """The nodes that have begun this job."""
        return [node for node in self._cluster.nodes if node.job is self]

    def _role(self, node: Node) -> Role | None:
        if node.kind is None:
            return None
        return node.kind.role(self._job.target, self._reference)

    def _settings(self, node: Node) -> MeasureSettings:
        """How a node measures, or builds."""
        settings = self._job.settings
        if node.role is not Role.BUILD or node.kind is None:
            return settings
        workers = settings.workers or node.kind.cores
        return dataclasses.replace(settings, verify=False, workers=workers)

    def _wanted(self, node: Node) -> int:
        """How many candidates a measuring node likes to have in hand."""
        own = node.batch if node.job is self else 0
        return own or READY_BATCH + 2 * self._job.workers

    def _enlist(self, node: Node) -> None:
        """Have a node begin this job."""
        before, node.role = node.role, self._role(node)
        if node.role is None:
            self._cluster.refuse(node, "its architecture is another one")
            return
        if node.role is not before:
            self._cluster.tell(node, "measures" if node.role is Role.MEASURE else "builds")
        job = dataclasses.replace(self._job, settings=self._settings(node))
        node.job, node.batch = self, 0
        node.ask("start", job.to_text(), node.role)

    def _take_turn(self, node: Node, turn: Turn) -> None:
        node.batch = turn.batch
        self._splits[node] = turn.split
        for measurement in turn.measurements:
            order = next((one for one in node.hand if one.candidate == measurement.candidate), None)
            if order is None:
                continue  # it was cancelled
            node.hand.remove(order)
            if order.library is not None and measurement.outcome is Outcome.COMPILE_HOST:
                # What another node has linked may need libraries that this one lacks.
                order.library, order.unshipped = None, True
                self._orders.give_back([order])
                continue
            if measurement.valid and not measurement.cut_off:
                self._best = min(self._best, measurement.seconds)
            shipped = order.library is not None and not measurement.repeated
            build_time = order.build_time if shipped else measurement.build_time
            self._finished.append(dataclasses.replace(measurement, build_time=build_time))

    def _pump(self, timeout: float) -> None:
        """Give nodes work, and take in what they answer; wait so long for the first answer."""
        self._check_left()
        # Those that only build come first: the others find enough to do.
        for node in sorted(self._cluster.nodes, key=lambda one: one.role is Role.MEASURE):
            if node.call is None:
                self._serve(node)
        for node in self._cluster.wait(timeout):
            self._hear(node)

    def _check_left(self) -> None:
        """Raise ``MeasurerLostError`` if no node is left, and none is about to join."""
        try:
            self._cluster.look()
            nodes = self._cluster.nodes
            if not any(one.kind is None or self._role(one) is Role.MEASURE for one in nodes):
                raise MeasurerLostError(self._cluster.last_words)
        except MeasurerLostError as error:
            self.cancel()
            raise MeasurerLostError(
                f"no node is left to measure on: {error}; the same command goes on from what was "
                "measured"
            ) from error

    def _serve(self, node: Node) -> None:
        """Have an idle node do what there is to do."""
        if node.job is not self:
            self._enlist(node)
        elif node.role is Role.BUILD:
            assert node.kind is not None
            node.hand = self._orders.to_build(self._settings(node).workers or node.kind.cores)
            if node.hand:
                node.ask("build", [order.candidate for order in node.hand])
        else:
            count = self._wanted(node) - len(node.hand)
            unbuilt = count
            if any(other.role is Role.BUILD for other in self._ours()):  # enough not to be idle
                unbuilt = self._job.workers - sum(one.library is None for one in node.hand)
            orders = self._orders.to_measure(count, unbuilt)
            node.hand += orders
            if node.hand:
                node.ask("turn", [order.work for order in orders], self._best)

    def _hear(self, node: Node) -> None:
        asked, hand, ours = node.asked, node.hand, node.job is self
        found = self._cluster.answer(node)
        if not ours:
            return
        if node not in self._cluster.nodes:
            self._orders.give_back(hand)
        elif asked == "turn":
            self._take_turn(node, found)
        elif asked == "build":
            node.hand = []
            if hand:  # it may have been cancelled
                self._orders.take_built(hand, found)
        elif asked == "play_off":
            self._played = found
