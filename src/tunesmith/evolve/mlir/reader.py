"""A module of StableHLO read into operations that can be edited."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tunesmith.errors import UsageError
from tunesmith.evolve.mlir.code import Function, Operation, lines
from tunesmith.evolve.mlir.library import checked

_FUNCTION = re.compile(r'^  "func\.func"\(\) .*?sym_name = "([^"]+)".*$', re.MULTILINE)
_ARGUMENT = re.compile(r"(%\w+): ([^,]+(?:<[^>]*>)?)")
_OPERATION = re.compile(r'^(?:(%\w+)(?::\d+)? = )?("[\w.]+")\(([^)]*)\)(.*)$', re.DOTALL)


@dataclass(frozen=True)
class Module:
    """A module in generic form with one function that is edited: the lines ``before`` and
    ``after`` its operations."""

    before: str
    function: Function
    after: str
    entry: str

    def text(self, function: Function) -> str:
        """The module with other operations in the function."""
        body = "".join(f"    {line}\n" for line in lines(function))
        return f"{self.before}{body}{self.after}"


def read_module(text: str, entry: str) -> Module:
    """The module of a text; ``entry`` is the function that is edited.

    Raises ``UsageError`` for a text that does not parse or verify, where there is no such function,
    and for one with several blocks, or with operations that cannot be written anew.
    """
    generic = checked(text)
    functions = {found.group(1): found for found in _FUNCTION.finditer(generic)}
    if entry not in functions:
        names = ", ".join(functions) or "none"
        raise UsageError(f"there is no function '{entry}' in the module: it has {names}")
    start = functions[entry].end() + 1
    end = generic.index("\n  })", start) + 1
    own = generic[start:end].splitlines()
    heads = [line for line in own if line.startswith("  ^bb")]
    if len(heads) > 1:
        raise UsageError(f"the function '{entry}' has several blocks: only one can be edited")
    head = f"{heads[0]}\n" if heads else ""
    arguments = tuple(_ARGUMENT.findall(head.partition("(")[2].rpartition(")")[0]))
    operations = [
        _operation(each, f"o{number}") for number, each in enumerate(_split(own[len(heads) :]))
    ]
    *body, returns = operations
    function = Function(arguments, list(body), returns, [each.identity for each in body])
    module = Module(generic[:start] + head, function, generic[end:], entry)
    try:
        checked(module.text(function))
    except UsageError as error:  # such as branches that use values from outside of them
        raise UsageError(f"the function '{entry}' has operations that no edit can move") from error
    return module


def _split(own: list[str]) -> list[str]:
    """The lines of each operation: those of its regions stand further to the right."""
    found: list[str] = []
    for line in own:
        if re.match(r'^    (?=[%"])', line):
            found.append(line[4:])
        else:
            found[-1] += f"\n{line}"
    return found


def _operation(text: str, identity: str) -> Operation:
    found = _OPERATION.match(text)
    assert found is not None, text
    result, head, operands, rest = found.groups()
    tail, _, signature = rest.rpartition(" : (")
    taken, _, given = signature.partition(") -> ")
    given = given.strip()
    results = _types(given[1:-1]) if given.startswith("(") else [given]
    several = len(results) > 1
    return Operation(
        identity,
        head,
        tuple(each for each in operands.split(", ") if each),
        tuple(_types(taken)),
        tail,
        tuple(
            (f"{result}#{number}" if several else result, type_)
            for number, type_ in enumerate(results)
            if result
        ),
    )


def _types(text: str) -> list[str]:
    """Types between commas, some of which have commas themselves."""
    found, depth = [""], 0
    for character in text:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found if each.strip()]
