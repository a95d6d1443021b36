"""Tests of a kernel: what it is called with, and how wrong its outputs may be."""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError, describe, unknown_name

Array = npt.NDArray[Any]

Kernel = Callable[..., Any]
"""What a test calls, as the original is called; arrays are changed in place."""

Outputs = Sequence[Array]

ErrorOf = Callable[[Outputs, Outputs], float]
"""Of outputs and those of the original: how wrong they are; less is better. It may look at the
outputs alone, 1 - accuracy, or be negative for what is better than the original."""


Test = Callable[[Kernel], Any]
"""A function that is given a kernel, may call it as often as it likes, and returns what is
compared: an array, a number, or several of them. It must do the same each time."""


class CallOnce:
    """The test that calls a kernel once with arguments; compared are the arrays among these after
    it, and what it returns."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = tuple(arguments)

    def told(self) -> bytes:
        """What tells it from others."""
        return b"".join(
            f"{each.dtype.str} {each.shape} {each.strides} ".encode() + each.tobytes()
            for each in map(np.asarray, self.arguments)
        )

    def __call__(self, kernel: Kernel) -> Any:
        given = [
            each.copy(order="K") if isinstance(each, np.ndarray) else each
            for each in self.arguments
        ]
        returned = kernel(*given)
        arrays = [each for each in given if isinstance(each, np.ndarray)]
        if returned is None:
            return arrays
        return [*arrays, *(returned if isinstance(returned, tuple) else [returned])]


def as_test(value: Any) -> Test:
    """A test of a function of a kernel, or of the arguments of a call.

    Raises ``UsageError`` for what is neither.
    """
    if callable(value):
        return value  # type: ignore[no-any-return] # of what it takes nothing is known
    if isinstance(value, tuple | list):
        return CallOnce(value)
    raise UsageError(
        f"a test is a function of the kernel or a tuple of arguments, not {type(value).__name__}"
    )


def as_outputs(value: Any) -> list[Array]:
    """What a test returned as arrays."""
    if isinstance(value, Mapping):
        value = [value[name] for name in sorted(value)]
    if isinstance(value, tuple | list):
        return [np.array(each) for each in value]
    return [np.array(value)]


def relative(outputs: Outputs, golden: Outputs) -> float:
    """The largest deviation of an element as a share of the size of what it should be; infinite for
    one that should be 0 and is not."""
    return _largest(outputs, golden, lambda difference, size: difference / size)


def absolute(outputs: Outputs, golden: Outputs) -> float:
    """The largest deviation of an element."""
    return _largest(outputs, golden, lambda difference, _: difference)


def exact(outputs: Outputs, golden: Outputs) -> float:
    """0 for outputs that are the same to the last bit, infinite for all others."""
    same = _alike(outputs, golden) and all(
        each.tobytes() == other.tobytes() for each, other in zip(outputs, golden, strict=True)
    )
    return 0.0 if same else math.inf


ERRORS: dict[str, ErrorOf] = {"relative": relative, "absolute": absolute, "exact": exact}


def _alike(outputs: Outputs, golden: Outputs) -> bool:
    kinds = ([(each.shape, each.dtype) for each in some] for some in (outputs, golden))
    return next(kinds) == next(kinds)


def _largest(outputs: Outputs, golden: Outputs, of: Callable[[Array, Array], Array]) -> float:
    """Infinite where shapes or types differ, and where something is NaN or infinite that should not
    be."""
    if not _alike(outputs, golden):
        return math.inf
    found = [0.0]
    for each, other in zip(outputs, golden, strict=True):
        kind = np.complex128 if np.iscomplexobj(other) else np.float64
        ours, theirs = each.astype(kind), other.astype(kind)
        with np.errstate(all="ignore"):
            # Large integers that differ may be the same floating-point number.
            same = (each == other) | (np.isnan(ours) & np.isnan(theirs))
            apart = np.abs(ours - theirs)
            shares = of(np.where(apart == 0.0, 1.0, apart), np.abs(theirs))
        shares = np.where(same, 0.0, np.where(np.isfinite(shares), shares, np.inf))
        found.append(float(shares.max(initial=0.0)))
    return max(found)


def checked_error(error: float) -> float:
    """An error that a user's function gave; infinite for NaN. Raises ``UsageError`` for what is no
    number, and for minus infinity, which nothing is better than."""
    try:
        value = float(error)
    except (TypeError, ValueError):
        raise UsageError(f"an error must be a number, not {error!r}") from None
    if value == -math.inf:
        raise UsageError("an error must be a number, not minus infinity")
    return math.inf if math.isnan(value) else value


@dataclass(frozen=True)
class Tests:
    """The tests of the ``search``, those that it never sees (``heldout``), and ``error_of``: how
    wrong outputs are."""

    __test__ = False

    search: Sequence[Test]
    heldout: Sequence[Test]
    error_of: ErrorOf = relative

    @classmethod
    def of(
        cls, search: Iterable[Any], heldout: Iterable[Any] = (), error: str | ErrorOf = relative
    ) -> Self:
        """Tests of values (see ``as_test``); without others, those held out are the same.

        Raises ``UsageError`` where there is none, where one is no test, and for an error of unknown
        name.
        """
        seen = [as_test(value) for value in search]
        if not seen:
            raise UsageError("there is no test: what a kernel must not change shows in tests alone")
        if isinstance(error, str):
            if error not in ERRORS:
                raise unknown_name("error", error, ERRORS)
            error = ERRORS[error]
        return cls(seen, [as_test(value) for value in heldout] or seen, error)

    @property
    def digest(self) -> str:
        """What tells them from others: of functions, their code and all of their modules.

        Raises ``UsageError`` for a test that cannot be sent to another process.
        """
        told = hashlib.sha256()
        for group in (self.search, self.heldout, [self.error_of]):
            told.update(f"{len(group)} tests ".encode())
            for test in group:
                each = test.told() if isinstance(test, CallOnce) else _told(test)
                told.update(f"{len(each)} bytes ".encode() + each)
        return told.hexdigest()[:16]


def _told(function: Any) -> bytes:
    """What tells a function, or an object that is called as one, from others. Another text of its
    module makes it another one, as what it calls may be there."""
    import cloudpickle

    module = sys.modules.get(function.__module__)
    try:
        source = inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError):  # of what was typed in
        source = ""
    code = getattr(function, "__code__", None)
    known = [source, getattr(function, "__qualname__", type(function).__qualname__)]
    state: Any = function
    if code is not None and source:  # which has the code: a pickle of it is not always the same
        cells = [each.cell_contents for each in function.__closure__ or ()]
        state = cells, function.__defaults__, function.__kwdefaults__
    try:
        return repr(known).encode() + bytes(cloudpickle.dumps(state))
    except Exception as error:
        raise UsageError(f"a test cannot be sent to another process: {describe(error)}") from error
