"""The hot loop of a program, found in its assembly."""

from __future__ import annotations

from tunesmith.kernel.assembly import hot_loop

X86 = """
\t.text
\t.globl\tmain
main:
.Lfunc_begin0:
\t.loc\t1 0 0
\tpushq\t%rbp
.LBB0_1:                                # %outer
\txorl\t%eax, %eax
.Ltmp3:
.LBB0_2:                                # %inner
\t#DEBUG_VALUE: i <- 0
.Ltmp4:
\tvmovups\t(%rdi,%rax), %zmm0
\tvfmadd231ps\t(%rsi,%rax), %zmm1, %zmm0
\tvmovups\t%zmm0, (%rdx,%rax)
\taddq\t$64, %rax
\tcmpq\t$4096, %rax
\tjne\t.LBB0_2
\tincq\t%rcx
\tjb\t.LBB0_1
.LBB0_5:                                # %copy
\tvmovups\t(%rdi), %zmm0
\tvmulps\t%zmm0, %zmm0, %zmm0
\tvaddps\t%zmm0, %zmm0, %zmm0
\tjne\t.LBB0_5
\tretq
\t.size\tmain, .-main
"""

ARM = """
main:
.LBB0_1:                                // %copy
\tldr\tq0, [x0], #16
\tstr\tq0, [x1], #16
\tsubs\tx2, x2, #1
\tb.ne\t.LBB0_1
.LBB0_2:                                // %dot
\tldp\tq0, q1, [x0]
\tfmla\tv2.4s, v0.4s, v1.4s
\tsdot\tv3.4s, v0.16b, v1.16b
\tsubs\tx2, x2, #1
\tcbnz\tx2, .LBB0_2
\tret
"""


def opcodes(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if line.startswith("\t")]


def test_the_innermost_loop_with_the_most_multiply_adds() -> None:
    loop = hot_loop(X86)
    assert opcodes(loop) == ["vmovups", "vfmadd231ps", "vmovups", "addq", "cmpq", "jne"]


def test_only_the_label_that_is_jumped_to_stays() -> None:
    lines = hot_loop(X86).splitlines()
    assert [line for line in lines if not line.startswith("\t")] == [
        ".LBB0_2:                                # %inner"
    ]


def test_lines_are_as_the_compiler_printed_them() -> None:
    assert set(hot_loop(X86).splitlines()) <= set(X86.splitlines())


def test_arm() -> None:
    assert opcodes(hot_loop(ARM)) == ["ldp", "fmla", "sdot", "subs", "cbnz"]


def test_without_multiply_adds_other_arithmetic_counts() -> None:
    text = X86.replace("vfmadd231ps", "vmovaps")
    assert opcodes(hot_loop(text)) == ["vmovups", "vmulps", "vaddps", "jne"]


def test_a_loop_around_a_hotter_one_is_not_shown() -> None:
    text = X86.replace("\txorl\t%eax, %eax", "\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n" * 3)
    assert opcodes(hot_loop(text)).count("vfmadd231ps") == 1


def test_a_jump_forward_makes_no_loop() -> None:
    text = "main:\n\tje\t.LBB0_1\n\tmulss\t%xmm0, %xmm1\n.LBB0_1:\n\tretq\n"
    assert hot_loop(text) == text


def test_without_a_loop_all_of_it_is_shown() -> None:
    text = "\t.text\nmain:\n\tvmulss\t%xmm0, %xmm1, %xmm2\n\tretq\n"
    assert hot_loop(text) == text
    assert hot_loop("") == ""
