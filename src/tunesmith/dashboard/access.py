"""Who may see the dashboard: this machine alone, or whoever has the token."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from flask import Flask

_LOCAL_NAMES: Final = {"localhost", "127.0.0.1", "::1"}


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guard(server: Flask, token: str | None, policy: str) -> None:
    """Refuse every request without the ``token``, and let pages ask no other host for anything.

    The token comes with the first address, and then in a cookie. Without one only requests that
    name this machine are answered: otherwise a page of the web whose name leads to 127.0.0.1 could
    read ours. ``policy`` is the Content-Security-Policy.
    """
    import flask

    # Cookies are of a host, whatever the port: each dashboard there has a name of its own.
    cookie = f"tunesmith-{hashlib.sha256((token or '').encode()).hexdigest()[:12]}"

    @server.before_request
    def check() -> Any:
        if token is None:
            named = urlsplit(f"//{flask.request.host}").hostname
            known = named in _LOCAL_NAMES or (named is not None and is_loopback(named))
            return None if known else ("this dashboard is for this machine alone\n", 403)
        given = flask.request.args.get("token")
        if given is None:
            kept = flask.request.cookies.get(cookie, "")
            return None if _equal(kept, token) else (_REFUSED, 401)
        if not _equal(given, token):
            return _REFUSED, 401
        answer = flask.redirect(_without_token(flask.request.full_path))
        answer.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return answer

    @server.after_request
    def protect(response: Any) -> Any:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


_REFUSED: Final = "this dashboard needs its token: open the address that it printed\n"


def _equal(given: str, token: str) -> bool:
    """In a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _without_token(path: str) -> str:
    """A path of this server without the token, which is to stand in no history."""
    from urllib.parse import parse_qsl, urlencode

    parts = urlsplit(path)
    kept = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != "token"])
    place = "/" + parts.path.lstrip("/")  # never another host, as //host would be
    return f"{place}?{kept}" if kept else place
