"""Git, for tests that make a repository of their own."""

from __future__ import annotations

import shutil

import pytest

_SETTINGS = (
    "user.name=x",
    "user.email=x@example.org",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "core.hooksPath=/dev/null",
)


def plain_git() -> list[str]:
    """The words that call it as someone who signs nothing and has no hooks. Without git the test
    is skipped."""
    if shutil.which("git") is None:
        pytest.skip("no git on this machine")
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting))]
