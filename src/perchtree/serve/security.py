"""Who may ask: names of this service, pages of other sites, tokens; and what browsers are told.

A page of another site must not reach the service through its visitor's browser. A name that was
pointed at this machine (DNS rebinding) is not among the names the service answers to, and requests
that a browser sends on behalf of another site carry an `Origin` that is not ours.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.datastructures import Headers

from .problems import Problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_TOKEN = re.compile(r"[\x21-\x7e]{16,512}")
_OPEN = ("/", "/about", "/health", "/ready", "/docs", "/openapi.json")
_ASSETS = "/assets/"
"""What has no data, and can be read without a token."""
_READS = ("/v1/nearest", "/v1/predict")
"""POST requests that change nothing."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""With every answer."""


@dataclass(frozen=True)
class Access:
    """Whom the service answers.

    Attributes
    ----------
    hosts : set of str
        Names without a port that requests may call the service by.
    origins : set of str
        Other sites whose pages may use it, such as "https://team.example".
    write_token, read_token : str, optional
        With one of them, every request needs a token; only the first may change something.
    """

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()
    write_token: str | None = field(default=None, repr=False)
    read_token: str | None = field(default=None, repr=False)

    def check(self, method: str, path: str, headers: Headers, scheme: str) -> bool:
        """Raise a Problem unless the request may be answered; whether it may change something."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _without_port(hosts[0]) not in self.hosts:
            raise Problem(
                421, "this service does not go by that name: start it with --allow-host NAME"
            )
        self._check_origin(method, headers, f"{scheme}://{hosts[0].lower()}")
        if method == "OPTIONS" or path in _OPEN or path.startswith(_ASSETS):
            return False
        return self._check_token(method in ("GET", "HEAD") or path in _READS, headers)

    def _check_origin(self, method: str, headers: Headers, own: str) -> None:
        origin = headers.get("origin")
        foreign = origin is not None and origin.lower() != own and origin not in self.origins
        if foreign or (
            origin is None
            and method not in ("GET", "HEAD")
            and headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
        ):
            raise Problem(
                403, "pages of other sites may not use this service: start it with --allow-origin"
            )

    def _check_token(self, reads: bool, headers: Headers) -> bool:
        if self.write_token is None and self.read_token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise Problem(401, "a token is needed: send the header Authorization: Bearer TOKEN")
        writes, merely_reads = (
            _same(given.strip(), token) for token in (self.write_token, self.read_token)
        )
        if not writes and not merely_reads:
            raise Problem(401, "that token is not known")
        if not writes and not reads:
            raise Problem(403, "that token may only read")
        return writes


def _same(given: str, token: str | None) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def checked_token(token: str, where: str) -> str:
    """A token as it was found; ValueError if it is too short to be one."""
    token = token.strip()
    if not _TOKEN.fullmatch(token):
        raise ValueError(
            f"{where}: a token has 16 to 512 visible ASCII characters, none of them a space; "
            "`openssl rand -hex 32` makes one"
        )
    return token


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def host_names(address: str, more: Iterable[str]) -> frozenset[str]:
    """The names that a service at an address answers to."""
    names = {_bracketed(name.lower()) for name in more}
    if is_loopback(address):
        return LOOPBACK | names
    own = [] if address in ("0.0.0.0", "::") else [_bracketed(address.lower())]
    return frozenset(names.union(own))


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name and not name.startswith("[") else name
