"""Repair of a function after an edit: each operand is defined where it is used, and what was put
into the function is used ("GEVO-ML", section 3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tunesmith.evolve.edit import Edit, InvalidEditError
from tunesmith.evolve.llvm.code import Block, Function, Instruction
from tunesmith.evolve.llvm.dominance import Scope

_VECTOR = re.compile(r"<(\d+) x (.+)>")


@dataclass(frozen=True)
class Use:
    """An operand of an instruction, and from where it has to be defined: a place of a block's body,
    which for a phi is the end of the block that it comes from."""

    block: Block
    index: int | None  # in the body; None is the terminator, and -1-n the phi n
    slot: int
    where: str
    place: int

    @property
    def instruction(self) -> Instruction:
        if self.index is None:
            return self.block.terminator
        if self.index < 0:
            return self.block.phis[-1 - self.index]
        found = self.block.body[self.index]
        assert found is not None
        return found

    @property
    def told(self) -> str:
        """What tells it from other operands, whatever else is edited."""
        return f"{self.instruction.identity}:{self.slot}"

    def become(self, text: str) -> None:
        """Use another value or constant."""
        changed = self.instruction.with_operand(self.slot, text)
        if self.index is None:
            self.block.terminator = changed
        elif self.index < 0:
            self.block.phis[-1 - self.index] = changed
        else:
            self.block.body[self.index] = changed


def uses(function: Function) -> Iterator[Use]:
    """All operands of a function."""
    for block in function.blocks.values():
        for number, phi in enumerate(block.phis):
            for slot, source in enumerate(phi.incoming):
                end = len(function.blocks[source].body)
                yield Use(block, -1 - number, slot, source, end)
        for index, instruction in enumerate(block.body):
            if instruction is not None:
                for slot in range(len(instruction.operands)):
                    yield Use(block, index, slot, block.name, index)
        for slot in range(len(block.terminator.operands)):
            yield Use(block, None, slot, block.name, len(block.body))


def repair(function: Function, scope: Scope, edit: Edit) -> None:
    """Let a random value of the same type, or else the constant 1, take the place of each operand
    that is not defined where it is used.

    Raises ``InvalidEditError`` where there is none.
    """
    for use in uses(function):
        operand = use.instruction.operands[use.slot]
        if operand.value is not None and not scope.has(operand.value, use.where, use.place):
            values = scope.values(operand.type, use.where, use.place)
            chosen = f"%{edit.pick(use.told, values)}" if values else one(operand.type)
            use.become(chosen)


def wire(function: Function, scope: Scope, identity: str, edit: Edit) -> None:
    """Let an operand of the same type use the value of an instruction that nothing uses.

    Raises ``InvalidEditError`` where there is none: the instruction would be for nothing.
    """
    found = function.find(identity)
    assert found is not None
    block, place = found
    instruction = block.body[place]
    assert instruction is not None
    if instruction.result is None:
        return
    known = list(uses(function))
    if any(use.instruction.operands[use.slot].value == instruction.result for use in known):
        return
    fitting = [
        use
        for use in known
        if use.index is not None
        and use.instruction.operands[use.slot].type == instruction.type
        and not use.instruction.operands[use.slot].fixed
        and scope.has(instruction.result, use.where, use.place)
    ]
    if not fitting:
        raise InvalidEditError(f"nothing after it can use the {instruction.type} of {instruction}")
    chosen = edit.pick("", [use.told for use in fitting])
    next(use for use in fitting if use.told == chosen).become(f"%{instruction.result}")


def one(type_: str) -> str:
    """The constant 1 of a type. Raises ``InvalidEditError`` for one that has none."""
    if type_ == "i1":
        return "true"
    if re.fullmatch(r"i\d+", type_):
        return "1"
    if type_ in ("half", "bfloat", "float", "double"):
        return "1.0"
    vector = _VECTOR.fullmatch(type_)
    if vector:
        return f"splat ({vector.group(2)} {one(vector.group(2))})"
    raise InvalidEditError(f"no value is there in the place of a {type_}")
