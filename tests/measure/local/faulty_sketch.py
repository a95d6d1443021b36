"""A sketch whose configs are candidates that misbehave, each in its own way.

The programs are real ones: they call the C library, or compute something else than they should.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

from tunesmith.errors import InstantiationError
from tunesmith.measurement import Outcome
from tunesmith.operators import Operator
from tunesmith.problem import MeasureSettings
from tunesmith.sketches.sketch import Sketch
from tunesmith.space import Categorical, Config, Ordinal, Space
from tunesmith.target import Target

_BLOCK = 64 << 20


def config(fault: str, number: int = 0) -> Config:
    """The config with that fault. The number only tells configs apart."""
    return Config({"fault": fault, "number": number})


class FaultySketch(Sketch):
    """``fault`` says what goes wrong while a small matmul is made, built, or run."""

    name: ClassVar[str] = "faulty"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return operator.name == "matmul"

    def space(self, operator: Operator, target: Target) -> Space:
        faults = ("none", "no_program", *BUILD_FAULTS, *RUN_FAULTS, *RESULT_FAULTS)
        return Space([Categorical("fault", faults), Ordinal("number", tuple(range(1000)))])

    def default(self, operator: Operator, target: Target) -> Config:
        return config("none")

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        import tvm
        from tvm import te

        fault = str(config["fault"])
        if fault == "no_program":
            return tvm.IRModule({})
        BUILD_FAULTS.get(fault, lambda: None)()
        *inputs, result = operator.compute()
        result = RESULT_FAULTS.get(fault, lambda right: right)(result)
        main = te.create_prim_func([*inputs, result])
        if fault in RUN_FAULTS:
            main = _with_calls(main, RUN_FAULTS[fault](*main.params))
        return tvm.IRModule({"main": main})


# -- faults while the program is made or built ----------------------------------------------------


def _schedule_error() -> None:
    import tvm
    from tvm import te

    a = te.placeholder((16, 16), name="a")
    body = te.create_prim_func([a, te.compute((16, 16), lambda i, j: a[i, j] + 1.0, name="b")])
    tvm.s_tir.Schedule(body).get_sblock("no such block")


def _instantiation_error() -> None:
    raise InstantiationError("the tile is larger than the matrix")


def _allocate_in_build() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1)) * _BLOCK)


def _spin() -> None:
    while True:
        pass


def _kill_worker_in_build(after: float = 0.0) -> None:
    time.sleep(after)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def _leave_a_process() -> None:
    """Start a process that leaves the trial's group and session, and sleeps."""
    subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True)


SLEEPER = "import time; time.sleep(2401.125)"


def _leave_a_process_and_spin() -> None:
    _leave_a_process()
    _spin()


def _python_error() -> None:
    raise ZeroDivisionError("by zero\nin two lines")


BUILD_FAULTS: dict[str, Callable[[], None]] = {
    "instantiation_error": _instantiation_error,
    "schedule_error": _schedule_error,
    "python_error": _python_error,
    "system_exit": lambda: sys.exit("bye"),
    "exit_in_build": lambda: os._exit(3),
    "segfault_in_build": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hang_build": lambda: time.sleep(60),
    "spin_build": _spin,
    "allocate_in_build": _allocate_in_build,
    "kill_worker_in_build": _kill_worker_in_build,
    "kill_worker_late": lambda: _kill_worker_in_build(after=0.1),
    "slow_build": lambda: time.sleep(0.4),
    "leave_a_process": _leave_a_process,
    "leave_a_process_and_spin": _leave_a_process_and_spin,
}


# -- faults of the program itself -----------------------------------------------------------------


def _with_calls(main: Any, calls: list[Any]) -> Any:
    """The program that makes these calls before it does its work."""
    from tvm import tirx

    realize, block = main.body, main.body.block
    body = tirx.SeqStmt([*(tirx.Evaluate(call) for call in calls), block.body])
    block = type(block)(
        block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init
    )
    return main.with_body(type(realize)(realize.iter_values, realize.predicate, block))


def _call(result: str, function: str, *arguments: Any) -> Any:
    from tvm import tirx

    return tirx.call_extern(result, function, *arguments)


def _long(number: int) -> Any:
    from tvm import tirx

    return tirx.const(number, "int64")


def _allocate(*_: Any) -> list[Any]:
    # Not by malloc: the compiler knows that function, and that nobody needs its memory here.
    size = _long(_BLOCK)
    block = _call("handle", "mmap", _long(0), size, 3, 0x22, -1, _long(0))
    return [_call("handle", "memset", block, 1, size)] * 64


def _wild_write(size: int) -> Callable[..., list[Any]]:
    """Write so many bytes from the start of each input; they have 1024."""

    def calls(data: Any, weight: Any, result: Any) -> list[Any]:
        from tvm import tirx

        return [
            _call("handle", "memset", tirx.address_of(start[0, 0]), 0x5A, _long(size))
            for start in (data, weight)
        ]

    return calls


def _segfault(data: Any, weight: Any, result: Any) -> list[Any]:
    """Write a terabyte away from the result."""
    from tvm import tirx

    place = _call("handle", "memmem", tirx.address_of(result[0, 0]), _long(1 << 40), "", _long(0))
    return [_call("handle", "memset", place, 0, _long(1 << 40))]


