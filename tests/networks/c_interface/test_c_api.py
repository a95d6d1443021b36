"""Networks called from C and C++: with the folder of the examples, and with wrong arguments."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.c_interface.programs import STRICT, compile_c, run
from tests.networks.choices import defaults
from tests.networks.small import random_input, seeded, torch
from tunesmith.compiler import llvm
from tunesmith.errors import TunesmithError
from tunesmith.networks import CompiledNetwork, from_torch, load
from tunesmith.networks.c_interface import source
from tunesmith.networks.c_interface.folder import flags, write_folder
from tunesmith.networks.processors import needed_instructions
from tunesmith.target import Target, instructions

WORDS = 10


class Model(torch.nn.Module):  # type: ignore[misc]
    """Numbers and indices as inputs, and two results."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 8)
        self.embedding = torch.nn.Embedding(WORDS, 8)

    def forward(self, data: Any, words: Any) -> Any:
        hidden = torch.relu(self.linear(data))
        return self.embedding(words).sum(1) + hidden, hidden * 2


CHECKS = r"""
#include <stdio.h>
#include <tunesmith/network.h>

static TunesmithNetwork* network;

static void report(const char* what, int code) {
  const char* error = tunesmith_network_error(network);
  printf("%s: %d %s\n", what, code, error ? error : "no error");
}

static void transfer(const char* path, const char* mode, void* data, size_t bytes) {
  FILE* file = fopen(path, mode);
  size_t done = 0;
  if (file) done = mode[0] == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  if (done != bytes || fclose(file)) exit(9);
}

static int run(DLTensor* inputs, DLTensor* outputs) {
  return tunesmith_network_run(network, inputs, 2, outputs, 2);
}

static long long threads(void) {
  TVMFFIByteArray name = {"runtime.NumThreads", 18};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny found;
  memset(&found, 0, sizeof(found));
  if (TVMFFIFunctionGetGlobal(&name, &function)) exit(9);
  if (TVMFFIFunctionCall(function, NULL, 0, &found)) exit(9);
  TVMFFIObjectDecRef(function);
  return (long long)found.v_int64;
}

int main(void) {
  network = tunesmith_network_load("net.so");
  report("load", tunesmith_network_describe(network) == NULL);
  const TunesmithEntry* entry = tunesmith_network_entry(network, 3);
  if (!entry) return 8;
  report("entry", tunesmith_network_entry(network, 2) == NULL);
  /* One element behind a multiple of 64 bytes: inputs may start anywhere. */
  float *data = (float*)malloc(512) + 1, first[24], second[24], again[24];
  int64_t words[6];
  transfer("data.bin", "rb", data, 18 * sizeof(float));
  transfer("words.bin", "rb", words, sizeof(words));
  DLTensor inputs[2] = {tunesmith_tensor(&entry->inputs[0], data),
                        tunesmith_tensor(&entry->inputs[1], words)};
  DLTensor outputs[2] = {tunesmith_tensor(&entry->outputs[0], first),
                         tunesmith_tensor(&entry->outputs[1], second)};
  for (int call = 0; call < 3; ++call) {
    memset(first, 0xff, sizeof(first));
    memset(second, 0xff, sizeof(second));
    report("run", run(inputs, outputs));
  }
  transfer("first.bin", "wb", first, sizeof(first));
  transfer("second.bin", "wb", second, sizeof(second));
  printf("threads: %lld\n", threads());

  report("count", tunesmith_network_run(network, inputs, 1, outputs, 2));
  report("none", tunesmith_network_run(network, NULL, 0, NULL, 0));
  int64_t shape[2] = {2, 6}, narrow[2] = {3, 5}, strides[2] = {1, 3};
  DLTensor good = inputs[0];
  inputs[0].shape = shape;
  report("batch", run(inputs, outputs));
  inputs[0].shape = narrow;
  report("shape", run(inputs, outputs));
  inputs[0] = good;
  inputs[0].ndim = 1;
  report("rank", run(inputs, outputs));
  inputs[0] = good;
  inputs[0].dtype.bits = 64;
  report("type", run(inputs, outputs));
  inputs[0] = good;
  inputs[0].strides = strides;
  report("strides", run(inputs, outputs));
  inputs[0] = good;
  inputs[0].data = NULL;
  report("memory", run(inputs, outputs));
  inputs[0] = good;
  inputs[0].device.device_type = kDLCUDA;
  report("device", run(inputs, outputs));
  inputs[0] = good;
  outputs[1].shape = narrow;
  report("output", run(inputs, outputs));
  outputs[1].shape = (int64_t*)entry->outputs[1].shape;
  words[5] = 10;
  report("index", run(inputs, outputs));
  words[5] = -1;
  report("negative", run(inputs, outputs));

  transfer("words.bin", "rb", words, sizeof(words));
  int64_t whole[2] = {6, 1}; /* what dense means; a size of 1 has any stride */
  inputs[0].strides = whole;
  outputs[0].data = again;
  report("run", run(inputs, outputs));
  printf("same: %d\n", memcmp(first, again, sizeof(first)) == 0);
  tunesmith_network_free(network);
  tunesmith_network_free(NULL);
  printf("null: %s\n", tunesmith_network_error(NULL));
  return 0;
}
"""

