"""The loops of a program and what they touch, read from TVM's TIR.

Strides and extents are found by evaluation at a few points (``index_points``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.compiler.index_points import IndexPoints
from tunesmith.operators import element_bits

Ints = npt.NDArray[np.int64]

# TVM's kinds of loops, by number.
_KINDS = ("serial", "parallel", "vectorized", "unrolled", "bound")


@dataclass(frozen=True)
class Loop:
    """A loop. ``annotation`` is ``serial``, ``parallel``, ``vectorized``, ``unrolled``, or what
    it is bound to, such as ``threadIdx.x``. ``parent`` is the number of the loop around it."""

    extent: int
    annotation: str
    parent: int | None


@dataclass(frozen=True)
class Buffer:
    """Memory. ``scope`` is TVM's, such as ``global``. Registers of the same name are one buffer,
    and so are the views of a buffer."""

    name: str
    scope: str
    elements: int
    element_bits: int
    is_parameter: bool


@dataclass(frozen=True)
class Access:
    """All loads or all stores of a buffer in the body of a loop, without those of loops inside.

    Of a buffer with views of several shapes, there is one for each shape.

    ``count`` is how many there are in one step, of ``lanes`` elements each. ``strides`` has for
    each loop of the path, outermost first, by how many elements the place moves with its second
    step. ``spans``, shape (loops, dimensions), says by how much an index grows from the first to
    the last step of a loop, and ``widths``, shape (dimensions,), how many indices one step touches.
    """

    buffer: int
    path: tuple[int, ...]
    is_store: bool
    count: int
    lanes: int
    strides: tuple[int, ...]
    spans: Ints
    widths: Ints


@dataclass(frozen=True)
class LoopNest:
    """A function's loops, in the order in which they are written, with their accesses."""

    loops: Sequence[Loop]
    buffers: Sequence[Buffer]
    accesses: Sequence[Access]


def loop_nest(function: Any) -> LoopNest:
    """The loops of a ``tvm.tirx.PrimFunc``. Its blocks must have been lowered."""
    import tvm_ffi
    from tvm.ir import TensorLoad
    from tvm.tirx import Bind, BufferStore, DeclBuffer, For

    reader = _Reader({hash(parameter) for parameter in function.params})
    callbacks = [
        (DeclBuffer, reader.view),
        (For, reader.loop),
        (BufferStore, reader.store),
        (TensorLoad, reader.load),
        (Bind, reader.bind),
    ]
    tvm_ffi.structural_visit(function.body, callbacks)
    return reader.nest()


_GroupKey = tuple[tuple[int, ...], int, tuple[int, ...], bool]


@dataclass
class _Group:
    """The loads or stores of a buffer in a loop's body: the first, the last, and how many."""

    number: int
    shape: tuple[int, ...]
    path: tuple[int, ...]
    is_store: bool
    first: Any
    last: Any = None
    count: int = 0
    members: set[int] = field(default_factory=set)


