"""Measuring on a Ray cluster, as a choice among others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from tunesmith.measure.cluster.cluster import Cluster
from tunesmith.measure.cluster.connection import Connection
from tunesmith.measure.cluster.kind import NodeKind, describe_node
from tunesmith.measure.cluster.measurer import RayMeasurer
from tunesmith.measure.trial.job import Job
from tunesmith.target import Target


class RayMeasurers:
    """``Measurers`` of the Ray cluster at ``address``, ``HOST:PORT`` or ``local``.

    ``local`` starts a cluster of this machine alone and ends it. For another one this machine must
    be one of its nodes (``ray start --address=HOST:PORT``), and all have the same version of
    Tunesmith. Nodes of one kind measure, others with the same architecture build for them.
    ``remark`` is told, in one line, of each node that is not used or lost. ``describe`` says, on
    each node, what kind of machine it is.

    In a ``with`` block the workers on the nodes serve one measurer after another; without one they
    end with the measurer.
    """

    def __init__(
        self,
        address: str,
        *,
        remark: Callable[[str], None] = lambda _: None,
        describe: Callable[[], NodeKind] = describe_node,
    ) -> None:
        self._address = address
        self._remark = remark
        self._describe = describe
        self._cluster: Cluster | None = None
        self._lasts = False

    def __enter__(self) -> Self:
        try:
            self._connected().look()
        except BaseException:
            self._disconnect()
            raise
        self._lasts = True
        return self

    def __exit__(self, *_: object) -> None:
        self._lasts = False
        self._disconnect()

    def machine(self, target: Target) -> Mapping[str, Any]:
        """The machine of the nodes that measure for a target. Raises like ``measurer``."""
        try:
            return self._connected().reference(target, describe_node()).machines[target.kind]
        finally:
            self._released()

    def measurer(self, job: Job) -> RayMeasurer:
        """A measurer for a job.

        Raises ``MissingDependencyError`` without Ray, ``UsageError`` for what is no address,
        ``TunesmithError`` if the cluster cannot be used or no node is what the target means, and
        like ``Job.to_text``.
        """
        try:
            return RayMeasurer(job, self._connected(), self._released)
        except BaseException:
            self._released()
            raise

    def _connected(self) -> Cluster:
        if self._cluster is None:
            connection = Connection(self._address, self._remark)
            self._cluster = Cluster(connection, self._describe, self._remark)
        return self._cluster

    def _released(self) -> None:
        if not self._lasts:
            self._disconnect()

    def _disconnect(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()