def _signal_worker(number: int, *then: str) -> Callable[..., list[Any]]:
    return lambda *_: [
        _call("int32", "kill", _call("int32", "getppid"), number),
        *(_call("int32", function) for function in then),
    ]


RUN_FAULTS: dict[str, Callable[..., list[Any]]] = {
    "segfault": _segfault,
    "abort": lambda *_: [_call("int32", "abort")],
    "exit_in_run": lambda *_: [_call("int32", "exit", 0)],
    "hang_run": lambda *_: [_call("int32", "pause")],
    "allocate": _allocate,
    "write_to_inputs": _wild_write(1024),
    "write_beyond_inputs": _wild_write(1 << 16),
    "garbage": lambda *_: (
        [_call("int32", "puts", "garbage \x01\x02"), _call("int32", "perror", "garbage")] * 500
    ),
    "garbage_to_server": lambda *_: [
        _call("int64", "write", descriptor, "{]\n", _long(3)) for descriptor in range(3, 40)
    ],
    "close_descriptors": lambda *_: [
        *(_call("int32", "close", descriptor) for descriptor in range(40)),
        _call("int32", "pause"),
    ],
    "unknown_symbol": lambda *_: [_call("int32", "no_such_function_anywhere")],
    # Once: a second signal may find the worker gone, and then kills the worker's own parent.
    "kill_worker": _signal_worker(signal.SIGKILL, "pause"),
    "stop_worker": _signal_worker(signal.SIGSTOP),
}


def _changed(change: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """A result with each element changed: by its row, its column, and its right value."""

    def of(right: Any) -> Any:
        from tvm import te

        return te.compute(right.shape, lambda i, j: change(i, j, right[i, j]), name="changed")

    return of


def _one_nan(i: Any, j: Any, right: Any) -> Any:
    from tvm import tirx

    return tirx.if_then_else(i + j == 3, right * tirx.const(float("nan"), "float32"), right)


def _by_way_of_a_gigabyte(right: Any) -> Any:
    from tvm import te

    huge = te.compute((1 << 28,), lambda i: right[i % 16, i // 16 % 16], name="huge")
    return te.compute(right.shape, lambda i, j: huge[j * 16 + i], name="changed")


RESULT_FAULTS: dict[str, Callable[[Any], Any]] = {
    "huge_buffer": _by_way_of_a_gigabyte,
    "wrong": _changed(lambda i, j, right: right + 1.0),
    "negated": _changed(lambda i, j, right: -right),
    "nan": _changed(_one_nan),
}


# -- what comes of them ---------------------------------------------------------------------------

SETTINGS = MeasureSettings(
    build_timeout=2.0, run_timeout=1.0, memory_limit=256 << 20, min_repeat_time=0.001, workers=2
)
"""Short limits, which the faults are tried with."""

FAULTS: dict[str, tuple[Outcome, str]] = {
    "instantiation_error": (Outcome.INSTANTIATION_ERROR, "the tile is larger than the matrix"),
    "schedule_error": (Outcome.INSTANTIATION_ERROR, "find a block with the name: no such block"),
    "python_error": (Outcome.UNKNOWN_ERROR, "ZeroDivisionError: by zero in two lines"),
    "system_exit": (Outcome.UNKNOWN_ERROR, "SystemExit: bye"),
    "no_program": (Outcome.COMPILE_HOST, "Error"),
    "exit_in_build": (Outcome.COMPILE_HOST, "exit status 3"),
    "segfault_in_build": (Outcome.COMPILE_HOST, "killed by SIGSEGV"),
    "hang_build": (Outcome.BUILD_TIMEOUT, "not done after 2 s"),
    "spin_build": (Outcome.BUILD_TIMEOUT, "not done after 2 s"),
    "allocate_in_build": (Outcome.COMPILE_HOST, "out of memory (limit 256 MiB)"),
    "segfault": (Outcome.RUNTIME_DEVICE, "killed by SIGSEGV"),
    "abort": (Outcome.RUNTIME_DEVICE, "killed by SIGABRT"),
    "unknown_symbol": (Outcome.RUNTIME_DEVICE, "no_such_function_anywhere"),
    "exit_in_run": (Outcome.RUNTIME_DEVICE, "exit status 0"),
    "hang_run": (Outcome.RUN_TIMEOUT, "not done after 1 s"),
    "allocate": (Outcome.RUNTIME_DEVICE, "out of memory (limit 256 MiB)"),
    "huge_buffer": (Outcome.RUNTIME_DEVICE, "out of memory (limit 256 MiB)"),
    "write_to_inputs": (Outcome.WRONG_ANSWER, "256 of 256 elements wrong"),
    "wrong": (Outcome.WRONG_ANSWER, "256 of 256 elements wrong, the largest error 1 at"),
    "negated": (Outcome.WRONG_ANSWER, "256 of 256 elements wrong"),
    "nan": (Outcome.WRONG_ANSWER, "4 of 256 elements wrong, 4 of them NaN or never written"),
    "garbage_to_server": (Outcome.UNKNOWN_ERROR, "sent garbage to the server"),
    "close_descriptors": (Outcome.RUNTIME_DEVICE, "killed by SIGKILL"),
}
"""What must come of each fault but those of whole servers: the class, and part of the message."""
