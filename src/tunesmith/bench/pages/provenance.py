"""Where a row of figures comes from: when, on which machine and with what it was measured.

Files of figures grow row by row, over days and versions: so each row says for itself.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tunesmith.machine import machine_for
from tunesmith.store import library_versions

Origin = Mapping[str, Any]

# The first day after a fault was mended by which some processes ran at half their speed.
_HALF_SPEED_MENDED = "2026-11-29"

_PACKAGE = Path(__file__).parents[2]


def origin_now(
    versions: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    kind: str = "cpu",
) -> dict[str, Any]:
    """``date``, ``machine``, ``versions`` (also these) and ``settings`` of what is measured now.

    ``kind`` is that of the target: for a GPU the machine has it as its ``device``.
    """
    return {
        "date": today(),
        "machine": machine_for(kind),
        "versions": {**library_versions(), "tunesmith": own_version(), **(versions or {})},
        "settings": dict(settings or {}),
    }


def today() -> str:
    """The day in ISO's form, by UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def caveat(date: str) -> str:
    """What is to be said of what was measured on a date, or from that on, as ISO has it; empty for
    nothing."""
    if date >= _HALF_SPEED_MENDED:
        return ""
    return (
        "These runs were measured before a fault was mended by which some processes ran at half "
        "their speed."
    )


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed.

    A distribution that holds a package may have another name than it, such as xgboost-cpu.
    """
    there = [it for it in dict.fromkeys(packages) if importlib.util.find_spec(it) is not None]
    holders = importlib.metadata.packages_distributions()
    return {name: importlib.metadata.version(holders[name][0]) for name in there}


@cache
def own_version() -> str:
    """Of this package; in a checkout with its commit, ``.changed`` where it has other changes."""
    version = library_versions()["tunesmith"]
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return version
    commit = _git("rev-parse", "--short=8", "HEAD")
    changed = ".changed" if _git("status", "--porcelain", "--", ".") else ""
    return f"{version}+{commit}{changed}"


def _git(*words: str) -> str | None:
    """What git says in the folder of the package; None without git, or where it refuses."""
    try:
        ran = subprocess.run(
            ["git", *words], cwd=_PACKAGE, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


def is_origin(origin: Any) -> bool:
    """Whether it is one, or None, as files of earlier versions have it."""
    if origin is None:
        return True
    kinds = {"date": str, "machine": dict, "versions": dict, "settings": dict}
    return (
        isinstance(origin, dict)
        and all(isinstance(origin.get(name), kind) for name, kind in kinds.items())
        and {"fingerprint", "cpu", "cores", "memory_gib"} <= origin["machine"].keys()
    )


def together(origins: Sequence[Origin]) -> dict[str, Any]:
    """``machine``, ``versions`` and ``date`` of at least one origin, of one machine: what they
    share, and all that there is where they differ."""
    names = dict.fromkeys(name for origin in origins for name in origin["versions"])
    return {
        "machine": origins[-1]["machine"],
        "versions": {
            name: " or ".join(sorted({o["versions"].get(name, "none") for o in origins}))
            for name in names
        },
        "date": span(origin["date"] for origin in origins),
    }


def by_machine(
    machines: Mapping[str, Mapping[str, Any] | None], mine: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Names by the words for the machine that each was measured on, as far as that is known; empty
    where this is the same for all, and the one that the page names."""
    found: dict[str, list[str]] = {}
    for name, machine in machines.items():
        if machine:
            found.setdefault(in_words(machine), []).append(name)
    return {} if list(found) in ([], [in_words(mine)]) else found


def in_words(machine: Mapping[str, Any]) -> str:
    """What a page calls a machine."""
    return f"{machine['cpu']}, {machine['cores']} cores"


def span(values: Iterable[Any], factor: float = 1) -> str:
    """The least and the greatest of these numbers or texts, or the one that there is; numbers
    times a factor."""
    known = {each if isinstance(each, str) else factor * each for each in values}
    ends = dict.fromkeys((min(known), max(known)))
    return " to ".join(end if isinstance(end, str) else f"{end:g}" for end in ends)
