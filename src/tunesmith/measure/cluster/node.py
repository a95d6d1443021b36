"""A node of a cluster, as the host sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.errors import describe, one_line
from tunesmith.measure.cluster.kind import NodeKind, Role
from tunesmith.measure.cluster.orders import Order
from tunesmith.measure.cluster.worker import NodeWorker

# How long a worker may take to end what it has begun, before it is killed; in seconds.
_FAREWELL = 5.0


class NodeLostError(Exception):
    """The node or its worker has died."""


class NodeRefusedError(Exception):
    """The node cannot do what it was asked; the message is one line."""


class Node:
    """A node with a worker of ours on it, which does one ``call`` at a time.

    The worker has all CPUs and GPUs of the node, so that Ray starts nothing beside it. It starts
    when they are free. ``hand`` is what it has been given and has not measured yet.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        """``entry`` is one of ``ray.nodes()``."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.id = str(entry["NodeID"])
        self.name = str(entry["NodeManagerAddress"])
        self.kind: NodeKind | None = None
        self.role: Role | None = None
        self.job: object = None
        self.hand: list[Order] = []
        self.batch = 0
        self.call: Any = None
        self.asked = ""
        resources = entry["Resources"]
        self._worker = (
            ray.remote(NodeWorker)
            .options(
                num_cpus=resources["CPU"],
                num_gpus=resources.get("GPU", 0),
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(self.id, soft=False),
            )
            .remote()
        )

    def ask(self, method: str, *arguments: object) -> None:
        """Have the worker do something; ``answer`` is for when ``call`` is ready."""
        self.asked = method
        self.call = getattr(self._worker, method).remote(*arguments)

    def answer(self) -> Any:
        """What has come of the call. Raises ``NodeLostError`` and ``NodeRefusedError``."""
        import ray
        from ray.exceptions import RayActorError, RayError, RayTaskError

        call, self.call = self.call, None
        try:
            return ray.get(call)
        except RayTaskError as error:
            raise NodeRefusedError(describe(error.cause or error)) from error
        except RayActorError as error:
            if error.actor_init_failed:
                raise NodeRefusedError(_reason(error)) from error
            raise NodeLostError from error
        except RayError as error:
            raise NodeLostError from error

    def cancel(self) -> None:
        """Give up what it has in hand."""
        if self.hand:
            self._worker.cancel.remote()
            self.hand = []

    def leave(self) -> None:
        """Give up the job."""
        if self.job is not None:
            self._worker.stop.remote()
        self.hand, self.job, self.call = [], None, None

    def close(self) -> Any:
        """Begin to end the worker. Returns what is ready when it has done so."""
        return self._worker.close.remote()

    def kill(self) -> None:
        """End the worker at once; its measuring server ends with it."""
        import ray

        ray.kill(self._worker)


def close_all(nodes: list[Node]) -> None:
    """End the workers of these nodes."""
    import ray

    if nodes:
        ray.wait([node.close() for node in nodes], num_returns=len(nodes), timeout=_FAREWELL)
    for node in nodes:
        node.kill()


def _reason(error: Exception) -> str:
    """Why a worker could not start: the last line that names an error."""
    lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
    return one_line(lines[-1] if lines else str(error))
