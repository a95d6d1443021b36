"""The edits of LLVM-IR: each leaves a function that LLVM takes for valid."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from tunesmith.evolve.edit import KINDS, Edit, EditKind, Edits, InvalidEditError
from tunesmith.evolve.llvm.code import Block, Function, Instruction
from tunesmith.evolve.llvm.dominance import Scope
from tunesmith.evolve.llvm.repair import repair, uses, wire

# What edits leave alone, beside phis and terminators, which no body has: memory on the stack, which
# a copy in a loop would use up, and calls that only mark things.
_SAFE = frozenset({"alloca"})
_SAFE_CALLS = ("@llvm.dbg.", "@llvm.lifetime.")


def apply_edits(
    original: Function, dominators: Mapping[str, frozenset[str]], edits: Edits
) -> Function:
    """The function with these edits, but for those that cannot be applied to it."""
    function = original.copy()
    for edit in edits:
        edited = function.copy()
        with contextlib.suppress(InvalidEditError):
            _apply(edited, dominators, edit)
            function = edited
    return function


def _apply(function: Function, dominators: Mapping[str, frozenset[str]], edit: Edit) -> None:
    """Raises ``InvalidEditError`` where its instructions are gone, or nothing could repair it."""
    if edit.kind == "operand":
        _change_operand(function, Scope(function, dominators), edit)
        return
    inserted = _OPERATIONS[edit.kind](function, edit)
    scope = Scope(function, dominators)
    repair(function, scope, edit)
    if inserted is not None:
        wire(function, scope, inserted, edit)


def draw_edit(function: Function, random: random.Random) -> Edit:
    """Any edit of a function. Raises ``InvalidEditError`` where nothing can be edited."""
    live = [
        each.identity
        for block in function.blocks.values()
        for each in block.body
        if each is not None and _can_change(each)
    ]
    if not live:
        raise InvalidEditError("the function has no instructions that can be edited")
    kind = random.choice(KINDS)
    target, other = random.choice(live), random.choice(live)
    slots = [
        number
        for number, operand in enumerate(_there(function, target)[2].operands)
        if not operand.fixed
    ]
    seed = random.getrandbits(48)
    if kind == "operand":
        return Edit(kind, target, slot=random.choice(slots) if slots else 0, seed=seed)
    return Edit(kind, target, "" if kind == "delete" else other, seed=seed)


def _can_change(instruction: Instruction) -> bool:
    return instruction.opcode not in _SAFE and not any(
        name in instruction.pieces[0] for name in _SAFE_CALLS
    )


def _there(function: Function, identity: str) -> tuple[Block, int, Instruction]:
    """Where an instruction is. Raises ``InvalidEditError`` if it is not there any more."""
    found = function.find(identity)
    if found is not None:
        block, slot = found
        instruction = block.body[slot]
        if instruction is not None:
            return block, slot, instruction
    raise InvalidEditError(f"the instruction {identity} is gone")


def _anchor(function: Function, identity: str) -> tuple[Block, int]:
    found = function.find(identity)
    if found is None:
        raise InvalidEditError(f"the instruction {identity} has never been")
    return found


def _delete(function: Function, edit: Edit) -> None:
    block, slot, _ = _there(function, edit.target)
    block.body[slot] = None


def _copy(function: Function, edit: Edit) -> str:
    _, _, instruction = _there(function, edit.target)
    copied = _copied(function, instruction, edit)
    function.insert(*_anchor(function, edit.other), copied)
    return copied.identity


def _copied(function: Function, instruction: Instruction, edit: Edit) -> Instruction:
    identity = f"{instruction.identity}+{edit.seed:x}"
    if function.find(identity) is not None:
        raise InvalidEditError("the same edit was applied before")
    result = None if instruction.result is None else f"e{edit.seed:x}"
    return replace(instruction, identity=identity, result=result)


def _move(function: Function, edit: Edit) -> str:
    if edit.target == edit.other:
        raise InvalidEditError("an instruction cannot be moved before itself")
    block, slot, instruction = _there(function, edit.target)
    _anchor(function, edit.other)
    block.body[slot] = None
    function.anchors[block.name][slot] = f"{edit.target}-{edit.seed:x}"
    function.insert(*_anchor(function, edit.other), instruction)
    return instruction.identity


def _replace(function: Function, edit: Edit) -> str:
    if edit.target == edit.other:
        raise InvalidEditError("an instruction cannot take its own place")
    block, slot, instruction = _there(function, edit.target)
    copied = _copied(function, _there(function, edit.other)[2], edit)
    block.body[slot] = None
    function.insert(block, slot, copied)
    if instruction.result is not None and instruction.type == copied.type:
        for use in uses(function):
            if use.instruction.operands[use.slot].value == instruction.result:
                use.become(f"%{copied.result}")
    return copied.identity


def _swap(function: Function, edit: Edit) -> None:
    if edit.target == edit.other:
        raise InvalidEditError("an instruction cannot change places with itself")
    block, slot, instruction = _there(function, edit.target)
    other_block, other_slot, other = _there(function, edit.other)
    block.body[slot], other_block.body[other_slot] = other, instruction
    function.anchors[block.name][slot] = other.identity
    function.anchors[other_block.name][other_slot] = instruction.identity


def _change_operand(function: Function, scope: Scope, edit: Edit) -> None:
    block, place, instruction = _there(function, edit.target)
    if edit.slot >= len(instruction.operands) or instruction.operands[edit.slot].fixed:
        raise InvalidEditError(f"{instruction} has no operand {edit.slot} that can change")
    operand = instruction.operands[edit.slot]
    values = [f"%{value}" for value in scope.values(operand.type, block.name, place)]
    constants = {
        each.text
        for use in uses(function)
        for each in [use.instruction.operands[use.slot]]
        if each.type == operand.type and each.value is None
    }
    choices = [each for each in [*values, *sorted(constants)] if each != operand.text]
    if not choices:
        raise InvalidEditError(f"there is no other {operand.type} for {instruction}")
    block.body[place] = instruction.with_operand(edit.slot, edit.pick("", choices))


_OPERATIONS: dict[EditKind, Callable[[Function, Edit], str | None]] = {
    "copy": _copy,
    "delete": _delete,
    "move": _move,
    "replace": _replace,
    "swap": _swap,
}
"""What they do before the repair; each returns the identity of what it put in, if it did."""
