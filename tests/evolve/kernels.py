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
