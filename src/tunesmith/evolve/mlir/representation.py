"""StableHLO as a representation: one function of a module, whose operations are edited."""

from __future__ import annotations

import random
from functools import cached_property

from tunesmith.errors import UsageError
from tunesmith.evolve.edit import Edit, Edits, InvalidEditError
from tunesmith.evolve.mlir.code import lines
from tunesmith.evolve.mlir.edits import apply_edits, draw_edit
from tunesmith.evolve.mlir.library import checked
from tunesmith.evolve.mlir.reader import read_module
from tunesmith.evolve.representation import in_words, unified_diff
from tunesmith.measure.identity import digest


class StableHLOCode:
    """A function ``entry`` of a module of StableHLO.

    Raises ``UsageError`` for a text that does not parse or verify, and where there is no such
    function.
    """

    def __init__(self, text: str, entry: str) -> None:
        self.entry = entry
        self._module = read_module(text, entry)

    @cached_property
    def digest(self) -> str:
        return digest([self.entry, self._module.text(self._module.function)])

    def apply(self, edits: Edits) -> str:
        text = self._module.text(apply_edits(self._module.function, edits))
        try:
            checked(text)
        except UsageError as error:
            raise InvalidEditError(str(error)) from error
        return text

    def draw(self, edits: Edits, random: random.Random) -> Edit:
        return draw_edit(apply_edits(self._module.function, edits), random)

    def describe(self, edits: Edits) -> list[str]:
        body = self._module.function.body
        return in_words(edits, {each.identity: each.brief for each in body if each is not None})

    def difference(self, edits: Edits) -> list[str]:
        function = apply_edits(self._module.function, edits)
        before, after = (
            [line for each in lines(some, named=True) for line in each.splitlines()]
            for some in (self._module.function, function)
        )
        return unified_diff(before, after)
