"""Bad input: one line on standard error that says what to do, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.cli.command import TUNESMITH, Process, tunesmith
from tests.cli.conftest import Command
from tests.patience import PATIENCE
from tunesmith.store import open_store

MATMUL = "matmul --m 32 --n 32 --k 32"
CONV = "conv2d --ci 3 --h 4 --w 4 --co 3"

# What is asked for, and a part of the answer.
USAGE = [
    ("nonsense", "no such command 'nonsense'"),
    ("tunee", "Did you mean 'tune'"),
    ("bench", "missing command (see 'tunesmith bench --help')"),
    ("bench lop", "Did you mean 'loop'"),
    # operators and layers
    ("tune", "name one operator or one --layer"),
    ("tune conv2x --n 1", "unknown operator 'conv2x': did you mean conv2d"),
    ("best conv2x", "did you mean conv2d"),
    ("history conv2x", "did you mean conv2d"),
    ("operators conv2x", "did you mean conv2d"),
    ("space matmull", "did you mean matmul"),
    ("tune --layer resnet18.C99", "unknown layer 'resnet18.C99': did you mean resnet18.C9"),
    ("tune --layer resnet18.C8 matmul", "name one operator or one --layer"),
    ("tune --m 32 matmul", "name the operator before its options"),
    # options of operators
    ("tune matmul --m 32 --n 32", "matmul also needs k"),
    ("tune matmul --m 32 --n 32 --kk 32", "unknown option of matmul 'kk': did you mean k?"),
    (f"tune {MATMUL} --m 64", "--m is given twice"),
    (f"tune {MATMUL} 64", "cannot make sense of '64'"),
    (f"tune {MATMUL} --trails 64", "did you mean trials or triple or transfer?"),
    ("tune --layer resnet18.C8 --strid 1", "did you mean stride"),
    ("tune matmul --m 0 --n 1 --k 1", "m must be a positive integer, not 0"),
    ("tune matmul --m -4 --n 1 --k 1", "m must be a positive integer, not -4"),
    ("tune matmul --m four --n 1 --k 1", "m must be a positive integer, not 'four'"),
    (f"tune {MATMUL} --dtype float33", "did you mean float32?"),
    (f"tune {CONV} --k 7", "the kernel covers 7x7, more than the padded input's 4x4"),
    (f"tune {CONV} --k 3 --dilation 2", "the kernel covers 5x5, more than"),
    (f"tune {CONV} --k 3 --stride 0", "stride must be"),
    (f"tune {CONV} --k 3 --padding -1", "padding must be"),
    (f"tune {CONV} --k 3 --layout NCWH", "did you mean NCHW?"),
    (f"tune {CONV} --k 3 --groups 2", "groups=2 must divide ci=3 and co=3"),
    # tuners
    (f"tune {MATMUL} --tuner genetics", "unknown tuner 'genetics': did you mean genetic?"),
    (f"tune {MATMUL} --tuner genetic --tuner-option populaton=3", "did you mean population"),
    (f"tune {MATMUL} --tuner genetic --tuner-option population=x", "must be int, not 'x'"),
    (f"tune {MATMUL} --tuner genetic --tuner-option population=-1", "population must be"),
    (f"tune {MATMUL} --tuner genetic --tuner-option population", "write population=VALUE"),
    (f"tune {MATMUL} --tuner random --tuner-option a=1", "tuner 'random' has no options"),
    (f"tune {MATMUL} --tuner autotvm --tuner-option model=trees", "unknown cost model 'trees'"),
    ("network tune --zoo alexnet --tuner genetics", "unknown tuner 'genetics': did you mean"),
    (f"tune {MATMUL} --seed -1", "the seed is -1: give 0 or more"),
    # budgets and measuring
    (f"tune {MATMUL} --trials 0", "budget: trials must be positive, not 0"),
    (f"tune {MATMUL} --trials x", "invalid value for '--trials'"),
    (f"tune {MATMUL} --trials", "option '--trials' requires an argument"),
    (f"tune {MATMUL} --seconds -1", "budget: seconds must be positive, not -1"),
    (f"tune {MATMUL} --seconds nan", "budget: seconds must be positive, not nan"),
    (f"tune {MATMUL} --target-gflops 0", "budget: target_gflops must be positive, not 0"),
    (f"tune {MATMUL} --patience 0", "budget: patience must be positive, not 0"),
    (f"tune {MATMUL} --repeats 0", "repeats must be positive, not 0"),
    (f"tune {MATMUL} --build-timeout 0", "build_timeout must be positive, not 0"),
    (f"tune {MATMUL} --memory-limit 0", "memory_limit must be positive, not 0"),
    (f"tune {MATMUL} --cut-off 0.5", "cut_off must be at least 1, not 0.5"),
    (f"tune {MATMUL} --cut-off nan", "cut_off must be at least 1, not nan"),
    (f"tune {MATMUL} --report .", "cannot write the report to .: name a file in a folder"),
    ("network tune --zoo dqn --report .", "cannot write the report to .: name a file in a folder"),
    # targets and sketches
    (f"tune {MATMUL} --target gpu", "unknown target 'gpu': did you mean cpu?"),
    (f"tune {MATMUL} --cores 0", "at least one core, not 0"),
    (f"tune {MATMUL} --mcpu no-such", "unknown processor 'no-such': known: "),
    (f"space {MATMUL} --mcpu no-such", "unknown processor 'no-such': known: "),
    (f"show {MATMUL} --mcpu no-such --config default", "unknown processor 'no-such': known: "),
    (f"tune {MATMUL} --sketch cpu_tile", "unknown sketch 'cpu_tile': did you mean cpu_tiled"),
    (f"tune {MATMUL} --without-sketch cpu_row", "unknown sketch 'cpu_row': did you mean cpu_rows"),
    (f"tune {MATMUL} --sketch cpu_rows", "sketch cpu_rows cannot schedule matmul on cpu: take"),
    (
        f"tune {MATMUL} --sketch cpu_tiled --without-sketch cpu_tiled",
        "no sketch can schedule matmul on cpu without cpu_tiled",
    ),
    # configs and forms
    (f"show {MATMUL} --config {{", "--config is no JSON object"),
    (f"show {MATMUL} --config [1]", "not a JSON object"),
    (f'show {MATMUL} --config {{"a":1}}', "'a', which is not a parameter of the space"),
    (f"show {MATMUL} --config {{}}", "config lacks parameter"),
    (f"show {MATMUL} --form elf", "unknown form 'elf': known: asm, cuda, llvm, tvmscript"),
    (f"show {MATMUL} --form lvm", "unknown form 'lvm': did you mean llvm?"),
    (f"build {MATMUL} --config default", "missing option '-o' / '--output'"),
    (f"build {MATMUL} --config default -o kernel", "name it like kernel.so"),
    (f"best {MATMUL}", "nothing is recorded yet"),
    (f"best {MATMUL} --task command:x", "by --task or by its operator, not by both"),
    ("best --sketch cpu_tiled", "name one operator or one --layer"),
    ("history", "nothing is recorded yet"),
    ("history --trails 3 --task command:x", "by --task or by its operator, not by both"),
    (f"report {MATMUL} -o report.html", "nothing is recorded yet"),
    (f"space {MATMUL} --samples -1", "cannot sample -1 configs"),
    (f"space {MATMUL} --seed -1", "the seed is -1: give 0 or more"),
    # models
    ("models list --store none.db", "no store at "),
    ("models score", "nothing is recorded yet"),
    ("models train --store none.db", "no store at "),
    ("models train --target foo", "unknown target 'foo': known: cpu, cuda"),
    ("models train --target all --mcpu znver4", "all targets have no --mcpu, --arch or --triple"),
    ("models train --operator conv", "unknown operator 'conv': did you mean conv2d?"),
    ("models score --sketch cpu_row", "unknown sketch 'cpu_row': did you mean cpu_rows"),
    ("models remove --store none.db", "no store at "),
    (f"tune {MATMUL} --trials 1 --model dense", "unknown model 'dense': there is none: 'tunesmith"),
    (f"tune {MATMUL} --model net.onnx", "--model names a learned model: give the network net.onnx"),
    ("network build --model net.onnx -o n.so", "--model names a learned model: give the network"),
    ("network build --zoo dqn -o net", "a network is saved as a shared library: name it like net"),
    (f"tune {MATMUL} --no-transfer --model all", "--no-transfer uses no model, and --model names"),
    (f"build {MATMUL} -o k.so --model all", "unknown model 'all': there is none"),
    (f"build {MATMUL} -o k.so --no-transfer --model all", "--no-transfer uses no model, and --mod"),
    ("network tune --zoo alexnet --no-transfer --model all", "--no-transfer uses no model, and"),
    (
        "network build --zoo alexnet -o n.so --no-transfer --model all",
        "--no-transfer uses no model",
    ),
    ("bench train-model none.json.gz", "none.json.gz is no training set"),
    ("bench gather none.json.gz", "none.json.gz is no training set"),
    (
        "bench autotvm --part figure",
        "unknown part 'figure': known: diversity, model, model-replay,",
    ),
    (
        "bench replay --part figure",
        "unknown part 'figure': known: opevo, opevo-template, plane, surrogate,",
    ),
    ("bench replay --part walks --quick", "docs/benchmarks is for figures of long runs: name"),
    ("bench nose --quick", "docs/benchmarks is for figures of long runs: name a folder for --qui"),
    ("bench replay --part plane --fresh -o x", "plane searches functions of its own, and keeps no"),
    ("bench replay --part plane --data x -o x", "plane searches functions of its own, and keeps"),
    ("bench replay --part walks --data none -o x", "there is no recorded space in none"),
    ("bench replay --part walks --repeats 0 -o x", "repeats must be 1 or more, not 0"),
    ("bench replay --part plane --trials 0 -o x", "trials must be 1 or more, not 0"),
    ("bench autotvm --part diversity --quick", "docs/benchmarks is for figures of long runs: name"),
    (
        "bench autotvm --part transfer-measured --fresh --problem resnet18.C7 -o x",
        "--fresh sets aside what all problems of transfer-measured learned from: leave out --pro",
    ),
    ("bench autotvm --part product --repeats 2", "product has one run of each operator"),
    (
        "bench autotvm --part diversity --operators 3",
        "only product has operators of networks: leav",
    ),
    ("bench autotvm --part diversity --repeats 0", "invalid value for '--repeats': Input should"),
    ("bench autotvm --part speed --trials 3", "speed times what it times: leave out --trials"),
    ("bench autotvm --part speed --seed 0", "speed times what it times: leave out --seed"),
    ("bench autotvm --part speed --fresh", "speed times what it times: leave out --fresh"),
    ("bench autotvm --part product --data none", "there is no training set in none"),
    ("bench autotvm --part transfer --data none", "there is no recorded space in none"),
    # stores that are not there or cannot be
    ("history --store none.db", "none.db: name the one that you tuned into"),
    ("best --task command:x --store folder/none.db", "no store at "),
    (f"best {MATMUL} --store none.db", "no store at "),
    (f"report {MATMUL} -o report.html --store folder/none.db", "no store at "),
    (f"show {MATMUL} --store sqlite:///none.db", "no store at "),
    (f"build {MATMUL} -o kernel.so --store none.db", "no store at "),
    ("history --store=", "the store has an empty name"),
    ("history --store foo://bar", "no such kind of database"),
    # specs
    ("tune-command", "missing argument 'spec'"),
    ("tune-command none.toml", "cannot read none.toml"),
]


@pytest.mark.parametrize(("line", "answer"), USAGE, ids=[line for line, _ in USAGE])
def test_a_mistake_of_the_user(
    line: str, answer: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ran = command(*line.split())
    assert answer in ran.complaint
    assert ran.code == 2
    made = {path.name for path in tmp_path.iterdir()}
    assert made <= ({"data"} if line.startswith("tune ") else set()), "who reads makes nothing"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (f"best {MATMUL}", "nothing valid is recorded for matmul(m=32,n=32,k=32"),
        (f"best {MATMUL} --sketch gemm", "nothing valid is recorded for matmul(m=32,n=32,k=32"),
        (f"best {MATMUL} --sketch cpu_gem", "unknown sketch 'cpu_gem': did you mean cpu_gemm"),
        (f"report {MATMUL} -o report.html", "nothing is recorded for matmul(m=32,n=32,k=32"),
        ("best --task command:x", "unknown task 'command:x': there is none"),
        ("history --task command:x", "unknown task 'command:x': there is none"),
    ],
)
def test_a_store_without_the_task(
    line: str, answer: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("tuning.db").close()
    ran = command(*line.split(), "--store", "tuning.db")
    assert answer in ran.complaint
    assert ran.code == 2
    assert not list(tmp_path.glob("[!t]*"))


SPECS = {
    "no toml": ("[command", "is not TOML"),
    "unknown key": ("[command]\ntemplate='true'\ncmd=1\n[[parameter]]", "unknown key in [command]"),
    "no parameters": ("[command]\ntemplate = 'true'", "has no parameter"),
    "unknown field": (
        "[command]\ntemplate = 'true {levle}'\n"
        "[[parameter]]\nkind = 'ordinal'\nname = 'level'\nvalues = [0, 1]",
        "did you mean level",
    ),
    "unknown program": (
        "[command]\ntemplate = 'no-such-program {level}'\n"
        "[[parameter]]\nkind = 'ordinal'\nname = 'level'\nvalues = [0, 1]",
        "no such program",
    ),
    "unknown kind": (
        "[command]\ntemplate = 'true'\n[[parameter]]\nkind = 'ordinla'\nname = 'a'\nvalues = [0]",
        "did you mean ordinal",
    ),
    "hostile expression": (
        "[command]\ntemplate = 'true {a}'\n"
        "[[parameter]]\nkind = 'ordinal'\nname = 'a'\nvalues = [0, 1]\n"
        "[[constraint]]\nexpression = '''__import__(\"os\").system(\"touch hacked\") == a'''",
        "expression",
    ),
    "unknown tuner": (
        "[command]\ntemplate = 'true {a}'\n"
        "[[parameter]]\nkind = 'ordinal'\nname = 'a'\nvalues = [0, 1]\n"
        "[tune]\ntuner = 'gird'",
        "did you mean grid",
    ),
}


@pytest.mark.parametrize("case", SPECS)
def test_a_spec_that_cannot_be(
    case: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, answer = SPECS[case]
    Path("spec.toml").write_text(text)
    ran = command("tune-command", "spec.toml", "--store", "tuning.db")
    assert answer in ran.complaint
    assert ran.code == 2
    assert not Path("hacked").exists()
    assert not Path("tuning.db").exists(), "nothing is made before the words make sense"


# --- The same, seen from outside the process


def test_exit_codes_of_the_process(store: Path, tmp_path: Path) -> None:
    usage = tunesmith("tune", "conv2x", "--store", store)
    assert (usage.code, usage.complaint) == (2, "unknown operator 'conv2x': did you mean conv2d?")
    assert not store.exists()
    folder = tunesmith("history", "--store", tmp_path)
    assert (folder.code, folder.complaint) == (
        1,
        f"store {tmp_path} is a folder: name a file in it",
    )


@pytest.mark.parametrize("line", ["operators", "operators --json", "tuners --json", "--help"])
def test_an_output_that_nobody_reads(line: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = Process.start(line.split(), stdout=writing)
    finally:
        os.close(writing)
    with process.cleaned_up():
        assert process.wait().err == "", "no complaint"
        assert process.process.returncode == 1


def test_an_output_on_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*TUNESMITH, "operators", "--json"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
    assert process.returncode == 1
    assert process.stderr == (
        f"tunesmith: a disk is full: that of the output, or of {gettempdir()}: make room there\n"
    )
