"""A Numba function as LLVM-IR, before Numba's own optimisation.

Run as ``python -m tunesmith.evolve.llvm.numba_compile``, in a process of its own: Numba decides as
it starts whether it optimises.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import MissingDependencyError, UsageError, describe
from tunesmith.evolve.llvm.build import reduced, simplified
from tunesmith.evolve.llvm.calling import ArrayType, NumbaConvention

_TIMEOUT = 120.0
# Lines of the source alone: else values would stay in memory, and calls would not be inlined.
_LINES = {"debug": True, "_dbg_optnone": False, "_dbg_extend_lifetimes": False}


@dataclass(frozen=True)
class NumbaCode:
    """The module of a function, its name there, and how it is called. ``optimized`` is the module
    that Numba itself makes machine code of."""

    text: str
    optimized: str
    entry: str
    convention: NumbaConvention


def numba_code(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any] | None = None
) -> NumbaCode:
    """Compile a function of Numba, or one of Python, for the types of these arguments.

    Raises ``UsageError`` where Numba cannot, ``MissingDependencyError`` without it.
    """
    import cloudpickle

    try:
        import numba
    except ImportError as error:
        raise MissingDependencyError(
            "evolving a Numba function needs Numba: pip install 'tunesmith[evolve]'"
        ) from error
    plain = getattr(function, "py_func", function)
    options = dict(options or getattr(function, "targetoptions", {}))
    types = [numba.typeof(each) for each in arguments]
    named = f"{plain.__name__}({', '.join(map(str, types))})"
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "tunesmith.evolve.llvm.numba_compile"],
            input=cloudpickle.dumps((plain, options, types)),
            capture_output=True,
            env={
                **os.environ,
                "NUMBA_OPT": "0",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"Numba has not compiled {named} in {_TIMEOUT:g} s: evolve a smaller function"
        ) from error
    if ran.returncode:
        words = ran.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise UsageError(f"Numba cannot compile {named}: {words[-1]}")
    text, mangled, taken, result = pickle.loads(ran.stdout)
    entry = str(plain.__name__)
    optimized, own_name, _ = _compiled(plain, options, types)
    return NumbaCode(
        simplified(text, mangled, entry),
        reduced(optimized, own_name, entry),
        entry,
        NumbaConvention(taken, result),
    )


def _compiled(plain: Any, options: Mapping[str, Any], types: Sequence[Any]) -> tuple[str, str, Any]:
    """The module of a function as Numba makes it in this process, the function's name in it, and
    the type of its result."""
    import numba

    dispatcher = numba.jit(**{**options, "nopython": True})(plain)
    dispatcher.compile(tuple(types))
    (compiled,) = dispatcher.overloads.values()
    text = dispatcher.inspect_llvm(dispatcher.signatures[0])
    return str(text), str(compiled.fndesc.llvm_func_name), compiled.signature.return_type


def main() -> int:
    """Compile what standard input brings; the result goes to standard output."""
    import numba

    plain, options, types = pickle.load(sys.stdin.buffer)
    try:
        text, entry, returns = _compiled(plain, {**options, **_LINES}, types)
        arguments = tuple(_argument(each) for each in types)
        if isinstance(returns, numba.types.Array):
            raise UsageError(f"it returns a {returns}: a kernel returns a number or nothing")
        result = "" if returns == numba.types.none else _scalar(returns)
    except Exception as error:
        print(describe(error), file=sys.stderr)
        return 1
    sys.stdout.buffer.write(pickle.dumps((text, entry, arguments, result)))
    return 0


def _argument(type_: Any) -> str | ArrayType:
    import numba

    if isinstance(type_, numba.types.Array):
        return ArrayType(str(type_.dtype), type_.ndim, type_.layout)
    return _scalar(type_)


def _scalar(type_: Any) -> str:
    """The name of the type of ``ctypes`` for a number."""
    import numba

    if type_ == numba.types.boolean:
        return "c_bool"
    if isinstance(type_, numba.types.Integer):
        return f"c_{'' if type_.signed else 'u'}int{type_.bitwidth}"
    if isinstance(type_, numba.types.Float):
        return {32: "c_float", 64: "c_double"}[type_.bitwidth]
    raise UsageError(f"a kernel takes arrays and numbers, not a {type_}")


if __name__ == "__main__":
    sys.exit(main())
