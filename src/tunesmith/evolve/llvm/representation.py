"""LLVM-IR as a representation: one function of a module, whose instructions are edited."""

from __future__ import annotations

import random
from functools import cached_property

from tunesmith.evolve.edit import Edit, Edits, InvalidEditError
from tunesmith.evolve.llvm.build import fault
from tunesmith.evolve.llvm.calling import CConvention
from tunesmith.evolve.llvm.code import Function, Instruction
from tunesmith.evolve.llvm.dominance import dominators
from tunesmith.evolve.llvm.edits import apply_edits, draw_edit
from tunesmith.evolve.llvm.reader import read_module
from tunesmith.evolve.representation import in_words, unified_diff
from tunesmith.measure.identity import digest


def _shown(instruction: Instruction) -> str:
    """An instruction without what is attached to it, and its line of the source."""
    line = f" (line {instruction.line})" if instruction.line else ""
    return str(instruction).partition(", !")[0] + line


def _listed(function: Function) -> list[str]:
    """The lines of a function as they are shown."""
    lines = [function.head]
    for block in function.blocks.values():
        lines.append(f"{block.name}:")
        lines.extend(f"  {_shown(each)}" for each in block.instructions())
    return lines


class LLVMCode:
    """A function ``entry`` of a module of LLVM-IR.

    Raises ``UsageError`` for a text that does not parse or verify, and where there is no such
    function.
    """

    def __init__(self, text: str, entry: str) -> None:
        self.entry = entry
        self._module = read_module(text, entry)
        function = self._module.function
        self._dominators = dominators(
            {name: block.successors for name, block in function.blocks.items()}
        )

    @cached_property
    def digest(self) -> str:
        return digest([self.entry, self._module.text(self._module.function)])

    @property
    def c_convention(self) -> CConvention:
        """How the function is called where nothing else is said."""
        function = self._module.function
        returns = [str(block.terminator) for block in function.blocks.values()]
        result = next((text.split()[1] for text in returns if text.startswith("ret ")), "void")
        return CConvention(tuple(function.arguments.values()), result)

    def apply(self, edits: Edits) -> str:
        function = apply_edits(self._module.function, self._dominators, edits)
        text = self._module.text(function)
        if wrong := fault(text):
            raise InvalidEditError(wrong)
        return text

    def draw(self, edits: Edits, random: random.Random) -> Edit:
        return draw_edit(apply_edits(self._module.function, self._dominators, edits), random)

    def describe(self, edits: Edits) -> list[str]:
        instructions = [
            each for block in self._module.function.blocks.values() for each in block.instructions()
        ]
        return in_words(edits, {each.identity: _shown(each) for each in instructions})

    def difference(self, edits: Edits) -> list[str]:
        function = apply_edits(self._module.function, self._dominators, edits)
        return unified_diff(_listed(self._module.function), _listed(function))
