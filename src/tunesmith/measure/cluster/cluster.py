"""The nodes of a cluster that work for us: who is there, who joins, who is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tunesmith.errors import TunesmithError
from tunesmith.measure.cluster.connection import Connection
from tunesmith.measure.cluster.kind import NodeKind
from tunesmith.measure.cluster.node import Node, NodeLostError, NodeRefusedError, close_all
from tunesmith.measure.cluster.worker import own_version
from tunesmith.problem import MeasurerLostError
from tunesmith.target import Target

# How often to look for new nodes, in seconds.
_LOOK_UP = 1.0

# How long to wait for the first node that measures, in seconds: others may be using its CPUs.
_LONGEST_WAIT = 120.0

# So many times a node gets another worker after one has died.
_MOST_DEATHS = 3


class Cluster:
    """The nodes of a cluster, each with a worker, as long as it is connected.

    ``describe`` says on a node what kind of machine it is. ``remark`` is told in one line of
    every node that is not used or is lost; ``last_words`` is the last such line.
    """

    def __init__(
        self,
        connection: Connection,
        describe: Callable[[], NodeKind],
        remark: Callable[[str], None],
    ) -> None:
        self.last_words = ""
        self._remark = remark
        self._connection = connection
        self._describe = describe
        self._nodes: dict[str, Node] = {}
        self._refused: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._looked = 0.0

    @property
    def nodes(self) -> list[Node]:
        """The nodes that have not been lost, in the order in which they came."""
        return list(self._nodes.values())

    def look(self) -> None:
        """Have new nodes join. Raises ``MeasurerLostError`` if the whole cluster is gone."""
        if time.monotonic() < self._looked + _LOOK_UP:
            return
        try:
            entries = self._connection.nodes()
        except MeasurerLostError:
            self._nodes.clear()  # nobody could even be told to end
            raise
        for entry in entries:
            node_id = entry["NodeID"]
            known = node_id in self._nodes or node_id in self._refused
            if known or self._deaths[node_id] >= _MOST_DEATHS:
                continue
            # A node without CPUs is there to take no work: 'ray start --num-cpus=0'.
            if entry["Resources"].get("CPU", 0) >= 1:
                node = self._nodes[node_id] = Node(entry)
                node.ask("join", own_version(), self._describe)
        self._looked = time.monotonic()

    def wait(self, timeout: float) -> list[Node]:
        """The nodes whose calls are done; waits up to ``timeout`` seconds for the first."""
        import ray

        calls = {node.call: node for node in self.nodes if node.call is not None}
        if not calls:
            time.sleep(min(timeout, _LOOK_UP))
            return []
        done, _ = ray.wait(list(calls), num_returns=1, timeout=timeout)
        more, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        return [calls[call] for call in {*done, *more}]

    def answer(self, node: Node) -> Any:
        """What has come of a node's call, None if it is lost or of no use; then it is no more
        one of ``nodes``."""
        try:
            found = node.answer()
        except NodeLostError:
            self._deaths[node.id] += 1
            self._looked = 0.0
            self._drop(node, "is lost" if node.kind is not None else "")
            return None
        except NodeRefusedError as error:
            self.refuse(node, str(error))
            return None
        if node.asked == "join":
            node.kind = found
        return found

    def refuse(self, node: Node, reason: str) -> None:
        """Do without a node."""
        self._refused.add(node.id)
        self._drop(node, f"is not used: {reason}")

    def tell(self, node: Node, what: str) -> None:
        """Remark what a node does, or what has become of it."""
        self.last_words = f"node {node.name} ({node.id[:8]}) {what}"
        self._remark(self.last_words)

    def _drop(self, node: Node, what: str) -> None:
        del self._nodes[node.id]
        node.kill()
        if what:
            self.tell(node, what)

    def reference(self, target: Target, host: NodeKind) -> NodeKind:
        """The kind of the first node that is what the target means; waits for it.

        Raises ``TunesmithError`` if there is none, or all nodes are in use for long.
        """
        deadline = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < deadline:
            self.look()
            kinds = [node.kind for node in self.nodes if node.kind is not None]
            for kind in kinds:
                if kind.fits(target, host):
                    return kind
            if all(node.kind is not None for node in self.nodes):
                raise TunesmithError(_no_node(target, kinds, self.last_words))
            for node in self.wait(_LOOK_UP):
                self.answer(node)
        raise TunesmithError(
            f"no node of the cluster has its CPUs free within {_LONGEST_WAIT:g} s: wait until "
            "others have done with them"
        )

    def close(self) -> None:
        """End the workers, and the cluster if it was started for us."""
        nodes, self._nodes = self.nodes, {}
        try:
            close_all(nodes)
        finally:
            self._connection.close()


def _no_node(target: Target, kinds: list[NodeKind], last_words: str) -> str:
    if not kinds:
        return f"no node of the cluster can be used: {last_words or 'none has a CPU'}"
    found = ", ".join(sorted({_name(kind, target) for kind in kinds}))
    if target.kind == "cuda":
        return (
            f"no node of the cluster has a GPU for {target.key}, they are {found}: name the "
            "architecture of theirs by --arch"
        )
    if target.mcpu is not None:
        return f"no node of the cluster is a {target.mcpu}, they are {found}: name one by --mcpu"
    return (
        f"no node of the cluster is of this machine's kind, they are {found}: name their processor "
        "by --mcpu, and their --cores"
    )


def _name(kind: NodeKind, target: Target) -> str:
    if target.kind == "cuda":
        return kind.arch or "without a GPU"
    return f"{kind.processor} with {kind.cores} cores"
