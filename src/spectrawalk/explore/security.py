"""Who may ask what: a server on 127.0.0.1 is reached by every web page that the browser opens.

A page elsewhere can send requests to 127.0.0.1, and by DNS rebinding even read the answers. So the
name that was asked for (``Host``) and the page that asks (``Origin``) must be the server's own, and
every request needs a cookie, which only the printed address gives.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1_000_000
"""Bytes of a request's body."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the token is in an address
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Keys:
    """The token of the printed address, good once, and the cookie that it is exchanged for."""

    def __init__(self, port: int, kept: Path | None = None) -> None:
        self.token: str | None = secrets.token_urlsafe(32)
        self._kept = kept
        self.cookie = (None if kept is None else _read_private(kept)) or secrets.token_urlsafe(32)
        self.cookie_name = f"spectrawalk-{port}"  # ports share their cookies
        self.names = (f"127.0.0.1:{port}", f"localhost:{port}")

    def take_token(self, given: str) -> bool:
        """Whether this is the token; it is good no more afterwards."""
        right = self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())
        if right:
            self.token = None
        return right

    def keep(self) -> None:
        """Keep the cookie in a file that nobody else can read: open pages survive a restart."""
        if self._kept is not None and _read_private(self._kept) != self.cookie:
            _write_private(self._kept, self.cookie)

    def knows(self, cookie: str) -> bool:
        """Whether this is the value of the cookie."""
        return hmac.compare_digest(cookie.encode(), self.cookie.encode())


class Guard:
    """Refuses what is not from the explorer's own page, before any route sees it."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})  # there are none
            return
        answer = self._refusal(scope, Headers(scope=scope))
        kept = scope["path"].startswith("/page/")
        send = _with_headers(send, _HEADERS | {"cache-control": "no-cache" if kept else "no-store"})
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        names = self._keys.names
        if headers.getlist("host") not in ([name] for name in names):
            return _refuse(403, f"this server is http://{names[0]} and has no other name.")
        origins = headers.getlist("origin")
        if origins and origins not in ([f"http://{name}"] for name in names):
            return _refuse(403, "another page may not use this server.")
        token = QueryParams(scope["query_string"]).get("token")
        if scope["path"] == "/" and scope["method"] == "GET" and token is not None:
            if self._keys.take_token(token):
                return self._let_in()
            if not self._has_cookie(headers):
                return _refuse(
                    403, "the address was used before; start `spectrawalk explore` again."
                )
            return RedirectResponse("/", 303)  # the page was opened again with its old address
        if not self._has_cookie(headers):
            return _refuse(403, "open the address that `spectrawalk explore` printed.")
        return _refuse_body(scope["method"], headers)

    def _let_in(self) -> Response:
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._keys.cookie_name, self._keys.cookie, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
        return any(
            name == self._keys.cookie_name and self._keys.knows(value) for name, _, value in pairs
        )


def _read_private(path: Path) -> str | None:
    """Read a key from a file of this user that nobody else may read; None from any other file."""
    if os.name != "posix":  # others have no such permissions
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, encoding="ascii", errors="replace") as file:
        about = os.fstat(descriptor)
        ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.getuid()
        key = file.read(200) if ours and not about.st_mode & 0o077 else ""
    return key if re.fullmatch(r"[\w-]{43}", key) else None


def _write_private(path: Path, key: str) -> None:
    if os.name != "posix":
        return
    with suppress(OSError):  # then open pages need the new address after a restart
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(key)


def _refuse_body(method: str, headers: Headers) -> Response | None:
    """Refuse a body by what its headers say of it, so that it is never read."""
    length = headers.get("content-length", "0")
    digits = length.lstrip("0") if length.isascii() and length.isdigit() else "9" * 9
    if len(digits) > len(str(LARGEST_BODY)) or int(digits or "0") > LARGEST_BODY:
        return _refuse(413, f"a request has at most {LARGEST_BODY:,} bytes.")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    # A form of another page cannot send this type without asking first.
    if method == "POST" and kind != "application/json":
        return _refuse(415, "a request has a body of the type application/json.")
    return None


def _refuse(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, {"connection": "close"})


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    extra = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_with_headers
