"""What a user of a network that nobody has tuned gets: without a trial, of five, of twenty.

Each network is held out as a whole: the model that helps has not seen an operator of it, nor one of
the same work in another network. Then its dearest operators are tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tunesmith.bench.autotvm.product_row import (
    ALONE,
    ProductSettings,
    Row,
    Size,
    measured_row,
)
from tunesmith.errors import UsageError
from tunesmith.machine import machine_for
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.transfer.held_out import apart_from, work_of
from tunesmith.transfer.model import GlobalModel, learn, problem_of
from tunesmith.transfer.training_set import Series


def size_of(row: Mapping[str, Any]) -> Size:
    """The trials that the run of a row may have had, and its seed."""
    return row.get("limit", row["trials"]), row["seed"]


def of_most_trials(rows: Sequence[Row]) -> list[Row]:
    """The rows of one size: that with the most trials, and of the lowest seed."""
    if not rows:
        return []
    size = max(map(size_of, rows), key=lambda each: (each[0], -each[1]))
    return [row for row in rows if size_of(row) == size]


def without(rows: Sequence[Row], row: Row) -> list[Row]:
    """The rows that may be beside a new one: of other runs, with models kept ``apart``."""
    return [each for each in rows if each.get("apart") and _identity(each) != _identity(row)]


def elsewhere(rows: Sequence[Row], settings: ProductSettings) -> list[Row]:
    """The rows of these settings that were not measured on a machine like this one."""
    own = machine_for("cpu")["fingerprint"]
    of_size = [row for row in rows if size_of(row) == settings.size]
    return [row for row in of_size if row["origin"]["machine"]["fingerprint"] != own]


def _identity(row: Row) -> tuple[str, str, Size]:
    return row["network"], row["workload"], size_of(row)


def held_out(series: Sequence[Series], network: str) -> GlobalModel:
    """A model that has learned from everything but operators of the work of a network's."""
    held = [each for each in series if network in each.networks]
    left = [series[number] for number in apart_from(held, series)]
    return learn(left, origin={"scope": f"without {network}"})


def chosen_operators(series: Sequence[Series], count: int) -> dict[str, list[Operator]]:
    """The dearest operators of each network, of works that were not chosen for one before it."""
    chosen: dict[str, list[Operator]] = {}
    works: set[Operator] = set()
    for network in networks_of(series):
        left = [each for each in series if work_of(each.task.operator) not in works]
        chosen[network] = dearest(left, network, count)
        works.update(work_of(operator) for operator in chosen[network])
    return chosen


def dearest(series: Sequence[Series], network: str, count: int) -> list[Operator]:
    """The operators of a network with the most work, of different kinds if it has some: one of the
    kind with the most, then one of the next, and so on. Images come one at a time."""
    of_kinds: dict[str, list[Operator]] = {}
    operators = {each.task.operator for each in series if network in each.networks}
    operators = {it for it in operators if not hasattr(it, "h") or getattr(it, "n", 1) == 1}
    for operator in sorted(operators, key=lambda it: (-it.flops, it.key)):
        of_kinds.setdefault(operator.name, []).append(operator)
    chosen: list[Operator] = []
    while len(chosen) < count and any(of_kinds.values()):
        for kind in of_kinds.values():
            if kind and len(chosen) < count:
                chosen.append(kind.pop(0))
    return chosen


class Plan(NamedTuple):
    """The ``series`` whose sketches are as they were then, and the operators that are ``chosen`` of
    each network."""

    series: Sequence[Series]
    chosen: Mapping[str, Sequence[Operator]]

    @classmethod
    def of(cls, series: Sequence[Series], settings: ProductSettings) -> Plan:
        """Of all series, which takes seconds."""
        usable = [each for each in series if problem_of(each) is not None]
        return cls(usable, chosen_operators(usable, settings.operators))

    def rows(
        self, networks: Sequence[str], settings: ProductSettings, known: Sequence[Row]
    ) -> dict[str, Any]:
        """How many ``rows`` of a ``size`` there are to be, those that are ``known`` among them."""
        size = settings.size
        rows = {_identity(row) for row in known if size_of(row) == size}
        rows |= {(name, it.label, size) for name in networks for it in self.chosen.get(name, ())}
        return {"size": list(size), "rows": len(rows)}


def networks_of(series: Sequence[Series]) -> list[str]:
    """The networks that can be held out."""
    return sorted({name for each in series for name in each.networks})


def measure_product(
    plan: Plan,
    networks: Sequence[str],
    settings: ProductSettings,
    *,
    known: Sequence[Row],
    watch: Callable[[str, Operator], Callable[[Progress], None]],
) -> Iterator[Row]:
    """The row of each operator that ``known`` rows lack; a network of whose operators none is of a
    work of its own has none.

    Raises ``UsageError`` for an unknown network, and what ``measured_row`` does.
    """
    for name in networks:
        if name not in plan.chosen:
            raise UsageError(f"no training set has a network '{name}'")
    done = {_identity(row) for row in known if ALONE in row and row.get("apart")}
    for network in networks:
        wanted = [
            operator
            for operator in plan.chosen[network]
            if (network, operator.label, settings.size) not in done
        ]
        model = held_out(plan.series, network) if wanted else None
        for operator in wanted:
            assert model is not None
            yield measured_row(network, operator, model, settings, watch(network, operator))
