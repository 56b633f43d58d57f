"""The servers of NATS that a node may connect to: those of the setting `bus_url`, and those that a server names.

`nats://user:password@a:4222,b,c` names three servers. What an item lacks is taken from the item before it: the scheme,
and the user with the password. `tls://` demands TLS; with `nats://` the server decides. A user without a password is a
token, or the seed of an nkey. Texts of errors never contain what stands before the @.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from msgspec import structs

from .nkeys import is_seed, sign
from .protocol import Connect, Info

PORT = 4222
SCHEMES = {"nats": False, "tls": True}
# The most servers that are taken from an INFO. Clusters of NATS are rarely larger than 7.
MOST_NAMED = 64
HOST = re.compile(r"[A-Za-z0-9_.:-]{1,253}(%[A-Za-z0-9_.-]{1,15})?")  # also an address of IPv6, with its zone


class BadBusUrl(ValueError):
    """Raised for a `bus_url` that can't be read. The text is for the operator, and contains no secret."""


@dataclass(frozen=True, slots=True)
class BrokerLogin:
    """The login at a server. `user` alone is a token, or a seed."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def complete(self, options: Connect, info: Info) -> Connect:
        """Return the options with this login."""
        if self.password:
            return structs.replace(options, user=self.user, password=self.password)
        if is_seed(self.user):
            key, signature = sign(self.user, info.nonce)
            return structs.replace(options, nkey=key, sig=signature)
        return structs.replace(options, auth_token=self.user)


@dataclass(frozen=True, slots=True)
class BrokerServer:
    """The place of a server, and how to connect to it. Its certificate must be for the name `certified`."""

    host: str
    port: int
    demands_tls: bool
    certified: str
    login: BrokerLogin = field(default=BrokerLogin(), repr=False)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(urls: str) -> Sequence[BrokerServer]:
    """Return the servers of a `bus_url`. Raises BadBusUrl."""
    servers: list[BrokerServer] = []
    scheme, login = "nats", BrokerLogin()
    for item in urls.split(","):
        text = item.strip()
        if "://" in text:
            scheme, _, text = text.partition("://")
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname or "", parts.port or PORT
        except ValueError:
            raise BadBusUrl(UNREADABLE) from None  # its text repeats a part of the URL
        if scheme not in SCHEMES:
            raise BadBusUrl("its addresses begin with nats:// or tls://")
        if HOST.fullmatch(host) is None or parts.path.strip("/") or parts.query or parts.fragment:
            raise BadBusUrl(UNREADABLE)
        if parts.username:
            login = BrokerLogin(unquote(parts.username), unquote(parts.password or ""))
        servers.append(BrokerServer(host, port, SCHEMES[scheme], host, login))
    return servers


UNREADABLE = (
    "it looks like nats://user:password@host:4222,host2:4222, and in user and password each of"
    " / : @ , # ? % is written as % and two hexadecimal digits"
)


class BrokerServers:
    """The servers to try. `chance` returns a random number from 0 to 1, and decides in which order they are tried."""

    def __init__(self, configured: Sequence[BrokerServer], chance: Callable[[], float]) -> None:
        self._configured = configured
        self._named: Sequence[BrokerServer] = ()
        self._chance = chance

    def learn(self, info: Info, server: BrokerServer, *, over_tls: bool) -> None:
        """Take the servers that a server has named. They replace those that were named before.

        A server that names none may only be told to keep silent about its cluster. So the former stay.
        """
        if info.connect_urls:
            found = (_named(place, server, over_tls) for place in info.connect_urls[:MOST_NAMED])
            known = {(server.host, server.port) for server in self._configured}
            self._named = [other for other in found if other is not None and (other.host, other.port) not in known]

    def in_turn(self, last: BrokerServer | None) -> Sequence[BrokerServer]:
        """Return all servers in a random order. The one that was used last stands at the end."""
        servers = [*self._configured, *self._named]
        return sorted(servers, key=lambda server: (server == last, self._chance()))


def _named(place: str, by: BrokerServer, over_tls: bool) -> BrokerServer | None:
    """Return the server at a place that another server has named. None if it can't be read.

    Servers mostly name addresses, which stand in no certificate: theirs must be for the name of the server that has
    named them.
    """
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if port is None or parts.username or HOST.fullmatch(host) is None:
        return None
    return replace(
        by, host=host, port=port, demands_tls=over_tls, certified=by.certified if _is_address(host) else host
    )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
