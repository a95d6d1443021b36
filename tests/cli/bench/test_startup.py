"""``tunesmith bench startup``."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


@pytest.mark.slow
def test_the_startup_is_told_in_its_steps(command: Command) -> None:
    figures = command("bench", "startup", "--repeats", "1", "--json").json
    client, server = figures["milestones"]["client"], figures["milestones"]["server"]
    steps = ["command line", "start of the server", "task and sketches", "store", "estimates"]
    assert [step for step in client if step in steps] == steps
    assert server["compiler"] < server["a build begins"] == figures["first_trial"]
    assert figures["first_trial"] < figures["first_result"] == server["a trial ends"]
    assert client["start of the server"] < server["its own modules"]


def test_a_startup_that_fails_says_why(command: Command) -> None:
    ran = command("bench", "startup", "--layer", "resnet18.C99", "--repeats", "1")
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith("tunesmith: unknown layer 'resnet18.C99': ")
    assert "repeats must be positive" in command("bench", "startup", "--repeats", "0").complaint
