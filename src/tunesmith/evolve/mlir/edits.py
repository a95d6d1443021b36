"""The edits of StableHLO: each leaves a function whose operands have the types that they need."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from tunesmith.evolve.edit import KINDS, Edit, EditKind, Edits, InvalidEditError
from tunesmith.evolve.mlir.code import Function, Operation
from tunesmith.evolve.mlir.tensors import Tensor


def apply_edits(original: Function, edits: Edits) -> Function:
    """The function with these edits, but for those that cannot be applied to it."""
    function = original.copy()
    for edit in edits:
        edited = function.copy()
        with contextlib.suppress(InvalidEditError):
            _apply(edited, edit)
            function = edited
    return function


def _apply(function: Function, edit: Edit) -> None:
    """Raises ``InvalidEditError`` where its operations are gone, or nothing could repair it."""
    if edit.kind == "operand":
        _change_operand(function, edit)
        return
    inserted = _OPERATIONS[edit.kind](function, edit)
    _repair(function, edit)
    if inserted is not None:
        _wire(function, inserted, edit)


def draw_edit(function: Function, random: random.Random) -> Edit:
    """Any edit of a function. Raises ``InvalidEditError`` where nothing can be edited."""
    live = [each.identity for each in function.body if each is not None]
    if not live:
        raise InvalidEditError("the function has no operations that can be edited")
    kind = random.choice(KINDS)
    target, other = random.choice(live), random.choice(live)
    seed = random.getrandbits(48)
    if kind == "operand":
        slots = len(_there(function, target)[1].operands)
        return Edit(kind, target, slot=random.randrange(slots) if slots else 0, seed=seed)
    return Edit(kind, target, "" if kind == "delete" else other, seed=seed)


def _there(function: Function, identity: str) -> tuple[int, Operation]:
    """Where an operation is. Raises ``InvalidEditError`` if it is not there any more."""
    place = function.find(identity)
    operation = None if place is None else function.body[place]
    if place is None or operation is None:
        raise InvalidEditError(f"the operation {identity} is gone")
    return place, operation


def _anchor(function: Function, identity: str) -> int:
    place = function.find(identity)
    if place is None:
        raise InvalidEditError(f"the operation {identity} has never been")
    return place


def _delete(function: Function, edit: Edit) -> None:
    place, _ = _there(function, edit.target)
    function.body[place] = None


def _copied(function: Function, operation: Operation, edit: Edit) -> Operation:
    identity = f"{operation.identity}+{edit.seed:x}"
    if function.find(identity) is not None:
        raise InvalidEditError("the same edit was applied before")
    results = tuple(
        (f"%e{edit.seed:x}" + name[len(name.partition("#")[0]) :], type_)
        for name, type_ in operation.results
    )
    return replace(operation, identity=identity, results=results)


def _copy(function: Function, edit: Edit) -> str:
    copied = _copied(function, _there(function, edit.target)[1], edit)
    function.insert(_anchor(function, edit.other), copied)
    return copied.identity


def _move(function: Function, edit: Edit) -> str:
    if edit.target == edit.other:
        raise InvalidEditError("an operation cannot be moved before itself")
    place, operation = _there(function, edit.target)
    _anchor(function, edit.other)
    function.body[place] = None
    function.anchors[place] = f"{edit.target}-{edit.seed:x}"
    function.insert(_anchor(function, edit.other), operation)
    return operation.identity


def _replace(function: Function, edit: Edit) -> str:
    """A copy of the other takes the place; the uses of the results become those of the copy's,
    whatever the shape."""
    if edit.target == edit.other:
        raise InvalidEditError("an operation cannot take its own place")
    place, operation = _there(function, edit.target)
    copied = _copied(function, _there(function, edit.other)[1], edit)
    function.body[place] = None
    function.insert(place, copied)
    for (old, has), (new, gets) in zip(operation.results, copied.results, strict=False):
        if fits(gets, has):
            _use_instead(function, old, new)
    return copied.identity


def _swap(function: Function, edit: Edit) -> None:
    if edit.target == edit.other:
        raise InvalidEditError("an operation cannot change places with itself")
    place, operation = _there(function, edit.target)
    other_place, other = _there(function, edit.other)
    function.body[place], function.body[other_place] = other, operation
    function.anchors[place], function.anchors[other_place] = other.identity, operation.identity


def _use_instead(function: Function, old: str, new: str) -> None:
    def changed(operation: Operation) -> Operation:
        operands = tuple(new if each == old else each for each in operation.operands)
        return replace(operation, operands=operands)

    function.body = [None if each is None else changed(each) for each in function.body]
    function.returns = changed(function.returns)


def _change_operand(function: Function, edit: Edit) -> None:
    place, operation = _there(function, edit.target)
    if edit.slot >= len(operation.operands):
        raise InvalidEditError(f"{operation.head} has no operand {edit.slot}")
    choices = [
        name
        for name in _fitting(function, place, operation.types[edit.slot])
        if name != operation.operands[edit.slot]
    ]
    if not choices:
        raise InvalidEditError("there is no other value of such elements")
    function.body[place] = operation.with_operand(edit.slot, edit.pick("", choices))


def _repair(function: Function, edit: Edit) -> None:
    """Let a value that is there take the place of each that is not: one of the same type, or else
    one of the same elements, which is cut or padded.

    Raises ``InvalidEditError`` where there is none.
    """
    known = dict(function.arguments)
    for place, operation in enumerate(function.body):
        if operation is not None:
            function.body[place] = _repaired(operation, known, edit)
            known.update(operation.results)
    function.returns = _repaired(function.returns, known, edit)


def _repaired(operation: Operation, known: Mapping[str, str], edit: Edit) -> Operation:
    """An operation whose operands are all known."""
    for slot, (value, type_) in enumerate(zip(operation.operands, operation.types, strict=True)):
        if value not in known:
            same = [name for name, has in known.items() if has == type_]
            choices = same or [name for name, has in known.items() if fits(has, type_)]
            if not choices:
                raise InvalidEditError(f"no value is there in the place of a {type_}")
            chosen = edit.pick(f"{operation.identity}:{slot}", choices)
            operation = operation.with_operand(slot, chosen)
    return operation


def _wire(function: Function, identity: str, edit: Edit) -> None:
    """Let an operand after it use a result of an operation that nothing uses.

    Raises ``InvalidEditError`` where none can: the operation would be for nothing.
    """
    place, operation = _there(function, identity)
    own = {name for name, _ in operation.results}
    later = [*function.body[place + 1 :], function.returns]
    if any(each is not None and own & set(each.operands) for each in later):
        return
    fitting = {
        f"{each.identity}:{slot} {name}": (number, slot, name)
        for number, each in enumerate(later)
        if each is not None
        for slot, type_ in enumerate(each.types)
        for name, has in operation.results
        if fits(has, type_)
    }
    if not fitting:
        raise InvalidEditError(f"nothing after it can use {operation.head}")
    number, slot, name = fitting[edit.pick("", fitting)]
    chosen = later[number]
    assert chosen is not None
    changed = chosen.with_operand(slot, name)
    if number == len(later) - 1:
        function.returns = changed
    else:
        function.body[place + 1 + number] = changed


def _fitting(function: Function, place: int, type_: str) -> list[str]:
    return [name for name, has in function.values(place).items() if fits(has, type_)]


def fits(has: str, wanted: str) -> bool:
    """Whether a value of a type can be made one of another: the elements must be the same."""
    if has == wanted:
        return True
    source, goal = Tensor.parse(has), Tensor.parse(wanted)
    return source is not None and goal is not None and source.element == goal.element


_OPERATIONS: dict[EditKind, Callable[[Function, Edit], str | None]] = {
    "copy": _copy,
    "delete": _delete,
    "move": _move,
    "replace": _replace,
    "swap": _swap,
}
"""What they do before the repair; each returns the identity of what it put in, if it did."""
