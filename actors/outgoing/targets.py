"""The target of a request: a URL, read strictly. If two programs read a URL in two ways, checks can be bypassed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from string import punctuation
from typing import Literal
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna

from .addresses import is_public
from .messages import ForbiddenTarget

LONGEST_URL = 2048
PORTS = {"https": 443, "http": 80}
# The ports below belong to services of the system, such as mail, which are not sent anything but mail.
FIRST_FREE_PORT = 1024

#: A host that ends in a number is an IPv4 address to `inet_aton`: 0x7f.1, 017700000001, 2130706433.
NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """A URL that the server may connect to. The addresses of its host are not checked yet."""

    scheme: Literal["https", "http"]
    host: str  # a name in lower-case ASCII, or an IP address without brackets
    port: int
    path: str  # with the query

    @property
    def origin(self) -> str:
        """The start of the URL, without a slash at the end."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """The value of a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return self.origin + self.path


def target_of(url: str, test_hosts: Collection[str] = (), *, free_ports: bool = False) -> RequestTarget:
    """Return the target of a URL. Raise ForbiddenTarget for a URL that the server never connects to.

    Test hosts may have plain http and other ports; all other hosts have https at port 443. With `free_ports`, the port
    may also be one from 1024 on.
    """
    target = written_target(url)
    if target.host in test_hosts:
        return target
    if target.scheme != "https":
        raise ForbiddenTarget("the URL is not https")
    if target.port != PORTS[target.scheme] and not (free_ports and target.port >= FIRST_FREE_PORT):
        raise ForbiddenTarget("the URL has a port of its own")
    return target


def written_target(url: str) -> RequestTarget:
    """Return the target of a URL, also if the server must not connect to it. Raise ForbiddenTarget for a text that is
    no web address, or a private IP address.

    The result is the URL in its normal spelling, without the part after `#`.
    """
    target = named_target(url)
    if _is_address(target.host) and not is_public(target.host):
        raise ForbiddenTarget("the address is not public")
    return target


def named_target(url: str) -> RequestTarget:
    """Return the target of a URL in the settings, which may have a private address. Raise ForbiddenTarget."""
    parts = _split(url)
    if "@" in parts.netloc:
        raise ForbiddenTarget("the URL names a user")
    host = _host(parts)
    if parts.scheme not in ("https", "http"):
        raise ForbiddenTarget("the URL is not https")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return RequestTarget(parts.scheme, host, _port(parts), quote(path, safe=punctuation))


def redirected(target: RequestTarget, location: str, read: Callable[[str], RequestTarget] = target_of) -> RequestTarget:
    """Return the target of a redirect. `read` has the rules of the client that follows it.

    Spaces are encoded, as in browsers, because many sites write addresses with spaces there.
    """
    location = location.strip(" ").replace(" ", "%20")
    _check_text(location)
    try:
        leads_to = urljoin(target.url, location)
    except ValueError:
        raise ForbiddenTarget("the URL can't be read") from None
    return read(leads_to)


def _split(url: str) -> SplitResult:
    _check_text(url)
    try:
        return urlsplit(url)
    except ValueError:
        raise ForbiddenTarget("the URL can't be read") from None


def _check_text(url: str) -> None:
    """Refuse characters that programs read differently, or remove before they read."""
    if len(url) > LONGEST_URL:
        raise ForbiddenTarget("the URL is too long")
    if not url.isprintable() or " " in url or "\\" in url:  # the other spaces are not printable
        raise ForbiddenTarget("the URL has characters that no URL has")


def _host(parts: SplitResult) -> str:
    try:
        host = parts.hostname or ""
    except ValueError:
        raise ForbiddenTarget("the URL can't be read") from None
    if parts.netloc.startswith("["):
        return _checked_address(host)
    name = _ascii(host)
    return _checked_address(name) if _is_address(name) else name


def _is_address(host: str) -> bool:
    return ":" in host or NUMERIC.fullmatch(host) is not None


def _checked_address(text: str) -> str:
    """Return an IP address in its normal spelling. Raise ForbiddenTarget for other spellings."""
    try:
        return str(IPv6Address(text) if ":" in text else IPv4Address(text))
    except ValueError:
        raise ForbiddenTarget("the URL has an address in an odd spelling") from None


def _ascii(host: str) -> str:
    """Return a name in lower-case ASCII and without the dot at its end."""
    try:
        name = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        raise ForbiddenTarget("the URL has no host") from None
    name = name.lower().removesuffix(".")
    if not name or len(name) > 253 or not all(map(LABEL.fullmatch, name.split("."))):
        raise ForbiddenTarget("the URL has no host")
    return name


def _port(parts: SplitResult) -> int:
    try:
        return PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        raise ForbiddenTarget("the URL has no port") from None
