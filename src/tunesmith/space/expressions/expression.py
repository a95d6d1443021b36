"""Python-like conditions on parameters. They come from files, so ``eval`` is never used.

The text is parsed with ``ast``, and only the constructs listed here are accepted. Limits on length,
depth and powers bound the time and memory that any text can cost.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from tunesmith.errors import SpaceError
from tunesmith.space.columns import Array, Frame
from tunesmith.space.expressions.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Literal,
    Logic,
    Name,
    Node,
    Not,
    Part,
    Sequence,
)
from tunesmith.space.expressions.operations import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    NotColumnwiseError,
    broadcast,
)
from tunesmith.space.value import Value, quote

MAX_LENGTH = 4000
MAX_DEPTH = 100

_ALLOWED = (
    "use parameters, numbers, strings, arithmetic, comparisons, and/or/not, in, "
    + ", ".join(FUNCTIONS)
)

# Errors of a well-formed expression on values of the wrong type.
_FAILURES = (ArithmeticError, TypeError, ValueError, IndexError)


class Expression:
    """A parsed condition. Raises SpaceError that names a part which is not allowed."""

    def __init__(self, text: str, root: Node | None = None) -> None:
        self.text = text
        self.root = _Reader(text).read() if root is None else root

    @cached_property
    def conjuncts(self) -> tuple[Expression, ...]:
        """The conditions that it joins by ``and``; none if that is not what it does."""
        root = self.root
        if not isinstance(root, Logic) or not root.all_of:
            return ()
        parts = [Expression(self.text, operand) for operand in root.operands]
        return tuple(leaf for part in parts for leaf in part.conjuncts or (part,))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters it reads, in alphabetical order."""
        return tuple(sorted(self.root.names))

    def evaluate(self, scope: Mapping[str, Value]) -> object:
        """The expression's value for these values of its names.

        Raises SpaceError if it has none: division by zero, or text compared with a number.
        """
        try:
            return self.root.scalar(scope)
        except _FAILURES as error:
            given = ", ".join(f"{name}={quote(scope[name])}" for name in self.names)
            raise SpaceError(f"{quote(self.text)} has no value for {given}: {error}") from error

    def evaluate_columns(self, frame: Frame, bounds: Mapping[str, float]) -> Array | None:
        """Whether it holds in each row; None if arrays would not give exactly Python's results.

        ``bounds`` is the largest absolute value of each name.
        """
        try:
            self.root.bound(bounds)
            with np.errstate(divide="raise", invalid="raise", over="ignore", under="ignore"):
                return broadcast(self.root.column(frame), frame.rows).astype(bool)
        except (NotColumnwiseError, *_FAILURES):
            return None


class _Reader:
    """Turns text into nodes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> Node:
        if not isinstance(self._text, str):
            raise SpaceError(f"{quote(self._text)} is not an expression: give it as text")
        if len(self._text) > MAX_LENGTH:
            raise self._error(f"{len(self._text)} characters: shorten it to {MAX_LENGTH}")
        try:
            tree = ast.parse(self._text.strip(), mode="eval")
        except SyntaxError as error:
            raise self._error(f"not Python syntax: {error.msg}") from error
        except (ValueError, MemoryError, RecursionError) as error:
            raise self._error("cannot be parsed: simplify it") from error
        root = self._node(tree.body, MAX_DEPTH)
        if isinstance(root, Sequence):
            raise self._error("a list is always true: join conditions with 'and'")
        return root

    def _node(self, tree: ast.expr, depth: int) -> Node:
        if not depth:
            raise self._error(f"nested more than {MAX_DEPTH} deep: split it")
        node = self._inner(tree, lambda part: self._node(part, depth - 1))
        if not node.names and not isinstance(node, Literal | Sequence):
            # Fold constants now, so that one without a value is an error at once.
            try:
                return Literal(node.scalar({}))
            except _FAILURES as error:
                raise self._error(f"{self._source(tree)} has no value: {error}") from error
        return node

    def _inner(self, tree: ast.expr, read: Callable[[ast.expr], Node]) -> Node:
        """The node of ``tree``; ``read`` makes the nodes of its parts."""
        node: Node
        match tree:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                if value in (float("inf"), float("-inf")):
                    raise self._error("a number that is too large")
                node = Literal(value)
            case ast.Name(id=name) if not name.startswith("__"):
                node = Name(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                node = Sequence(operands=tuple(map(read, parts)))
            case ast.Subscript(value=ast.Name(id=name), slice=place) if not name.startswith("__"):
                node = Part(name, self._index(place, read(place)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                node = Arithmetic(operator.sub, operands=(Literal(0), read(operand)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node = Not(operands=(read(operand),))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                node = Arithmetic(ARITHMETIC[type(op)], operands=(read(left), read(right)))
            case ast.BoolOp(op=op, values=parts):
                node = Logic(isinstance(op, ast.And), operands=tuple(map(read, parts)))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in COMPARISONS for op in ops
            ):
                nodes = tuple(map(read, (left, *others)))
                functions = [COMPARISONS[type(op)] for op in ops]
                node = Comparison(tuple(zip(functions, nodes[1:], strict=True)), operands=nodes)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and (
                len(args) == 1 or (args and name in ("max", "min"))
            ):
                node = Call(FUNCTIONS[name], operands=tuple(map(read, args)))
            case _:
                raise self._error(f"{self._source(tree)} is not allowed: {_ALLOWED}")
        return node

    def _index(self, tree: ast.expr, index: Node) -> int:
        if isinstance(index, Literal) and type(index.value) is int:
            return index.value
        raise self._error(f"{self._source(tree)} is not an index: use a whole number")

    def _source(self, tree: ast.expr) -> str:
        return quote(ast.get_source_segment(self._text.strip(), tree) or type(tree).__name__)

    def _error(self, problem: str) -> SpaceError:
        return SpaceError(f"expression {quote(self._text)}: {problem}")
