"""StableHLO as a representation: each kind of edit, what it keeps to, and what is refused."""

from __future__ import annotations

import pytest

from tests.evolve.kernels import DENSE, LAYERS
from tunesmith.errors import UsageError
from tunesmith.evolve.edit import Edit
from tunesmith.testing.representation import RepresentationConformance

pytest.importorskip("iree.compiler", reason="IREE is not installed")

from tunesmith.evolve.mlir.representation import StableHLOCode

DOT, BROADCAST, ADD, ZERO, REDUCE, ROWS, DIVIDE = (f"o{number}" for number in range(7))


class TestStableHLOCode(RepresentationConformance):
    def make_representation(self) -> StableHLOCode:
        return StableHLOCode(LAYERS, "main")


@pytest.fixture
def code() -> StableHLOCode:
    return StableHLOCode(DENSE, "main")


def test_an_operation_that_nothing_needs_is_no_part_of_the_program(code: StableHLOCode) -> None:
    edit = Edit("replace", DIVIDE, ADD, seed=7)
    text = code.apply([edit])
    assert text.count("stablehlo.add") == 1, "the sum of the rows is gone, and its copy is the sum"
    assert "stablehlo.divide" not in text
    assert "stablehlo.reduce" not in text


def test_a_value_of_another_shape_is_repaired(code: StableHLOCode) -> None:
    """A matrix of 16x4 in the place of one of 8x4 is cut to its middle."""
    texts = {code.apply([Edit("operand", DIVIDE, slot=1, seed=seed)]) for seed in range(40)}
    (cut,) = (text for text in texts if "limit_indices = array<i64: 12, 4>" in text)
    assert "start_indices = array<i64: 4, 0>" in cut
    broadcasts = {text.count("stablehlo.broadcast_in_dim") for text in texts}
    assert broadcasts == {1, 2}, "that of the bias, and another one of a vector or a number"


def test_where_it_stands_does_not_matter(code: StableHLOCode) -> None:
    assert code.apply([Edit("move", ZERO, DOT, seed=1)]) == code.apply([])
    assert code.apply([Edit("swap", DOT, BROADCAST, seed=1)]) == code.apply([])


def test_moving_behind_a_use_changes_that(code: StableHLOCode) -> None:
    before = code.apply([])
    texts = {code.apply([Edit("move", DOT, DIVIDE, seed=seed)]) for seed in range(10)}
    assert before not in texts
    assert len(texts) > 2, "what takes its place is left to chance"


def test_a_region_comes_along(code: StableHLOCode) -> None:
    texts = [code.apply([Edit("copy", REDUCE, ROWS, seed=seed)]) for seed in range(10)]
    assert 2 in {text.count('"stablehlo.return"') for text in texts}


@pytest.mark.parametrize(
    "edit",
    [
        Edit("move", ADD, ADD),
        Edit("swap", ADD, ADD),
        Edit("replace", ADD, ADD),
        Edit("operand", ADD, slot=4),
        Edit("operand", ZERO),
        Edit("delete", "o99"),
    ],
)
def test_what_cannot_be_done_changes_nothing(code: StableHLOCode, edit: Edit) -> None:
    assert code.apply([edit]) == code.apply([])


def test_they_are_told_in_words(code: StableHLOCode) -> None:
    assert code.describe([Edit("delete", ADD), Edit("copy", f"{ZERO}+7", DIVIDE)]) == [
        "delete %2 = stablehlo.add(%0, %1) : tensor<8x4xf32>",
        "copy a copy of %3 = stablehlo.constant() : tensor<f32> before %6 = "
        "stablehlo.divide(%2, %5) : tensor<8x4xf32>",
    ]


def test_several_results_stay_together() -> None:
    text = """
    func.func @main(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.constant dense<0.0> : tensor<f32>
      %1:2 = "stablehlo.reduce"(%x, %x, %0, %0) <{dimensions = array<i64: 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
        %s = stablehlo.add %a, %c : tensor<f32>
        %m = stablehlo.maximum %b, %d : tensor<f32>
        stablehlo.return %s, %m : tensor<f32>, tensor<f32>
      }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>)
          -> (tensor<4xf32>, tensor<4xf32>)
      return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
    }
    """
    code = StableHLOCode(text, "main")
    assert '"func.return"(%n1#0, %n1#1)' in code.apply([])
    copied = code.apply([Edit("copy", "o1", "o1", seed=1)])
    assert ":2 = " in copied


def test_what_is_no_module_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"^this is no StableHLO: ") as error:
        StableHLOCode("func.func @main( {", "main")
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match=r"no function 'predict' in the module: it has main$"):
        StableHLOCode(DENSE, "predict")
    wrong = DENSE.replace(
        "tensor<4xf32>) -> tensor<8x4xf32>\n  %2", "tensor<5xf32>) -> tensor<8x4xf32>\n  %2"
    )
    with pytest.raises(UsageError, match="this is no StableHLO"):
        StableHLOCode(wrong, "main")


def test_branches_that_use_values_of_outside_are_one_line() -> None:
    text = """
func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %y = stablehlo.add %x, %x : tensor<f32>
  %z = "stablehlo.if"(%p) ({
    stablehlo.return %y : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %z : tensor<f32>
}"""
    with pytest.raises(UsageError, match="main' has operations that no edit can move") as error:
        StableHLOCode(text, "main")
    assert "\n" not in str(error.value)