EXPECTED = """\
load: 0 no error
entry: 1 this network is built for the batches 1, 3, not for 2
run: 0 no error
run: 0 no error
run: 0 no error
threads: {threads}
count: -1 this network has 2 inputs and 2 outputs, not 1 and 2
none: -1 this network is built for the batches 1, 3, not for -1
batch: -1 this network is built for the batches 1, 3, not for 2
shape: -1 data must be float32 of shape (3, 6), not float32 of shape (3, 5)
rank: -1 data must be float32 of shape (3, 6), not float32 of shape (3)
type: -1 data must be float32 of shape (3, 6), not float64 of shape (3, 6)
strides: -1 data must be dense and in C order: copy it
memory: -1 data has no memory: its data is NULL
device: -1 data must be in main memory: copy it there
output: -1 output1 must be float32 of shape (3, 8), not float32 of shape (3, 5)
index: -1 words must be indices from 0 to 9, and one is 10
negative: -1 words must be indices from 0 to 9, and one is -1
run: 0 no error
same: 1
null: out of memory
"""

KNOWN = r"""
#include <stdio.h>
#include <tunesmith/instructions.h>

int main(int count, char** names) {
  for (int i = 1; i < count; ++i) printf("%d\n", tunesmith_find_instructions(names[i]));
  return 0;
}
"""


@pytest.fixture(scope="module")
def compiled() -> CompiledNetwork:
    example = random_input(3, 6), torch.zeros(3, 2, dtype=torch.int64)
    network = from_torch(seeded(Model()), example, Target(cores=2), batches=(1, 3))
    return network.built(defaults(network))


