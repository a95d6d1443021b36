"""The code of one function of LLVM-IR, as text with slots for operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Operand:
    """A value (``%name``) or a scalar constant. One that is ``fixed``, the callee of a call, say,
    is no target of edits."""

    text: str
    type: str
    fixed: bool = False

    @property
    def value(self) -> str | None:
        """The name of the value; None for a constant."""
        return self.text[1:] if self.text.startswith("%") else None


@dataclass(frozen=True)
class Instruction:
    """``pieces`` are the text before, between and after the operands, without the result.

    ``identity`` stays the same whatever becomes of the instruction. ``result`` is the name of its
    value, None where it has none. ``incoming`` are the blocks that the operands of a phi come from.
    ``line`` is that of the source, 0 where it is not known.
    """

    identity: str
    opcode: str
    result: str | None
    type: str
    pieces: tuple[str, ...]
    operands: tuple[Operand, ...]
    incoming: tuple[str, ...] = ()
    line: int = 0

    def __str__(self) -> str:
        text = self.pieces[0] + "".join(
            operand.text + piece
            for operand, piece in zip(self.operands, self.pieces[1:], strict=True)
        )
        return text if self.result is None else f"%{self.result} = {text}"

    def with_operand(self, slot: int, text: str) -> Instruction:
        """With another value or constant of the same type in a slot."""
        changed = replace(self.operands[slot], text=text)
        operands = (*self.operands[:slot], changed, *self.operands[slot + 1 :])
        return replace(self, operands=operands)


@dataclass
class Block:
    """A basic block. Edits are about its ``body`` alone: phis and the terminator keep their place,
    so the control flow stays as it is. None in the body is where a deleted instruction was."""

    name: str
    phis: list[Instruction]
    body: list[Instruction | None]
    terminator: Instruction
    successors: tuple[str, ...] = ()

    def copy(self) -> Block:
        return replace(self, phis=list(self.phis), body=list(self.body))

    def instructions(self) -> Iterator[Instruction]:
        """All that is there, in order."""
        yield from self.phis
        yield from (each for each in self.body if each is not None)
        yield self.terminator


@dataclass
class Function:
    """A function's ``head``, its ``arguments`` with their types, and its blocks by name, the first
    of which is the entry. ``anchors`` are the identities of the slots of each body, in order: those
    of deleted instructions included."""

    head: str
    arguments: Mapping[str, str]
    blocks: dict[str, Block]
    anchors: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.anchors:
            self.anchors = {
                name: [each.identity for each in block.body if each is not None]
                for name, block in self.blocks.items()
            }

    def copy(self) -> Function:
        """One that can be edited."""
        blocks = {name: block.copy() for name, block in self.blocks.items()}
        anchors = {name: list(known) for name, known in self.anchors.items()}
        return Function(self.head, self.arguments, blocks, anchors)

    def find(self, identity: str) -> tuple[Block, int] | None:
        """The block and the slot of an instruction, or of what was left of it."""
        for name, known in self.anchors.items():
            if identity in known:
                return self.blocks[name], known.index(identity)
        return None

    def insert(self, block: Block, slot: int, instruction: Instruction) -> None:
        """Put an instruction before what has a slot now."""
        block.body.insert(slot, instruction)
        self.anchors[block.name].insert(slot, instruction.identity)

    def __str__(self) -> str:
        lines = [self.head]
        for block in self.blocks.values():
            lines.append(f"{block.name}:")
            lines.extend(f"  {each}" for each in block.instructions())
        return "\n".join([*lines, "}"])
