"""LLVM-IR read into code that can be edited: by llvmlite, which parses and types it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tunesmith.evolve.llvm.build import function_of, parse
from tunesmith.evolve.llvm.code import Block, Function, Instruction, Operand

_NAME = re.compile(r"%([-\w.$]+)")
_LABEL = re.compile(r"label %([-\w.$]+)")
_ATTACHED = re.compile(r"(?:, ![\w.]+ (?:!\d+|!\{\}))+$")
_PLACE = re.compile(r", !dbg !(\d+)")
_RECORD = re.compile(r"^ +(?:#dbg_|(?:tail )?call void @llvm\.dbg\.).*\n", re.MULTILINE)
_DEBUG = re.compile(rf"{_RECORD.pattern}|^!llvm\.dbg\.cu = .*\n|,? !dbg !\d+", re.MULTILINE)
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+)", re.MULTILINE)
_INCOMING = re.compile(r"\[ (.+?), %([-\w.$]+) \]")
_SCALAR = re.compile(r"i\d+|half|bfloat|float|double")


@dataclass(frozen=True)
class Module:
    """A module with one function that is edited: the text ``before`` and ``after`` it."""

    before: str
    function: Function
    after: str
    entry: str

    def text(self, function: Function) -> str:
        """The module with another code of the function."""
        return f"{self.before}{function}\n{self.after}"


def read_module(text: str, entry: str) -> Module:
    """The module of a text; ``entry`` is the function that is edited.

    Values and blocks get new names, which are unique in the function. Raises ``UsageError`` for a
    text that does not parse or verify, and where there is no such function.
    """
    parsed = parse(text)
    _rename(function_of(parsed, entry))
    printed = str(parsed)
    lines = _lines(printed, _printed_function(printed, entry).group())
    # Without what only debuggers need a program stays the same when its source is moved.
    parsed = parse(_DEBUG.sub("", printed))
    printed = str(parsed)
    found = _printed_function(printed, entry)
    module = Module(
        printed[: found.start()],
        _code(function_of(parsed, entry), found.group(), lines),
        printed[found.end() + 1 :],
        entry,
    )
    parse(module.text(module.function))
    return module


def _printed_function(printed: str, entry: str) -> re.Match[str]:
    found = re.search(
        rf"^define [^\n]*@\"?{re.escape(entry)}\"?\(.*?^\}}$", printed, re.DOTALL | re.MULTILINE
    )
    assert found is not None, "a function that is defined is printed"
    return found


def _rename(function: Any) -> None:
    """Give all values and blocks of a function names that say nothing and are unique."""
    for number, argument in enumerate(function.arguments):
        argument.name = f"a{number}"
    values = 0
    for number, block in enumerate(function.blocks):
        block.name = f"b{number}"
        for instruction in block.instructions:
            if str(instruction.type) != "void":
                instruction.name = f"v{values}"
                values += 1


def _lines(printed: str, function: str) -> list[int]:
    """The line of the source of each instruction of a function of a module, 0 where it is not
    known."""
    known = {number: int(line) for number, line in _LOCATION.findall(printed)}
    places = [_PLACE.search(text) for text in _split(function)[1]]
    return [known.get(place.group(1), 0) if place else 0 for place in places]


def _code(function: Any, printed: str, lines: list[int]) -> Function:
    """The code of a function as it is printed within its module: alone, an instruction would name
    metadata and attributes by other numbers."""
    head, texts = _split(printed)
    arguments = {each.name: str(each.type) for each in function.arguments}
    types = dict(arguments)
    for block in function.blocks:
        for instruction in block.instructions:
            if str(instruction.type) != "void":
                types[instruction.name] = str(instruction.type)
    blocks, number = {}, 0
    for block in function.blocks:
        read = []
        for instruction in block.instructions:
            read.append(_instruction(instruction, texts[number], number, types, lines[number]))
            number += 1
        phis = [each for each in read if each.opcode == "phi"]
        terminator = read[-1]
        blocks[block.name] = Block(
            block.name,
            phis,
            list(read[len(phis) : -1]),
            terminator,
            tuple(_LABEL.findall(str(terminator))),
        )
    return Function(head, arguments, blocks)


def _split(printed: str) -> tuple[str, list[str]]:
    """The head of a function, and the text of each of its instructions, some of which have several
    lines."""
    head, *lines = _RECORD.sub("", printed).splitlines()
    texts: list[str] = []
    for line in lines[:-1]:
        if re.match(r"  [^ \]]", line):
            texts.append(line.strip())
        elif line.startswith("  "):
            texts[-1] += f"\n  {line.strip()}"
    return head, texts


def _instruction(
    instruction: Any, text: str, number: int, types: dict[str, str], line: int
) -> Instruction:
    result = instruction.name if str(instruction.type) != "void" else None
    if result is not None:
        text = text.removeprefix(f"%{result} = ")
    opcode = str(instruction.opcode)
    if opcode == "phi":
        pieces, operands, incoming = _phi(text, str(instruction.type))
    else:
        pieces, operands = _slots(text, instruction, types)
        incoming = ()
    return Instruction(
        f"i{number}",
        opcode,
        result,
        str(instruction.type),
        pieces,
        operands,
        incoming,
        line,
    )


def _phi(text: str, type_: str) -> tuple[tuple[str, ...], tuple[Operand, ...], tuple[str, ...]]:
    pieces, operands, incoming, end = [], [], [], 0
    for found in _INCOMING.finditer(text):
        value = found.group(1)
        pieces.append(text[end : found.start(1)])
        operands.append(Operand(value, type_, fixed=not _can_change(value, type_)))
        incoming.append(found.group(2))
        end = found.end(1)
    return (*pieces, text[end:]), tuple(operands), tuple(incoming)


def _can_change(text: str, type_: str) -> bool:
    return text.startswith("%") or _SCALAR.fullmatch(type_) is not None


def _slots(
    text: str, instruction: Any, types: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Operand, ...]]:
    """The pieces between the operands of an instruction, and these, as they stand in its text."""
    attached = _ATTACHED.search(text)
    limit = attached.start() if attached else len(text)
    places: list[tuple[int, int, Operand]] = []
    for found in _NAME.finditer(text, 0, limit):
        name = found.group(1)
        if name in types and text[: found.start()].rsplit(" ", 2)[-2:-1] != ["label"]:
            called = text[found.end() : found.end() + 1] == "("
            places.append((*found.span(), Operand(f"%{name}", types[name], fixed=called)))
    if instruction.opcode != "alloca":
        places.extend(_constants(text, instruction, limit, places))
    places.sort(key=lambda place: place[0])
    pieces, end = [], 0
    for start, stop, _ in places:
        pieces.append(text[end:start])
        end = stop
    return (*pieces, text[end:]), tuple(operand for _, _, operand in places)


def _constants(
    text: str, instruction: Any, limit: int, values: list[tuple[int, int, Operand]]
) -> list[tuple[int, int, Operand]]:
    """The scalar constants among the operands, found in the order in which these are written."""
    ends = {place[2].text: place[1] for place in values}
    found, position = [], 0
    for operand in instruction.operands:
        type_ = str(operand.type)
        if operand.name and f"%{operand.name}" in ends:
            position = max(position, ends[f"%{operand.name}"])
        elif operand.is_constant and _SCALAR.fullmatch(type_):
            literal = str(operand).removeprefix(f"{type_} ")
            match = re.compile(rf"(?<![\w.%@-]){re.escape(literal)}(?![\w.])").search(
                text, position, limit
            )
            if match:
                found.append((*match.span(), Operand(literal, type_)))
                position = match.end()
    return found
