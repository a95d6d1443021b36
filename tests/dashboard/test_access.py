"""Who may see a dashboard, and what its pages may ask for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.samples import write_store
from tunesmith.dashboard.watch import Watch
from tunesmith.errors import UsageError
from tunesmith.store import open_overview
from tunesmith.store.overview import Overview

TOKEN = "a-token/of+the=test"
COOKIE = f"tunesmith-{hashlib.sha256(TOKEN.encode()).hexdigest()[:12]}"
PATHS = ("/", "/task?key=x", "/_dash-layout", "/_dash-dependencies", "/assets/dashboard.css")


@pytest.fixture
def overview(tmp_path: Path) -> Iterator[Overview]:
    path = tmp_path / "records.db"
    write_store(path, trials=6)
    with open_overview(path) as opened:
        yield opened


@pytest.fixture
def guarded(overview: Overview) -> Any:
    """A client that remembers cookies, of a dashboard with a token."""
    from tunesmith.dashboard.app import make_app

    return make_app(Watch(overview), token=TOKEN).server.test_client()


@pytest.fixture
def local(overview: Overview) -> Any:
    """A client of a dashboard without a token."""
    from tunesmith.dashboard.app import make_app

    return make_app(Watch(overview)).server.test_client()


def test_nothing_is_answered_without_the_token(guarded: Any) -> None:
    for path in PATHS:
        for cookie in ("", TOKEN[:-1], TOKEN + "x", "é"):
            guarded.set_cookie(COOKIE, cookie)
            refused = guarded.get(path)
            assert refused.status_code == 401
            assert TOKEN not in refused.text
            assert "Set-Cookie" not in refused.headers
    assert guarded.post("/_dash-update-component", json={}).status_code == 401
    assert guarded.get("/", query_string={"token": "wrong"}).status_code == 401
    assert guarded.get("/", query_string={"token": ""}).status_code == 401


def test_the_token_is_kept_in_a_cookie_and_leaves_the_address(guarded: Any) -> None:
    first = guarded.get("/task", query_string={"key": "a b", "token": TOKEN})
    assert first.status_code == 302
    assert first.headers["Location"] == "/task?key=a+b"
    cookie = first.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert [guarded.get(path).status_code for path in PATHS] == [200] * len(PATHS)


def test_a_wrong_token_does_not_pass_beside_the_right_cookie(guarded: Any) -> None:
    guarded.get("/", query_string={"token": TOKEN})
    assert guarded.get("/", query_string={"token": "wrong"}).status_code == 401


def test_the_redirect_stays_on_this_server(guarded: Any) -> None:
    answer = guarded.get("//other.example/x", query_string={"token": TOKEN})
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/other.example/x" or answer.headers[
        "Location"
    ].startswith("/x")


@pytest.mark.parametrize("host", ["localhost:8050", "127.0.0.1", "[::1]:80", "127.0.0.2:1"])
def test_this_machine_needs_no_token(local: Any, host: str) -> None:
    assert local.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com:8050", "10.0.0.1", ""])
def test_a_name_of_the_web_that_leads_here_is_refused(local: Any, host: str) -> None:
    assert local.get("/", headers={"Host": host}).status_code == 403


def test_pages_may_ask_this_server_alone(local: Any) -> None:
    for path in PATHS:
        headers = local.get(path).headers
        rules = dict(
            rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";")
        )
        assert rules["default-src"] == "'none'"
        assert rules["connect-src"] == "'self'"
        assert "unsafe" not in rules["script-src"]
        assert not any("http" in rule or "*" in rule for rule in rules.values())
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_all_scripts_are_this_servers_own(local: Any) -> None:
    page = local.get("/").text
    assert page.count("<script") > 5
    assert "http://" not in page
    assert "https://" not in page


def test_tokens() -> None:
    from tunesmith.dashboard.serving import token_for

    assert token_for("127.0.0.1", None) is None
    assert token_for("localhost", None) is None
    assert token_for("::1", None) is None
    made = {token_for("0.0.0.0", None), token_for("0.0.0.0", None), token_for("pc", None)}
    assert len(made) == 3
    assert all(token is not None and len(token) >= 32 for token in made)
    assert token_for("127.0.0.1", "12345678") == "12345678"
    for bad in ("", "short", "has a space in it", "nön-ascii-token", "line\nline12"):
        with pytest.raises(UsageError, match="--token needs"):
            token_for("127.0.0.1", bad)
