"""Each kind of edit on a kernel that is worked out by hand, and what every edit keeps to."""

from __future__ import annotations

import random

import pytest

from tests.evolve.kernels import SCALE
from tunesmith.evolve.edit import Edit
from tunesmith.testing.representation import RepresentationConformance

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from tunesmith.evolve.llvm.representation import LLVMCode

# Those of the loop, in order.
PHI, FROM, LOAD, MULTIPLY, PLUS, INTO, STORE, NEXT, DONE = (f"i{n}" for n in range(2, 11))


class TestLLVMCode(RepresentationConformance):
    def make_representation(self) -> LLVMCode:
        return LLVMCode(SCALE, "scale")


@pytest.fixture
def code() -> LLVMCode:
    return LLVMCode(SCALE, "scale")


def changed(code: LLVMCode, *edits: Edit) -> list[str]:
    """The lines that edits remove and add, without the context."""
    lines = code.difference(edits)[2:]
    return [line for line in lines if line[0] in "+-"]


def test_delete_gives_its_users_another_value(code: LLVMCode) -> None:
    lines = changed(code, Edit("delete", MULTIPLY, seed=1))
    assert lines[0] == "-  %v4 = fmul float %v3, %a3"
    assert lines[1].startswith("-  %v5 = fadd float %v4")
    assert lines[2] in (
        "+  %v5 = fadd float %v3, 1.000000e+00",
        "+  %v5 = fadd float %a3, 1.000000e+00",
    )


def test_deleting_a_store_needs_no_repair(code: LLVMCode) -> None:
    assert changed(code, Edit("delete", STORE)) == ["-  store float %v5, ptr %v6, align 4"]


def test_a_copy_is_used_by_something_after_it(code: LLVMCode) -> None:
    lines = changed(code, Edit("copy", MULTIPLY, INTO, seed=7))
    added = [line for line in lines if line.startswith("+")]
    assert added[0] == "+  %e7 = fmul float %v3, %a3"
    assert added[1] == "+  store float %e7, ptr %v6, align 4"
    assert len(added) == 2


def test_a_copy_of_a_store_is_a_second_store(code: LLVMCode) -> None:
    lines = changed(code, Edit("copy", STORE, NEXT, seed=7))
    assert lines == ["+  store float %v5, ptr %v6, align 4"]


def test_move_repairs_what_it_no_longer_comes_before(code: LLVMCode) -> None:
    text = code.apply([Edit("move", LOAD, PLUS, seed=3)])
    assert text.index("fmul") < text.index("%v3 = load") < text.index("fadd")
    assert "fmul float %a3, %a3" in text


def test_replace_puts_a_copy_in_its_place(code: LLVMCode) -> None:
    lines = changed(code, Edit("replace", PLUS, MULTIPLY, seed=9))
    assert "-  %v5 = fadd float %v4, 1.000000e+00" in lines
    assert "+  %e9 = fmul float %v3, %a3" in lines
    assert "+  store float %e9, ptr %v6, align 4" in lines


def test_swap_exchanges_places(code: LLVMCode) -> None:
    lines = changed(code, Edit("swap", INTO, LOAD, seed=2))
    assert any(line.startswith("+  %v6 = getelementptr") for line in lines)
    text = code.apply([Edit("swap", INTO, LOAD, seed=2)])
    assert text.index("%v6 = getelementptr") < text.index("%v3 = load")


def test_an_operand_becomes_another_of_its_type(code: LLVMCode) -> None:
    seen = set()
    for seed in range(40):
        (_, line) = changed(code, Edit("operand", MULTIPLY, slot=1, seed=seed))
        assert line.startswith("+  %v4 = fmul float %v3, ")
        seen.add(line.rpartition(" ")[2])
    assert seen == {"%v3", "1.000000e+00"}


def test_a_constant_becomes_another_value_too(code: LLVMCode) -> None:
    seen = {
        changed(code, Edit("operand", NEXT, slot=1, seed=seed))[1].rpartition(" ")[2]
        for seed in range(40)
    }
    assert seen == {"%v1", "%a2", "0"}


@pytest.mark.parametrize(
    "edit",
    [
        Edit("move", LOAD, LOAD),
        Edit("swap", LOAD, LOAD),
        Edit("replace", LOAD, LOAD),
        Edit("operand", LOAD, slot=5),
        Edit("delete", PHI),
        Edit("delete", "i12"),
    ],
)
def test_what_cannot_be_done_changes_nothing(code: LLVMCode, edit: Edit) -> None:
    assert code.apply([edit]) == code.apply([])


def test_a_deleted_instruction_is_an_anchor_still(code: LLVMCode) -> None:
    edits = [Edit("delete", INTO, seed=1), Edit("copy", FROM, INTO, seed=8)]
    text = code.apply(edits)
    assert text.index("%v5 = fadd") < text.index("%e8 = getelementptr") < text.index("store")


def test_the_same_copy_twice_is_one_copy(code: LLVMCode) -> None:
    edit = Edit("copy", STORE, NEXT, seed=7)
    assert code.apply([edit, edit]) == code.apply([edit])


def test_a_copy_can_be_edited_for_as_long_as_it_is_there(code: LLVMCode) -> None:
    copy = Edit("copy", STORE, NEXT, seed=7)
    delete = Edit("delete", f"{STORE}+7", seed=1)
    assert code.apply([copy, delete]) == code.apply([])
    assert code.apply([delete, copy]) == code.apply([copy])


def test_they_are_told_in_words(code: LLVMCode) -> None:
    words = code.describe(
        [
            Edit("delete", MULTIPLY),
            Edit("operand", f"{PLUS}+1f", slot=1),
            Edit("move", LOAD, STORE),
        ]
    )
    assert words == [
        "delete %v4 = fmul float %v3, %a3",
        "another operand 2 in a copy of %v5 = fadd float %v4, 1.000000e+00",
        "move %v3 = load float, ptr %v2, align 4 before store float %v5, ptr %v6, align 4",
    ]


def test_control_flow_stays_as_it_is(code: LLVMCode) -> None:
    chance = random.Random(0)
    for _ in range(100):
        text = code.apply([code.draw([], chance) for _ in range(5)])
        assert text.count("br i1") == 2
        assert text.count("phi i64") == 1


def test_a_repair_is_the_same_beside_other_edits(code: LLVMCode) -> None:
    """A value more to choose from changes few of the choices."""
    same = apart = 0
    for seed in range(80):
        delete = Edit("delete", MULTIPLY, seed=seed)
        before = Edit("copy", LOAD, LOAD, seed=1000 + seed)
        alone = {line for line in changed(code, delete) if "fadd" in line}
        if not any("fadd" in line or "fmul" in line for line in changed(code, before)):
            apart += 1
            same += alone <= set(changed(code, before, delete))
    assert apart > 10
    assert same >= 0.5 * apart, "one of three values is new"
