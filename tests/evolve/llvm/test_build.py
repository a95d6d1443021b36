"""Machine code, and what tells one from another."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from tunesmith.evolve.llvm.build import Machine

PLAIN = """
declare double @sin(double)
declare double @cos(double)

define double @f(double %x) {
  %y = fmul double %x, 3.0
  %z = call double @sin(double %y)
  ret double %z
}
"""


def code_of(text: str) -> str:
    return Machine(text, "f").code


def replaced(old: str, new: str) -> str:
    assert old in PLAIN
    return PLAIN.replace(old, new)


def test_the_same_program_has_the_same_code() -> None:
    assert code_of(PLAIN) == code_of(PLAIN)


def test_assembly_in_the_code_is_read() -> None:
    """Without a parser for it LLVM ends the process."""
    text = replaced("  ret double %z", '  call void asm sideeffect "nop", ""()\n  ret double %z')
    assert code_of(text) != code_of(PLAIN)


def test_what_the_compiler_drops_is_no_part_of_it() -> None:
    unused = replaced("  %z =", "  %unused = fadd double %y, 1.0\n  %z =")
    assert code_of(unused) == code_of(PLAIN)
    assert code_of(PLAIN.replace("%y", "%renamed")) == code_of(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("double %x, 3.0", "double %x, 5.0"),  # in the constants
        ("call double @sin", "call double @cos"),  # in the relocations
        ("fmul double", "fadd double"),
    ],
)
def test_what_differs_has_another_code(old: str, new: str) -> None:
    assert code_of(replaced(old, new)) != code_of(PLAIN)


def test_lines_of_the_source_are_no_part_of_it() -> None:
    def with_line(number: int) -> str:
        located = replaced("ret double %z", "ret double %z, !dbg !5")
        located = located.replace(
            "define double @f(double %x) {", "define double @f(double %x) !dbg !3 {"
        )
        return (
            located.replace("@sin(double %y)", "@sin(double %y), !dbg !5")
            + f"""
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!2}}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "f.c", directory: "/")
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0,
  spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{{null}})
!5 = !DILocation(line: {number}, column: 1, scope: !3)
"""
        )

    assert code_of(with_line(3)) == code_of(with_line(7))
