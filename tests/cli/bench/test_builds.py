"""``tunesmith bench builds`` as a command."""

from __future__ import annotations

from tests.cli.conftest import Command
from tunesmith.bench.builds.builds import PHASES


def test_a_build_is_divided_by_phase_pass_and_group(command: Command) -> None:
    words = ["bench", "builds", "--layer", "resnet18.C11", "--configs", "1"]
    told = command(*words, "--sketch", "cpu_im2col", "--json").json
    assert told["layer"] == "resnet18.C11"
    (row,) = told["sketches"]
    assert (row["sketch"], row["built"], row["failed"]) == ("cpu_im2col", 1, 0)
    assert list(row["phases"]) == list(PHASES)
    assert all(seconds > 0.0 for seconds in row["phases"].values())
    assert abs(sum(row["passes"].values()) - row["phases"]["tvm"]) < 1e-9
    for phase in ("optimise", "generate"):
        assert abs(sum(row["llvm"][phase].values()) - row["phases"][phase]) < 1e-9


def test_what_makes_no_sense_is_refused(command: Command) -> None:
    ran = command("bench", "builds", "--configs", "0")
    assert (ran.code, ran.complaint) == (2, "at least one config of each sketch is needed, not 0")
    for layer, answer in (
        ("nosuch", "unknown workload 'nosuch': "),
        ("resnet18.C1?", "--layer is a pattern of 3 layers: name one of these"),
    ):
        ran = command("bench", "builds", "--layer", layer)
        assert ran.code == 2
        assert ran.complaint.startswith(answer)