@dataclass
class _Reader:
    """Reads a function statement by statement."""

    parameters: set[int]
    loops: list[Loop] = field(default_factory=list)
    _path: tuple[int, ...] = ()
    _buffers: list[Buffer] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)  # of buffers and of views
    _shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of views
    _registers: dict[str, int] = field(default_factory=dict)
    _groups: dict[_GroupKey, _Group] = field(default_factory=dict)
    _loop_of: dict[int, int] = field(default_factory=dict)
    _bound: dict[int, Any] = field(default_factory=dict)
    _viewed: dict[int, Any] = field(default_factory=dict)
    _points_of_path: dict[tuple[int, ...], IndexPoints] = field(default_factory=dict)

    def loop(self, loop: Any, visitor: Any) -> None:
        around, number = self._path, len(self.loops)
        self._loop_of[hash(loop.loop_var)] = number
        extent = int(self._points(around).of(loop.extent)[0])
        parent = around[-1] if around else None
        self.loops.append(Loop(max(1, extent), _annotation(loop), parent))
        self._path = (*around, number)
        visitor.default_visit(loop)
        self._path = around

    def view(self, declared: Any, visitor: Any) -> None:
        for argument in getattr(declared.data, "args", ()):  # the memory of another buffer
            self._viewed[hash(declared.buffer)] = self._memory(argument)
        visitor.default_visit(declared)

    def _memory(self, buffer: Any) -> Any:
        """The buffer that a buffer is a view of, or itself."""
        return self._viewed.get(hash(buffer), buffer)

    def bind(self, bind: Any, visitor: Any) -> None:
        self._bound[hash(bind.var)] = bind.value
        visitor.default_visit(bind)

    def store(self, store: Any, visitor: Any) -> None:
        visitor.default_visit(store)
        self._add(store.buffer, store.indices, is_store=True)

    def load(self, load: Any, visitor: Any) -> None:
        visitor.default_visit(load)
        self._add(load.source, load.indices, is_store=False)

    def _add(self, buffer: Any, indices: Any, *, is_store: bool) -> None:
        view = hash(buffer)
        number = self._numbers.get(view)
        if number is None:
            number = self._numbers[view] = self._number(buffer)
        shape = self._shapes.get(view)
        if shape is None:
            shape = self._shapes[view] = _shape(buffer)
        key = (self._path, number, shape, is_store)
        group = self._groups.get(key)
        if group is None:
            group = _Group(number, shape, self._path, is_store, indices)
            self._groups[key] = group
        group.last = indices
        group.count += 1
        group.members.add(view)

    def _number(self, buffer: Any) -> int:
        """Of the memory of a buffer: that of several views, or registers of one name."""
        memory = self._memory(buffer)
        key = hash(memory)
        made = Buffer(
            name=str(memory.name),
            scope=str(memory.scope()),
            elements=int(np.prod(_shape(memory), dtype=np.int64)),
            element_bits=element_bits(str(memory.dtype)),
            is_parameter=key in self.parameters,
        )
        place = self._numbers.get(key)
        if place is None and made.scope == "local":
            place = self._registers.get(made.name)
            if place is not None:
                known = self._buffers[place]
                self._buffers[place] = replace(known, elements=known.elements + made.elements)
        if place is None:
            place = len(self._buffers)
            self._buffers.append(made)
            if made.scope == "local":
                self._registers[made.name] = place
        self._numbers[key] = place
        return place

    def _points(self, path: tuple[int, ...]) -> IndexPoints:
        extents = [self.loops[number].extent for number in path]
        places = {variable: path.index(n) for variable, n in self._loop_of.items() if n in path}
        return IndexPoints(extents, places, self._bound)

    def nest(self) -> LoopNest:
        accesses = [self._access(group) for group in self._groups.values()]
        return LoopNest(self.loops, self._buffers, accesses)

    def _access(self, group: _Group) -> Access:
        points = self._points_of_path.get(group.path)
        if points is None:
            points = self._points_of_path[group.path] = self._points(group.path)
        first = [points.of(index) for index in group.first]
        is_single = group.last is group.first
        last = first if is_single else [points.of(index) for index in group.last]
        lanes = [_lanes(index) for index in group.last]
        places = np.array(first).reshape(len(first), -1)
        steps = places[:, 1::2] - places[:, :1]
        spans = np.abs(places[:, 2::2] - places[:, :1]).T
        widths = [
            abs(int(end[0]) - int(begin[0])) + 1 + (count - 1) * step
            for begin, end, (count, step) in zip(first, last, lanes, strict=True)
        ]
        if self._buffers[group.number].scope == "local":
            widths[:1] = [widths[0] * len(group.members)]
        jumps = np.cumprod([1, *reversed(group.shape[1:])])[::-1]
        return Access(
            buffer=group.number,
            path=group.path,
            is_store=group.is_store,
            count=group.count,
            lanes=max((count for count, _ in lanes), default=1),
            strides=tuple((jumps @ steps).tolist()),
            spans=spans,
            widths=np.array(widths, dtype=np.int64),
        )


def _annotation(loop: Any) -> str:
    if loop.thread_binding is not None:
        return str(loop.thread_binding.thread_tag) or "vthread"
    return _KINDS[int(loop.kind)]


def _shape(buffer: Any) -> tuple[int, ...]:
    return tuple(int(getattr(extent, "value", 1)) for extent in buffer.shape)


def _lanes(index: Any) -> tuple[int, int]:
    """How many elements an index stands for, and how far apart they are."""
    if type(index).__name__ == "Ramp":
        return int(index.lanes), abs(int(getattr(index.stride, "value", 1)))
    return 1, 0
