"""Whatever the pages tell people to do is done: every example runs, in a folder of its own.

A block that begins with a file's name becomes that file. The other ``python`` blocks of a page are
run, as one program; then each command in its ``console`` blocks, in order. Other kinds, such as
``sh``, are for what a test cannot do. Budgets are cut to a few trials first.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.docs.pages import PAGES, ROOT, Block, blocks_of
from tests.patience import PATIENCE
from tunesmith.measurement import Outcome

# In the pages people tune for a minute; here it is only to be seen that they can.
_SHORT = "3"
_LONG_BUDGET = re.compile(r"--(?:seconds|trials) \d+|(?<=(?<!network, ts\.)Budget\()seconds=\d+")
# Networks are tuned for seconds, which their tasks share.
_SECONDS_OF_NETWORKS = re.compile(r'(?<=network, ts\.Budget\(seconds=)\d+|(?<="seconds": )\d+')


def shortened(text: str) -> str:
    """The text with budgets of a few trials, or seconds."""
    return _LONG_BUDGET.sub(
        lambda found: f"--trials {_SHORT}" if found[0].startswith("--") else f"trials={_SHORT}",
        _SECONDS_OF_NETWORKS.sub(_SHORT, text),
    )


def program(blocks: list[Block]) -> str:
    """The Python blocks as one program, on the lines of the page: tracebacks name those."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines)) + shortened(block.text).splitlines()
    return "\n".join(lines)


def run(command: list[str]) -> str:
    """What a command prints; it must succeed."""
    ran = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, f"{command[-1].strip()}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_line(line: str, command: Command) -> str:
    """What a line of a shell prints; our own commands run in this process, which is faster."""
    line = line.replace("\\\n", "")
    if not line.startswith("tunesmith ") or re.search("[|<>;&$`]", line):
        return run(["/bin/sh", "-c", line])
    ran = command(*shlex.split(line, comments=True)[1:])
    assert ran.code == 0, f"{line}\n{ran.out}{ran.err}"
    return ran.out


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    scripts = Path(sys.executable).parent
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(scripts), prepend=os.pathsep)
    blocks = blocks_of(page)
    if any("gcc" in block.text for block in blocks) and shutil.which("gcc") is None:
        pytest.skip("no gcc, which an example of the page compiles with")
    if any("import torch" in block.text for block in blocks):
        pytest.importorskip("torch", reason="networks of PyTorch need PyTorch")
    for block in blocks:
        if block.file_name is not None:
            (tmp_path / block.file_name).write_text(block.text)
    python = [block for block in blocks if block.language == "python" and not block.file_name]
    if python:
        run([sys.executable, "-c", program(python)])
    for line in (line for b in blocks if b.language == "console" for line in b.commands):
        printed = run_line(shortened(line), command)
        if "--json" in line:
            check_fields(json.loads(printed))


def check_fields(printed: dict[str, Any]) -> None:
    """Every field of a printed object is explained where the commands are."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", page))
    objects = [printed, *(printed.get(name) or {} for name in ("time", "default", "best", "files"))]
    objects += [row for name in ("runs", "tuners") for row in printed.get(name, [])]
    for each in objects:
        assert each.keys() <= explained


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    for target, anchor in links:
        linked = page.parent / target
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What can be linked to on a page: its headings, in the form that browsers are given."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_every_outcome_is_explained() -> None:
    page = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| (\d) \| `(\w+)` \|", page, re.MULTILINE)
    assert explained == [(str(outcome.value), outcome.name) for outcome in Outcome]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    known = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert make_targets(page) <= known


def make_targets(page: Path) -> set[str]:
    """What a page tells people to make. Only code counts: a sentence may begin with the word."""
    code = [block.text for block in blocks_of(page)]
    code += re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
    return {
        target for text in code for target in re.findall(r"^(?:\$ )?make (\w+)", text, re.MULTILINE)
    }


def test_make_targets_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`make a`\nmake b\n```sh\nmake c\n```\n```console\n$ make d\n```\n")
    assert make_targets(page) == {"a", "c", "d"}


def test_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n```python\n# one.py\nx = 1\n```\n\n```console\n$ b \\\n  c\nd\n$ e\n```\n")
    shown, typed = blocks_of(page)
    assert (shown.language, shown.line, shown.file_name) == ("python", 3, "one.py")
    assert (typed.file_name, typed.commands) == (None, ["b \\\n  c", "e"])


def test_budgets_are_shortened() -> None:
    assert shortened("tune --seconds 60 --trials 500") == "tune --trials 3 --trials 3"
    assert shortened("Budget(seconds=60)") == "Budget(trials=3)"
    assert shortened("Budget(trials=200)") == "Budget(trials=200)"
    network = "tune(network, ts.Budget(seconds={}))"
    assert shortened(network.format(600)) == network.format(3)
    assert shortened('{"seconds": 120}') == '{"seconds": 3}'
