"""LLVM's data on processors, through TVM's C interface (``tvm/ffi/c_api.h``).

The first query takes 0.05 s, others 2 to 4 ms. Importing TVM takes 1 s, and 3 s with PyTorch, which
it imports; a process that only searches needs neither. A later import of TVM uses the libraries
that are loaded here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import re
from collections.abc import Iterable
from ctypes import POINTER, byref, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, TunesmithError

# Package and library, each after those it depends on.
_RUNTIME = (("tvm_ffi", "tvm_ffi"), ("tvm", "tvm_runtime"))
_COMPILER = ("tvm", "tvm_compiler")
_SORTING = ("tvm", "tvm_runtime_extra")

# Values of TVMFFITypeIndex. Those from _FIRST_OBJECT on are reference-counted objects.
_NONE, _RAW_STRING, _SMALL_STRING, _FIRST_OBJECT = 0, 8, 11, 64
GENERIC = "generic"
"""LLVM's name of a processor that has only what all of its architecture have."""

# LLVM's names of the features that it uses in any code for a processor that has them: vectors,
# bits, more registers (APX), and the versions of Arm. Virtual machines hide many others, for system
# software; and AMX, which no program of ours uses. ``tunesmith.target`` says which of these are
# recorded with a kernel.
_IN_ANY_CODE = re.compile(
    r"s{2,3}e\d|avx|fma|f16c|bmi|xop$|tbm$|movbe$|popcnt$|lzcnt$|gfni$"
    r"|egpr$|ndd$|ccmp$|nf$|cf$|zu$|ppx$|push2pop2$"
    r"|neon|sve|sme|dotprod|i8mm|bf16|fullfp16|sha[23]$|v[89]"
)

# Bytes of an object's header: two reference counts, its type and its deleter (TVMFFIObject).
_OBJECT_HEADER = 24


class _Value(ctypes.Structure):
    """``TVMFFIAny``; ``bits`` is a pointer, or the characters of a small string."""

    _fields_ = (("kind", c_int32), ("length", c_uint32), ("bits", c_uint64))


class _Bytes(ctypes.Structure):
    """``TVMFFIByteArray``."""

    _fields_ = (("data", c_void_p), ("size", c_size_t))


@lru_cache(maxsize=1)
def host_processor() -> str:
    """LLVM's name of this machine's processor, such as ``znver4``, or of the one most like it whose
    code runs here: a virtual machine may hide some of its instructions."""
    named, here = named_processor(), host_features()
    usual = features(named)
    if here == usual:
        return named
    runs = [
        name
        for name in sorted(processors())
        if runs_64_bit_code(name) and set(filter(_IN_ANY_CODE.match, features(name))) <= here
    ]
    return min(runs, key=lambda name: len(features(name) ^ usual), default=GENERIC)


@lru_cache(maxsize=1)
def host_features() -> frozenset[str]:
    """LLVM's names of the features of this machine's processor, without those that are hidden."""
    told = known_features()
    return frozenset(
        name
        for name in features(named_processor())
        if told.get(name, True) or not _IN_ANY_CODE.match(name)
    )


def named_processor() -> str:
    """LLVM's name of this machine's processor by its family and model alone."""
    return str(_call("target.llvm_get_system_cpu", read=_text))


def known_features() -> dict[str, bool]:
    """Whether this machine has a feature, by LLVM's names of those that LLVM looks for."""
    found = _call("tvm.codegen.llvm.GetHostCPUFeatures")
    graph = json.loads(_call("ffi.ToJSONGraphString", found, _Value(_NONE), read=_text))
    _release(found)
    # Objects refer to others by their place: a map to its keys and values in turn, and these, which
    # are TVM's integers, to a plain one.
    parts = [node.get("data") for node in graph["nodes"]]
    entries = parts[graph["root_index"]]
    keys, values = entries[::2], entries[1::2]
    return {
        str(parts[key]): bool(parts[parts[value]["value"]])
        for key, value in zip(keys, values, strict=True)
    }


