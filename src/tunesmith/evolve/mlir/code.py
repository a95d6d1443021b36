"""The operations of one function of StableHLO, as text with slots for operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tunesmith.evolve.mlir.tensors import Tensor, steps


@dataclass(frozen=True)
class Operation:
    """An operation: ``head`` is its name and ``tail`` what stands after the operands, without the
    types. ``operands`` are names of values, ``types`` what it takes them to be: where a value has
    another type, a repair comes between.

    ``identity`` stays the same whatever becomes of the operation. ``results`` are names and types.
    """

    identity: str
    head: str
    operands: tuple[str, ...]
    types: tuple[str, ...]
    tail: str
    results: tuple[tuple[str, str], ...]

    def with_operand(self, slot: int, value: str) -> Operation:
        """With another value in a slot."""
        operands = (*self.operands[:slot], value, *self.operands[slot + 1 :])
        return replace(self, operands=operands)

    @property
    def brief(self) -> str:
        """The operation in words."""
        results = ", ".join(type_ for _, type_ in self.results)
        names = ", ".join(name for name, _ in self.results)
        operands = ", ".join(self.operands)
        return f"{names} = {self.head.strip(chr(34))}({operands}) : {results}"


@dataclass
class Function:
    """A function: its ``arguments`` as names and types, its operations in order, where None is one
    that was deleted, and the operation that returns. ``anchors`` are the identities of all that is
    or was there."""

    arguments: tuple[tuple[str, str], ...]
    body: list[Operation | None]
    returns: Operation
    anchors: list[str]

    def copy(self) -> Function:
        """One that can be edited."""
        return replace(self, body=list(self.body), anchors=list(self.anchors))

    def find(self, identity: str) -> int | None:
        """The place of an operation, or of what was left of it."""
        return self.anchors.index(identity) if identity in self.anchors else None

    def insert(self, place: int, operation: Operation) -> None:
        """Put an operation before what has a place now."""
        self.body.insert(place, operation)
        self.anchors.insert(place, operation.identity)

    def values(self, place: int) -> dict[str, str]:
        """The types of the values that are defined before a place, by name."""
        known = dict(self.arguments)
        for operation in self.body[:place]:
            if operation is not None:
                known.update(operation.results)
        return known

    def live(self) -> list[Operation]:
        """The operations that what is returned depends on, in an order that tells nothing of where
        each of the others stands."""
        made = {
            name: operation
            for operation in self.body
            if operation is not None
            for name, _ in operation.results
        }
        ordered: list[Operation] = []
        done: set[str] = set()
        waiting = [(self.returns, False)]
        while waiting:
            operation, ready = waiting.pop()
            if ready:
                ordered.append(operation)
            elif operation.identity not in done:
                done.add(operation.identity)
                waiting.append((operation, True))
                needed = [made[name] for name in operation.operands if name in made]
                waiting += [(each, False) for each in reversed(needed)]
        return ordered


def lines(function: Function, *, named: bool = False) -> Iterator[str]:
    """The operations that matter in MLIR's generic form, with repairs. Values are numbered anew,
    unless they keep their names (``named``): the same program is the same text."""
    types = dict(function.arguments)
    names = {name: name for name, _ in function.arguments}
    count = 0
    for operation in function.live():
        operands = []
        for value, wanted in zip(operation.operands, operation.types, strict=True):
            name, made = _repaired(names[value], types[value], wanted, count)
            count += len(made)
            yield from made
            operands.append(name)
        own: list[str] = []
        for name, type_ in operation.results:
            types[name] = type_
            base, _, part = name.partition("#")
            if not named and not part.strip("0"):
                own.append(f"%n{count}")
                count += 1
            elif named:
                own.append(base)
            names[name] = (own[-1] if own else name) + (f"#{part}" if part else "")
        yield from _written(operation, operands, own)


def _written(operation: Operation, operands: Sequence[str], own: Sequence[str]) -> Iterator[str]:
    several = f":{len(operation.results)}" if len(operation.results) > 1 else ""
    left = f"{own[0]}{several} = " if own else ""
    types = ", ".join(operation.types)
    results = [type_ for _, type_ in operation.results]
    right = results[0] if len(results) == 1 else f"({', '.join(results)})"
    yield (f"{left}{operation.head}({', '.join(operands)}){operation.tail} : ({types}) -> {right}")


def _repaired(value: str, has: str, wanted: str, count: int) -> tuple[str, list[str]]:
    """A value of a wanted type, and the operations that make it."""
    if has == wanted:
        return value, []
    source, goal = Tensor.parse(has), Tensor.parse(wanted)
    assert source is not None and goal is not None, "operands of other types are not chosen"
    made: list[str] = []
    current = source
    for step in steps(source, goal):
        operands, types = value, str(current)
        if step.padding:
            scalar = Tensor((), current.element)
            zero = f"%r{count + len(made)}"
            made.append(
                f'{zero} = "stablehlo.constant"() <{{value = dense<{current.zero}> : {scalar}}}> '
                f": () -> {scalar}"
            )
            operands, types = f"{value}, {zero}", f"{current}, {scalar}"
        properties = f" <{{{step.properties}}}>" if step.properties else ""
        name = f"%r{count + len(made)}"
        made.append(
            f'{name} = "stablehlo.{step.name}"({operands}){properties} : ({types}) -> {step.result}'
        )
        value, current = name, step.result
    return value, made
