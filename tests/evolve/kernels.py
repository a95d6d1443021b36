"""Programs to evolve, small enough to work out by hand."""

from __future__ import annotations

SCALE = """
define void @scale(ptr %x, ptr %y, i64 %n, float %by) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %end

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from, align 4
  %twice = fmul float %value, %by
  %plus = fadd float %twice, 1.000000e+00
  %into = getelementptr float, ptr %y, i64 %i
  store float %plus, ptr %into, align 4
  %next = add nuw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop

end:
  ret void
}
"""
"""``y = by * x + 1``."""

WASTEFUL = """
define internal void @waste(ptr %y, i64 %n) noinline {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr float, ptr %y, i64 %i
  %old = load volatile float, ptr %at, align 4
  store volatile float %old, ptr %at, align 4
  %next = add nuw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop

end:
  ret void
}

define void @kernel(ptr %x, ptr %y, i64 %n) {
entry:
  %first = load float, ptr %x, align 4
  %more = fadd float %first, 1.000000e+00
  store float %more, ptr %y, align 4
  call void @waste(ptr %y, i64 %n)
  call void @waste(ptr %y, i64 %n)
  ret void
}
"""
"""``y[0] = x[0] + 1``, and two calls that take time for nothing."""

DENSE = """
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
  %3 = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %6 = stablehlo.divide %2, %5 : tensor<8x4xf32>
  return %6 : tensor<8x4xf32>
}
"""
"""A dense layer whose rows are made to sum up to 1."""

LAYERS = """
func.func @main(%x: tensor<8x16xf32>, %w1: tensor<16x12xf32>, %b1: tensor<12xf32>,
                %w2: tensor<12x10xf32>, %b2: tensor<10xf32>, %w3: tensor<10x4xf32>)
    -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<12xf32>) -> tensor<8x12xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x12xf32>
  %3 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
  %4 = stablehlo.maximum %2, %3 : tensor<8x12xf32>
  %5 = stablehlo.dot_general %4, %w2, contracting_dims = [1] x [0]
      : (tensor<8x12xf32>, tensor<12x10xf32>) -> tensor<8x10xf32>
  %6 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<10xf32>) -> tensor<8x10xf32>
  %7 = stablehlo.add %5, %6 : tensor<8x10xf32>
  %8 = stablehlo.tanh %7 : tensor<8x10xf32>
  %9 = stablehlo.dot_general %8, %w3, contracting_dims = [1] x [0]
      : (tensor<8x10xf32>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %10 = stablehlo.exponential %9 : tensor<8x4xf32>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %13 = stablehlo.divide %10, %12 : tensor<8x4xf32>
  return %13 : tensor<8x4xf32>
}
"""
"""Three layers and a softmax."""