@pytest.fixture(scope="module")
def folder(compiled: CompiledNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the examples, with a network and inputs for it."""
    made = tmp_path_factory.mktemp("example")
    write_folder(made)
    compiled.save(made / "net.so")
    data, words = given()
    data.tofile(made / "data.bin")
    words.tofile(made / "words.bin")
    return made


def given() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random((3, 6), np.float32), rng.integers(0, WORDS, (3, 2))


def test_calls_from_c(c_compiler: str, folder: Path, compiled: CompiledNetwork) -> None:
    program = compile_c(c_compiler, folder, CHECKS, *flags(folder))
    ran = run(folder, program)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == EXPECTED.format(threads=min(2, len(os.sched_getaffinity(0))))
    for name, expected in zip(("first", "second"), compiled(*given()), strict=True):
        found = np.fromfile(folder / f"{name}.bin", np.float32).reshape(3, 8)
        np.testing.assert_array_equal(found, expected)


def test_the_example_in_c(c_compiler: str, folder: Path, compiled: CompiledNetwork) -> None:
    if shutil.which("make") is None:
        pytest.skip("no make on this machine")
    strict = f"CFLAGS={' '.join(STRICT)}"
    made = run(folder, "make", f"CC={c_compiler}", strict, "example-c")
    assert made.returncode == 0, made.stderr
    data = given()[0]
    ran = run(folder, "./example-c", "net.so", 3, "data.bin", "result.bin")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "input data: float32 3 6",
        "input words: int64 3 2",
        "output output0: float32 3 8",
        "output output1: float32 3 8",
    ]
    result = np.fromfile(folder / "result.bin", np.float32).reshape(3, 8)
    expected = compiled(data, np.zeros((3, 2), np.int64))[0]
    np.testing.assert_array_equal(result, expected)
    for words, complaint in [
        (("none.so",), "cannot load ./none.so: "),
        (("Makefile",), "cannot load ./Makefile: "),
        (("./lib/libtvm_ffi.so",), "./lib/libtvm_ffi.so is no network's library, or one of "),
        (("net.so", 2), "this network is built for the batches 1, 3, not for 2"),
        (("net.so", 3, "words.bin"), "cannot read words.bin: it should have 72 bytes"),
        ((), "usage: ./example-c net.so"),
    ]:
        ran = run(folder, "./example-c", *words)
        assert ran.returncode in (1, 2)
        assert ran.stderr.startswith(complaint)
        assert ran.stderr.count("\n") == 1


def test_the_example_in_c_plus_plus(folder: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or shutil.which("make") is None:
        pytest.skip("no make, or no C++ compiler on this machine (g++, clang++)")
    strict = f"CXXFLAGS={' '.join(STRICT)}"
    made = run(folder, "make", f"CXX={compiler}", strict, "example-cpp")
    assert made.returncode == 0, made.stderr
    ran = run(folder, "./example-cpp", "net.so", 1, 3)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.fullmatch(r"[\d.e-]+ ms a call, the median of 3\n", ran.stdout)
    ran = run(folder, "./example-cpp", "net.so", 2)
    assert (ran.returncode, ran.stderr) == (
        1,
        "this network is built for the batches 1, 3, not for 2\n",
    )


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_the_header_is_clean_in_c_plus_plus(folder: Path, standard: str) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine (g++, clang++)")
    (folder / "header.cpp").write_text("#include <tunesmith/network.h>\n")
    words = (f"-std={standard}", *STRICT, "-Iinclude", "-fsyntax-only", "header.cpp")
    ran = run(folder, compiler, *words)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_library_of_another_format(
    folder: Path, compiled: CompiledNetwork, c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "FORMAT", 99)
    monkeypatch.setattr("tunesmith.networks.description.FORMAT", 99)
    library = compiled.save(folder / "later.so")
    with pytest.raises(TunesmithError, match=r"later\.so has format 99, this version reads 3: "):
        load(library)
    ran = run(folder, loading(c_compiler, folder), "later.so")
    assert ran.stdout == (
        "later.so has format 99, this header reads 3: build the network again, or take the header "
        "of that version\n"
    )


def loading(c_compiler: str, folder: Path) -> Path:
    """A program that prints why a library cannot be loaded."""
    return compile_c(
        c_compiler,
        folder,
        """
#include <stdio.h>
#include <tunesmith/network.h>

int main(int count, char** words) {
  TunesmithNetwork* network = tunesmith_network_load(words[count - 1]);
  DLTensor tensor;
  if (tunesmith_network_run(network, &tensor, 1, &tensor, 1) != -1) return 1;
  puts(tunesmith_network_error(network));
  tunesmith_network_free(network);
  return 0;
}
""",
        *flags(folder),
    )


def known(c_compiler: str, folder: Path, names: list[str]) -> dict[str, int]:
    """What the header says of instruction sets: 1 if this processor has them, -1 if unknown."""
    ran = run(folder, compile_c(c_compiler, folder, KNOWN, "-Iinclude"), *names)
    return dict(zip(names, map(int, ran.stdout.split()), strict=True))


def test_a_processor_that_lacks_instructions(
    folder: Path, compiled: CompiledNetwork, c_compiler: str
) -> None:
    all_names = sorted({name for it in llvm.processors() for name in needed_instructions(it)})
    lacks = {name for name, found in known(c_compiler, folder, all_names).items() if not found}
    other = next(it for it in sorted(llvm.processors()) if lacks & set(needed_instructions(it)))
    missing = min(lacks & set(needed_instructions(other)))
    description = replace(compiled.description, processor=other)
    strange = CompiledNetwork(description, compiled._executable, compiled._weights)
    strange.save(folder / "strange.so")
    ran = run(folder, loading(c_compiler, folder), "strange.so")
    assert ran.stdout == (
        f"strange.so was compiled for {other} and needs {missing}, which this processor lacks: "
        "build the network for this processor\n"
    )


# Linux's names of instruction sets where they are not LLVM's but for dots and underscores.
LINUX = {"sse3": "pni", "lzcnt": "abm", "bmi": "bmi1", "avx10.1": "", "avx10.2": ""}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only processors of x86 are asked")
def test_instruction_sets_are_known(folder: Path, c_compiler: str) -> None:
    names = sorted({name for it in llvm.processors() for name in instructions(it)})
    found = known(c_compiler, folder, [*names, "none"])
    assert found.pop("none") == -1
    assert -1 not in found.values()
    (listed,) = re.findall(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)[:1]
    flags_of_linux = {re.sub("[^a-z0-9]", "", flag) for flag in listed.split()}
    for name, has in found.items():
        if (linux := re.sub("[^a-z0-9]", "", LINUX.get(name, name))) in flags_of_linux or not has:
            assert bool(has) == (linux in flags_of_linux), name


def test_texts_are_literals_of_c() -> None:
    assert source._text('a"b\\?ü\n') == '"a\\042b\\134\\077\\303\\274\\012"'


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TunesmithError, match=r"cannot write .*file: .*name a folder"):
        write_folder(tmp_path / "file")
