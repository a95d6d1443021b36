"""LLVM-IR is read into code with operands, and written as it was."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.evolve.kernels import SCALE
from tunesmith.errors import UsageError

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from tunesmith.evolve.llvm.build import parse, simplified
from tunesmith.evolve.llvm.code import Instruction
from tunesmith.evolve.llvm.reader import Module, read_module

EVERYTHING = """
%pair = type { i32, float }

@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]

declare i32 @outside(i32, ptr)

define i32 @f(ptr %p, i32 %n, <4 x float> %v, ptr %callee) {
entry:
  %room = alloca %pair, align 8
  %at = getelementptr inbounds %pair, ptr %room, i64 0, i32 1
  store float 2.500000e+00, ptr %at, align 4
  %lane = extractelement <4 x float> %v, i64 2
  %wide = insertelement <4 x float> %v, float %lane, i64 0
  %mixed = shufflevector <4 x float> %wide, <4 x float> %v, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  store <4 x float> %mixed, ptr %p, align 16
  %called = tail call i32 @outside(i32 4, ptr %p)
  %through = call i32 %callee(i32 %called)
  %sum = add nsw i32 %called, %through
  switch i32 %n, label %other [
    i32 0, label %end
    i32 7, label %end
  ]

other:
  %neg = sub i32 0, %sum
  %pick = select i1 true, i32 %neg, i32 -3
  br label %end

end:
  %out = phi i32 [ %sum, %entry ], [ %sum, %entry ], [ %pick, %other ]
  ret i32 %out
}
"""


def instructions(module: Module) -> list[Instruction]:
    return [each for block in module.function.blocks.values() for each in block.instructions()]


def operands(module: Module, opcode: str) -> list[list[tuple[str, str]]]:
    return [
        [(operand.text, operand.type) for operand in each.operands]
        for each in instructions(module)
        if each.opcode == opcode
    ]


@pytest.mark.parametrize(("text", "entry"), [(SCALE, "scale"), (EVERYTHING, "f")])
def test_what_is_read_is_written_as_it_was(text: str, entry: str) -> None:
    module = read_module(text, entry)
    written = module.text(module.function)
    again = read_module(written, entry)
    assert again.text(again.function) == written
    assert nameless(parse(written)) == nameless(parse(text))


def nameless(module: Any) -> list[str]:
    """The instructions, whatever their values and blocks are called."""
    lines = (line.partition(" ;")[0].rstrip() for line in str(module).splitlines())
    return [re.sub(r'%("[^"]*"|[\w.$-]+)', "%", line) for line in lines if line.startswith("  ")]


def test_operands_have_their_types() -> None:
    module = read_module(EVERYTHING, "f")
    assert operands(module, "extractelement") == [[("%a2", "<4 x float>"), ("2", "i64")]]
    assert operands(module, "insertelement")[0][1:] == [("%v2", "float"), ("0", "i64")]
    assert operands(module, "select")[0] == [("true", "i1"), ("%v8", "i32"), ("-3", "i32")]
    assert operands(module, "sub") == [[("0", "i32"), ("%v7", "i32")]]
    assert operands(module, "getelementptr") == [[("%v0", "ptr"), ("0", "i64"), ("1", "i32")]]
    assert operands(module, "store")[0] == [("2.500000e+00", "float"), ("%v1", "ptr")]
    assert operands(module, "alloca") == [[]]


def test_a_function_that_is_called_is_fixed() -> None:
    direct, indirect = (
        each for each in instructions(read_module(EVERYTHING, "f")) if each.opcode == "call"
    )
    assert [(it.text, it.fixed) for it in direct.operands] == [("4", False), ("%a0", False)]
    assert [(it.text, it.fixed) for it in indirect.operands] == [("%a3", True), ("%v5", False)]


def test_phis_know_where_each_value_comes_from() -> None:
    module = read_module(EVERYTHING, "f")
    (phi,) = (each for each in instructions(module) if each.opcode == "phi")
    assert phi.incoming == ("b0", "b0", "b1")
    assert [operand.text for operand in phi.operands] == ["%v7", "%v7", "%v9"]


def test_blocks_know_what_comes_next() -> None:
    blocks = read_module(EVERYTHING, "f").function.blocks
    assert {name: set(block.successors) for name, block in blocks.items()} == {
        "b0": {"b1", "b2"},
        "b1": {"b2"},
        "b2": set(),
    }


def test_lines_of_the_source_are_those_of_the_debug_information() -> None:
    text = SCALE.replace(
        "%twice = fmul float %value, %by", "%twice = fmul float %value, %by, !dbg !5"
    ).replace("float %by) {", "float %by) !dbg !3 {")
    text += """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "scale.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "scale", scope: !1, file: !1, line: 3, type: !4, unit: !0)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 7, column: 12, scope: !3)
"""
    (multiply,) = (
        each for each in instructions(read_module(text, "scale")) if each.opcode == "fmul"
    )
    assert multiply.line == 7


def test_what_is_no_module_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"^this is no LLVM-IR: .*expected") as error:
        read_module("define void @f( {", "f")
    assert "\n" not in str(error.value)
    broken = SCALE.replace("%from = getelementptr float, ptr %x, i64 %i\n", "").replace(
        "%twice = fmul", "%from = getelementptr float, ptr %x, i64 %i\n  %twice = fmul"
    )
    with pytest.raises(UsageError, match="does not dominate"):
        read_module(broken, "scale")


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"no function 'scales' in the module: it defines scale$"):
        read_module(SCALE, "scales")
    with pytest.raises(UsageError, match="no function 'outside'"):
        read_module(EVERYTHING, "outside")


def test_simplified_keeps_the_function_and_what_it_needs() -> None:
    text = SCALE + "\ndefine void @unused() {\n  ret void\n}\n"
    found = simplified(text, "scale", "renamed")
    assert "@unused" not in found
    assert "@renamed(" in found
    assert "<4 x float>" not in found, "loops are not vectorised before they are edited"
