"""Which values are defined wherever control may come from: those that dominate a use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tunesmith.evolve.llvm.code import Block, Function


def dominators(blocks: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """The blocks that dominate each, itself included, from the successors of each; the first is
    the entry.

    A block that cannot be reached is dominated by all, as nothing in it ever runs. Edits leave the
    control flow alone, so this is true of all that becomes of a function.
    """
    names = list(blocks)
    before: dict[str, list[str]] = {name: [] for name in names}
    for name, successors in blocks.items():
        for successor in successors:
            before[successor].append(name)
    everything = frozenset(names)
    found = dict.fromkeys(names, everything)
    found[names[0]] = frozenset(names[:1])
    changed = True
    while changed:
        changed = False
        for name in names[1:]:
            if before[name]:
                common = frozenset.intersection(*(found[each] for each in before[name]))
                common |= {name}
                if common != found[name]:
                    found[name], changed = common, True
    return found


class Scope:
    """What is defined where in a function, as it is now."""

    def __init__(self, function: Function, dominators: Mapping[str, frozenset[str]]) -> None:
        self._dominators = dominators
        self._arguments = function.arguments
        self._defined: dict[str, tuple[str, int]] = {}
        self._types: dict[str, str] = dict(function.arguments)
        for block in function.blocks.values():
            for phi in block.phis:
                self._define(phi.result, phi.type, block, -1)
            for place, instruction in enumerate(block.body):
                if instruction is not None:
                    self._define(instruction.result, instruction.type, block, place)
            if block.terminator.result is not None:  # of an invoke, where it comes to pass
                self._define(block.terminator.result, block.terminator.type, block, len(block.body))

    def _define(self, result: str | None, type_: str, block: Block, place: int) -> None:
        if result is not None:
            self._defined[result] = (block.name, place)
            self._types[result] = type_

    def has(self, value: str, block: str, place: int) -> bool:
        """Whether a value is defined before a place of a block's body."""
        if value in self._arguments:
            return True
        if value not in self._defined:
            return False
        where, since = self._defined[value]
        if where == block:
            return since < place
        return where in self._dominators[block]

    def values(self, type_: str, block: str, place: int) -> list[str]:
        """The values of a type that are defined before a place."""
        return [
            value
            for value, known in self._types.items()
            if known == type_ and self.has(value, block, place)
        ]
