"""One registry for all that can be asked for by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plug_ins import offer
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.registry import Registry
from tunesmith.sketches.registry import SKETCHES
from tunesmith.tuners.registry import TUNERS

taken: list[object] = []
TEXT, NUMBER, BAD = "a text", 3, b"\xff"


def take(found: object) -> str | None:
    taken.append(found)
    if isinstance(found, bytes):
        return found.decode()
    return found if isinstance(found, str) else None


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Registry[str]:
    taken.clear()
    others = {"ours": "json:loads", "their": f"{__name__}:TEXT", "a_number": f"{__name__}:NUMBER"}
    others |= {"gone": "no_such_module:TEXT", "bad": f"{__name__}:BAD"}
    offer(monkeypatch, "tunesmith.texts", others)
    return Registry("text", "texts", {"ours": f"{__name__}:TEXT"}, take, "a str")


def test_ours_come_first_and_win(texts: Registry[str]) -> None:
    assert texts.names() == ("ours", "a_number", "bad", "gone", "their")
    assert texts.get("ours") == TEXT
    assert (texts.is_ours("ours"), texts.is_ours("their")) == (True, False)


def test_each_is_looked_at_when_it_is_asked_for_and_once(texts: Registry[str]) -> None:
    assert taken == []
    assert texts.get("their") is texts.get("their")
    assert taken == [TEXT]


def test_what_cannot_be_had_is_one_line(texts: Registry[str]) -> None:
    with pytest.raises(UsageError, match=r"\Aunknown text 'theirs': did you mean their\?\Z"):
        texts.get("theirs")
    with pytest.raises(UsageError, match=r"\Atext 'a_number' \(.+\) is no text: make it a str\Z"):
        texts.get("a_number")
    with pytest.raises(
        MissingDependencyError, match=r"\Atext 'gone' \(.+\) cannot be imported: .+\Z"
    ):
        texts.get("gone")
    with pytest.raises(UsageError, match=r"\Atext 'bad' \(.+\) cannot be made: UnicodeDecodeError"):
        texts.get("bad")


def test_a_mistake_in_ours_is_no_missing_package() -> None:
    broken = Registry("text", "texts", {"ours": "tunesmith.nowhere:TEXT"}, take, "a str")
    with pytest.raises(ModuleNotFoundError):
        broken.get("ours")


def test_packages_that_come_later_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Registry("text", "texts", {}, take, "a str")
    assert late.names() == ()
    about = tmp_path / "late-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[tunesmith.texts]\nlate = {__name__}:TEXT\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert late.names() == ("late",)
    assert (late.get("late"), late.package("late")) == (TEXT, "late")


@pytest.mark.parametrize("name", SKETCHES.names())
def test_sketches_are_registered_under_their_own_names(name: str) -> None:
    assert SKETCHES.get(name).name == name
    assert name.startswith(("cpu_", "cuda_")), "by which those of other targets are left out"


@pytest.mark.parametrize("name", TUNERS.names())
def test_tuners_are_registered_under_their_own_names(name: str) -> None:
    assert TUNERS.get(name).name == name


def test_sketches_of_another_kind_of_target_are_not_imported() -> None:
    code = (
        "import sys; from tunesmith.operators import matmul; from tunesmith.target import Target\n"
        "from tunesmith.sketches import sketches_for\n"
        "sketches_for(matmul(m=8, n=8, k=8), Target())\n"
        "print([m for m in sys.modules if m.startswith('tunesmith.sketches') and '.cuda' in m])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
