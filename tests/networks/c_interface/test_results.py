"""Results that are inputs, views of them or constants, in C's buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.networks.c_interface.programs import compile_c, run
from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, seeded, torch
from tunesmith.networks import from_torch
from tunesmith.networks.c_interface.folder import flags, write_folder


class Views(torch.nn.Module):  # type: ignore[misc]
    """Returns what it computes of the first input, both inputs, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.register_buffer("constant", torch.zeros(16))

    def forward(self, data: Any, other: Any) -> Any:
        return self.linear(data), other, data.reshape(4, 4), self.constant


# The results go where the inputs are: the first input's place gets the first result, and the second
# input's the third result, before or after the others are stored.
PROGRAM = r"""
#include <stdio.h>
#include <tunesmith/network.h>

static void write_to(const char* path, const float* data) {
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(data, sizeof(float), 16, file) != 16 || fclose(file)) exit(9);
}

int main(void) {
  TunesmithNetwork* network = tunesmith_network_load("net.so");
  const TunesmithEntry* entry = tunesmith_network_entry(network, 1);
  if (!entry) return 8;
  float *memory = NULL, *unaligned, rest[32];
  if (posix_memalign((void**)&memory, 64, 256)) return 7;
  FILE* file = fopen("inputs.bin", "rb");
  unaligned = memory + (OFFSET);
  if (!file || fread(unaligned, sizeof(float), 32, file) != 32 || fclose(file)) return 9;
  DLTensor inputs[2] = {tunesmith_tensor(&entry->inputs[0], unaligned),
                        tunesmith_tensor(&entry->inputs[1], unaligned + 16)};
  DLTensor outputs[4] = {tunesmith_tensor(&entry->outputs[0], unaligned),
                         tunesmith_tensor(&entry->outputs[1], rest),
                         tunesmith_tensor(&entry->outputs[2], unaligned + 16),
                         tunesmith_tensor(&entry->outputs[3], rest + 16)};
  if (tunesmith_network_run(network, inputs, 2, outputs, 4)) {
    puts(tunesmith_network_error(network));
    return 1;
  }
  write_to("result0.bin", unaligned);
  write_to("result1.bin", rest);
  write_to("result2.bin", unaligned + 16);
  write_to("result3.bin", rest + 16);
  tunesmith_network_free(network);
  free(memory);
  return 0;
}
"""


@pytest.mark.parametrize("offset", [0, 3], ids=["aligned", "unaligned"])
def test_results_in_the_memory_of_inputs(c_compiler: str, tmp_path: Path, offset: int) -> None:
    model, inputs = seeded(Views()), (random_input(1, 16), random_input(2, 16)[1:])
    network = from_torch(model, inputs)
    write_folder(tmp_path)
    network.built(defaults(network)).save(tmp_path / "net.so")
    np.concatenate([each.numpy() for each in inputs]).tofile(tmp_path / "inputs.bin")
    program = compile_c(c_compiler, tmp_path, PROGRAM, f"-DOFFSET={offset}", *flags(tmp_path))
    ran = run(tmp_path, program)
    assert (ran.returncode, ran.stdout) == (0, "")
    for number, expected in enumerate(result_of(model, *inputs)):
        found = np.fromfile(tmp_path / f"result{number}.bin", np.float32)
        np.testing.assert_allclose(found, expected.numpy().ravel(), rtol=1e-5)


SORTING = r"""
#include <stdio.h>
#include <tunesmith/network.h>

int main(void) {
  TunesmithNetwork* network = tunesmith_network_load("net.so");
  const TunesmithEntry* entry = tunesmith_network_entry(network, 1);
  float data[5] = {3, 1, 5, 2, 4}, largest[2];
  int64_t places[2];
  if (!entry) return 8;
  DLTensor input = tunesmith_tensor(&entry->inputs[0], data);
  DLTensor outputs[2] = {tunesmith_tensor(&entry->outputs[0], largest),
                         tunesmith_tensor(&entry->outputs[1], places)};
  if (tunesmith_network_run(network, &input, 1, outputs, 2)) {
    puts(tunesmith_network_error(network));
    return 1;
  }
  printf("%g %g at %d and %d\n", largest[0], largest[1], (int)places[0], (int)places[1]);
  tunesmith_network_free(network);
  return 0;
}
"""


class Largest(torch.nn.Module):  # type: ignore[misc]
    def forward(self, data: Any) -> Any:
        return torch.topk(data, 2)


def test_what_sorts_needs_the_third_library(c_compiler: str, tmp_path: Path) -> None:
    network = from_torch(Largest(), random_input(1, 5))
    write_folder(tmp_path)
    network.built(defaults(network)).save(tmp_path / "net.so")
    program = compile_c(c_compiler, tmp_path, SORTING, *flags(tmp_path))
    ran = run(tmp_path, program)
    assert (ran.returncode, ran.stdout) == (0, "5 4 at 2 and 4\n")
    (tmp_path / "lib" / "libtvm_runtime_extra.so").unlink()
    ran = run(tmp_path, program)
    assert ran.returncode == 1
    assert "tvm.contrib.sort" in ran.stdout
