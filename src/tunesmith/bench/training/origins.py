"""Of which networks of the zoo an operator is a layer: models are tested on whole networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.networks import from_torch
from tunesmith.networks.zoo import ZOO
from tunesmith.operators import Operator


def networks_of_operators(
    workloads: Iterable[NetworkWorkload], tell: Callable[[str], None] = lambda _: None
) -> Mapping[Operator, frozenset[str]]:
    """The names of the networks, whatever the batch, that have an operator among their layers.

    ``tell`` is called with each workload's name before it is looked at, which takes seconds.
    Raises ``MissingDependencyError`` without what a network needs.
    """
    found: dict[Operator, set[str]] = {}
    for workload in workloads:
        tell(workload.name)
        known = ZOO.get(workload.network)
        network = from_torch(known.model(), *known.example(workload.batch))
        for task in network.tasks:
            found.setdefault(task.operator, set()).add(workload.network)
    return {operator: frozenset(names) for operator, names in found.items()}
