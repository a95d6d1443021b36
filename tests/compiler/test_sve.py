"""The length of SVE's vectors."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tunesmith.compiler import sve


@pytest.fixture
def asked_anew() -> Iterator[None]:
    sve.own_bytes.cache_clear()
    yield
    sve.own_bytes.cache_clear()


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize(
    ("machine", "answer", "length"),
    [("aarch64", 32, 32), ("aarch64", 64 | 1 << 17, 64), ("aarch64", -1, 0), ("x86_64", 32, 0)],
)
def test_the_system_is_asked(
    machine: str, answer: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    system = SimpleNamespace(prctl=lambda *_: answer)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: system)
    assert sve.own_bytes() == length


def test_this_machine_has_what_its_system_lets_it_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sve, "own_bytes", lambda: 16)
    assert sve.length_features("a64fx", here=True) == set()
    assert sve.length_features("a64fx", here=False) == {"sve256", "sve512"}
    monkeypatch.setattr(sve, "own_bytes", lambda: 64)
    assert sve.length_features("unknown", here=True) == {"sve256", "sve512"}
    assert sve.length_features("unknown", here=False) == set()
