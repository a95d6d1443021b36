"""Kernels in LLVM-IR as what is evolved: a Numba function, or a module of any origin."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.calls import Bind
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.harness import CallOnce, Tests
from tunesmith.evolve.evaluation.subject import Built
from tunesmith.evolve.evaluation.timing import (
    PAIRS,
    REVISION,
    Compared,
    Golden,
    Goldens,
    Pairs,
    compare,
    goldens_of,
)
from tunesmith.evolve.llvm.build import Machine, llvm, object_file, simplified
from tunesmith.evolve.llvm.calling import Convention
from tunesmith.evolve.llvm.numba_compile import numba_code
from tunesmith.evolve.llvm.representation import LLVMCode
from tunesmith.measure.failure import FailedTrialError
from tunesmith.measure.identity import digest
from tunesmith.measurement import Outcome

# How often two builds of an original are compared.
_LOOKS = 3


@dataclass(frozen=True)
class LLVMKernel:
    """A function ``entry`` of a module of LLVM-IR, from clang or TVM, say.

    It is called by C's conventions with numbers, and pointers for arrays, unless there is another
    ``convention``. Another function may be ``edited``, which it calls. ``libraries`` are files of
    shared libraries that it needs, ``pairs`` is how often tests are repeated. It runs on so many
    ``threads``.
    """

    text: str
    entry: str
    convention: Convention | None = None
    edited: str | None = None
    libraries: tuple[str, ...] = ()
    name: str | None = None
    pairs: Pairs = PAIRS
    threads: int = 1

    def subject(self, tests: Tests) -> LLVMSubject:
        """What the search works on.

        Raises ``UsageError`` for a module that does not parse, and a function that is not there;
        ``MissingDependencyError`` without llvmlite.
        """
        text = simplified(self.text, self.entry)
        convention = self.convention or LLVMCode(text, self.entry).c_convention
        return LLVMSubject(
            name=self.name or self.entry,
            representation=LLVMCode(text, self.edited or self.entry),
            entry=self.entry,
            convention=convention,
            tests=tests,
            pairs=self.pairs,
            libraries=self.libraries,
            threads=self.threads,
        )


@dataclass(frozen=True)
class NumbaKernel:
    """A function of Numba, or one of Python, which Numba compiles.

    The first test that is a tuple of arguments says for which types; where there is none, ``types``
    are arguments of these types. ``options`` are those of ``numba.njit``; a function that was made
    by it has its own.
    """

    function: Any
    types: Sequence[Any] | None = None
    options: Mapping[str, Any] | None = None
    pairs: Pairs = PAIRS

    def subject(self, tests: Tests) -> LLVMSubject:
        """What the search works on.

        Raises ``UsageError`` where Numba cannot compile it, or nothing says for which types;
        ``MissingDependencyError`` without it.
        """
        types = self.types
        if types is None:
            calls = [each for each in tests.search if isinstance(each, CallOnce)]
            if not calls:
                raise UsageError(
                    "no test is a tuple of arguments: name by types= what the function is given"
                )
            types = calls[0].arguments
        code = numba_code(self.function, types, self.options)
        representation = LLVMCode(code.text, code.entry)
        return LLVMSubject(
            name=code.entry,
            representation=representation,
            entry=code.entry,
            convention=code.convention,
            tests=tests,
            pairs=self.pairs,
            other=code.optimized,
        )


@dataclass(frozen=True)
class LLVMSubject:
    """A function ``entry`` that is evolved, and its tests.

    ``other`` is the same function as another compiler has optimised it: the faster one of both is
    the original.
    """

    name: str
    representation: LLVMCode
    entry: str
    convention: Convention
    tests: Tests
    pairs: Pairs
    libraries: tuple[str, ...] = ()
    other: str | None = None
    threads: int = 1

    @cached_property
    def digest(self) -> str:
        told = [self.representation.digest, self.tests.digest, llvm().llvm_version_info]
        return digest([*told, self.threads, REVISION])

    def evaluator(self) -> LLVMEvaluator:
        return LLVMEvaluator(self)

    def callable(self, text: str) -> Any:
        """A variant as a function of Python, which is called as the original is."""
        machine, bind = _built(self, text)
        return LLVMFunction(self.name, machine, bind)

    @property
    def endings(self) -> tuple[str, ...]:
        return (".ll", ".o")

    def save(self, text: str, path: Path) -> None:
        """Write a variant: as LLVM-IR to NAME.ll, as machine code to NAME.o.

        Raises ``UsageError`` for another ending.
        """
        if path.suffix == ".ll":
            path.write_text(text, encoding="utf-8")
        elif path.suffix == ".o":
            path.write_bytes(object_file(text))
        else:
            raise UsageError(f"{path}: a variant is written to NAME.ll or NAME.o")


class LLVMFunction:
    """A variant that has passed its tests, called in this process without any guard."""

    def __init__(self, name: str, machine: Machine, bind: Bind) -> None:
        self.__name__ = name
        self._machine = machine
        self._bind = bind

    def __call__(self, *arguments: Any) -> Any:
        returned, _seconds = self._bind(arguments)()
        return returned


def _built(subject: LLVMSubject, text: str, *, optimized: bool = False) -> tuple[Machine, Bind]:
    machine = Machine(text, subject.entry, subject.libraries, optimized=optimized)
    return machine, subject.convention.bound(machine.address)


@dataclass(frozen=True)
class Prepared:
    """Whether the ``other`` build is the original, and what that gives."""

    other: bool
    goldens: Goldens


class LLVMEvaluator:
    """Builds variants, and runs them beside the original.

    This process builds the original, and never runs it: a child has nothing of it in its memory.
    """

    def __init__(self, subject: LLVMSubject) -> None:
        self._subject = subject
        self._builds = [_built(subject, subject.representation.apply([]))]
        if subject.other is not None:
            self._builds.append(_built(subject, subject.other, optimized=True))

    def prepare(self) -> Prepared:
        tests = self._subject.tests
        own = goldens_of(self._builds[0][1], tests)
        if len(self._builds) == 1:
            return Prepared(False, own)
        other = self._builds[1][1]
        ratios = []
        for _ in range(_LOOKS):
            # They may differ in the last bits, which is wrong only where outputs must be the same.
            found = self._compared(other, own.search, heldout=False, limit=sys.float_info.max)
            ratios.append(found.ratio)
        if statistics.median(ratios) >= 1:
            return Prepared(False, own)
        return Prepared(True, goldens_of(other, tests))

    def _compared(
        self, variant: Bind, golden: Golden, *, heldout: bool, limit: float, other: bool = False
    ) -> Compared:
        tests = self._subject.tests
        return compare(
            self._builds[other][1],
            variant,
            tests.heldout if heldout else tests.search,
            tests.error_of,
            golden,
            limit=limit,
            pairs=self._subject.pairs,
        )

    def build(self, text: str) -> Built:
        try:
            machine, bind = _built(self._subject, text)
        except (UsageError, RuntimeError) as error:
            raise FailedTrialError(Outcome.COMPILE_HOST, str(error)) from error
        return Built((machine, bind), machine.code)

    def evaluate(
        self, built: Built, prepared: Prepared, *, heldout: bool, limit: float
    ) -> Evaluation:
        _machine, variant = built.program
        golden = prepared.goldens.heldout if heldout else prepared.goldens.search
        found = self._compared(variant, golden, heldout=heldout, limit=limit, other=prepared.other)
        return Evaluation.of(found)