def runs_64_bit_code(processor: str, triple: str | None = None) -> bool:
    """Whether a processor is a 64-bit one. For others LLVM would abort the process."""
    known = features(processor, triple)
    return "64bit" in known or "64bit-mode" not in known  # names of x86 features


@lru_cache(maxsize=8)
def processors(triple: str | None = None) -> frozenset[str]:
    """The names of all processors that LLVM knows, of a platform or this machine's."""
    some = named_processor() if triple is None else GENERIC
    return frozenset(_ask("target.llvm_get_cpu_archlist", some, triple))


@lru_cache(maxsize=256)
def features(processor: str, triple: str | None = None) -> frozenset[str]:
    """LLVM's names of a processor's features; ``triple`` is its platform if not this machine's."""
    return frozenset(_ask("target.llvm_get_cpu_features", processor, triple))


def _ask(function: str, processor: str, triple: str | None) -> Iterable[str]:
    """The names that a TVM function returns for a processor: an array, or a map's keys."""
    platform = {} if triple is None else {"mtriple": triple}
    text = json.dumps({"kind": "llvm", "mcpu": processor, **platform})
    described = _call("ffi.json.Parse", _string(text.encode()))
    target = _call("target.Target", described)
    names = _call(function, target)
    listed: str = _call("ffi.json.Stringify", names, _Value(_NONE), read=_text)
    for value in (described, target, names):
        _release(value)
    return [str(name) for name in json.loads(listed)]


def _call(function: str, *arguments: _Value, read: Any = None) -> Any:
    """Call a global TVM function. The caller releases the result, unless ``read`` converts it."""
    tvm, name = library(), function.encode()
    found, result = c_void_p(), _Value()
    given = (_Value * len(arguments))(*arguments)
    text = ctypes.create_string_buffer(name)
    key = _Bytes(ctypes.addressof(text), len(name))
    # For an unknown function the call succeeds, but ``found`` is null.
    failed = tvm.TVMFFIFunctionGetGlobal(byref(key), byref(found)) or not found
    if failed or tvm.TVMFFIFunctionCall(found, given, len(arguments), byref(result)):
        raise TunesmithError(f"TVM's function {function} fails: reinstall TVM")
    tvm.TVMFFIObjectDecRef(found)
    if read is None:
        return result
    try:
        return read(result)
    finally:
        _release(result)


def _release(value: _Value) -> None:
    if value.kind >= _FIRST_OBJECT:
        library().TVMFFIObjectDecRef(value.bits)


def _string(text: bytes) -> _Value:
    value = _Value(_RAW_STRING)
    value.buffer = ctypes.create_string_buffer(text)  # keeps it alive as long as the value
    value.bits = ctypes.addressof(value.buffer)
    return value


def _text(value: _Value) -> str:
    if value.kind == _SMALL_STRING:
        return int(value.bits).to_bytes(8, "little")[: value.length].decode()
    held = _Bytes.from_address(value.bits + _OBJECT_HEADER)
    return ctypes.string_at(held.data, held.size).decode()


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Load all of TVM's libraries and return the one with the C interface."""
    tvm = load_runtime()
    _load(*_COMPILER)
    tvm.TVMFFIFunctionGetGlobal.argtypes = [POINTER(_Bytes), POINTER(c_void_p)]
    tvm.TVMFFIFunctionCall.argtypes = [c_void_p, POINTER(_Value), c_int32, POINTER(_Value)]
    tvm.TVMFFIObjectDecRef.argtypes = [c_void_p]
    return tvm


def load_runtime() -> ctypes.CDLL:
    """Load TVM's libraries without the compiler, which takes 100 MB, and return the one with the C
    interface."""
    interface, _ = (_load(*each) for each in _RUNTIME)
    return interface


def load_sorting() -> None:
    """Load TVM's functions that sort, after ``load_runtime``: networks may call them."""
    _load(*_SORTING)


def _load(package: str, name: str) -> ctypes.CDLL:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError("TVM is not installed: 'pip install tunesmith' brings it")
    path = Path(spec.submodule_search_locations[0], "lib", f"lib{name}.so")
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise TunesmithError(f"cannot load TVM ({error}): reinstall it") from error
