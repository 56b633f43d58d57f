"""The URIs of this server: makes them, and finds the account or status that a URI names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

import idna

LONGEST_ADDRESS = 2048
LARGEST_ID = 2**63 - 1
LONGEST_PATH = 512  # also of a query that is read: a document can name many addresses
PORTS = {"https": "443", "http": "80"}
# The origin of a web address. `urllib` takes six times as long to find it, and documents of other servers may have
# thousands of addresses.
ORIGIN = re.compile(
    r"(?P<scheme>[hH][tT][tT][pP][sS]?)://(?P<host>\[[0-9a-fA-F:.]*\]|[^/?#@:\\\[\]]+)(?::(?P<port>[0-9]{0,5}))?(?=[/?#]|$)"
)

NAME = r"(?P<name>[A-Za-z0-9_]{1,30})"
# The name of an account with its domain, also with the domain of this server.
HANDLE = r"@(?P<name>[A-Za-z0-9_.-]{1,2048})@(?P<domain>[^\s@/]{1,259})"
STATUS_ID = r"(?P<id>[0-9]{1,19})"
# The tabs of a profile name the account. The page for frames and the lists of accounts of a status name the status.
TABS = r"(?:/(?:with_replies|media|featured|followers|following))?"
LISTS = r"(?:/(?:embed|favourites|quotes|reblogs))?"
JSON = r"(?:\.json)?"  # the same document, for programs that can't send a header
# The paths of accounts and statuses: ActivityPub ids, pages, and pages as Mastodon's web client has them.
PATHS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"/users/{NAME}{JSON}",
        rf"/users/{NAME}/statuses/{STATUS_ID}(?:{JSON}|(?P<activity>/activity))",
        rf"(?:/web|/deck)?/@{NAME}(?:{JSON}|{TABS})",
        rf"(?:/web|/deck)?/@{NAME}/{STATUS_ID}(?:{JSON}|{LISTS})",
        rf"(?:/web|/deck)?/{HANDLE}{TABS}",
        rf"(?:/web|/deck)?/{HANDLE}/{STATUS_ID}{LISTS}",
        rf"(?:/web|/deck)?/statuses/{STATUS_ID}",
    )
)
SERVER_ACTOR = "/actor"
# The page of this server that other servers open with the URI of a status or an account.
INTERACTION = "/authorize_interaction"
# The fragments in the ids of activities without a document. These ids are not read as addresses of the actor.
ACTIVITY = re.compile(r"[a-z_]+/[^/]+")


@dataclass(frozen=True, slots=True)
class LocalAccountName:
    """The name of an account in an address of this server. `domain` is None for an account of this server.

    The account need not exist, and the case of the name is as it was written.
    """

    username: str
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class LocalStatusName:
    """A status in an address of this server. It need not exist, nor belong to the author that the address names.

    `author` is None for an address that names no author. With `by_activity` it is the address of the activity by which
    the status was published. That of a boost leads to the boosted status, which is in the database.
    """

    author: LocalAccountName | None
    id: int
    by_activity: bool = False


@dataclass(frozen=True, slots=True)
class ServerActorName:
    """The actor of this server."""


OwnName = LocalAccountName | LocalStatusName | ServerActorName


@dataclass(frozen=True, slots=True)
class LocalNames:
    """The names below `base_url`, such as `https://troupe.test`."""

    base_url: str

    @property
    def domain(self) -> str:
        """The domain in the handles of this server's accounts."""
        return self.base_url.partition("://")[2]

    @property
    def server_actor(self) -> str:
        """The actor that signs requests that no account makes."""
        return f"{self.base_url}/actor"

    @property
    def shared_inbox(self) -> str:
        return f"{self.base_url}/inbox"

    def actor(self, username: str) -> str:
        return f"{self.base_url}/users/{username}"

    def inbox(self, username: str) -> str:
        return f"{self.actor(username)}/inbox"

    def outbox(self, username: str) -> str:
        return f"{self.actor(username)}/outbox"

    def followers(self, username: str) -> str:
        return f"{self.actor(username)}/followers"

    def followers_synchronization(self, username: str) -> str:
        """The followers of an actor on the server that sends the request."""
        return f"{self.actor(username)}/followers_synchronization"

    def following(self, username: str) -> str:
        return f"{self.actor(username)}/following"

    def featured(self, username: str) -> str:
        """The collection of an actor's pinned statuses."""
        return f"{self.actor(username)}/collections/featured"

    def featured_tags(self, username: str) -> str:
        return f"{self.actor(username)}/collections/tags"

    def status(self, username: str, id: int) -> str:
        return f"{self.actor(username)}/statuses/{id}"

    def quote_authorization(self, username: str, quoting_id: int) -> str:
        """The document by which an actor allows a quote of its status. `quoting_id` is the id of the quoting status
        here."""
        return f"{self.actor(username)}/quote_authorizations/{quoting_id}"

    def activity(self, username: str, kind: str, number: int) -> str:
        """The id of an activity without a document. `kind` is a plural such as `follows`."""
        return f"{self.actor(username)}#{kind}/{number}"

    def emoji(self, id: int) -> str:
        return f"{self.base_url}/emojis/{id}"

    def file(self, name: str) -> str:
        """The address of a file of the media folder."""
        return f"{self.base_url}/media/{name}"

    def is_local(self, uri: str) -> bool:
        """True for an address of this server in any spelling, also if nothing is there."""
        return uri == self.base_url or uri.startswith(f"{self.base_url}/") or self._parts(uri) is not None

    def read(self, address: str) -> OwnName | None:
        """Return the name of the account, status or server actor at an address of this server; None for other
        addresses.

        Scheme, case of the host, explicit default port, query, fragment, percent-encoding and a slash at the end do not
        matter.
        """
        parts = self._parts(address.strip())
        if parts is None:
            return None
        path, query, fragment = parts
        # An encoded slash is no separator.
        if len(path) > LONGEST_PATH or "%2f" in path.lower() or ACTIVITY.fullmatch(fragment):
            return None
        path = unquote(path).removesuffix("/")
        # Names have only printable characters, and PostgreSQL stores no text with a NUL.
        if not path.isprintable():
            return None
        if path == SERVER_ACTOR:
            return ServerActorName()
        if path == INTERACTION:
            return self._read_interaction(query)
        found = next((match for pattern in PATHS if (match := pattern.fullmatch(path))), None)
        return None if found is None else self._name_in(found.groupdict())

    def _read_interaction(self, query: str) -> OwnName | None:
        if len(query) > LONGEST_PATH:
            return None
        address = dict(parse_qsl(query)).get("uri", "")
        return None if INTERACTION in address else self.read(address)

    def _name_in(self, groups: Mapping[str, str | None]) -> OwnName | None:
        name, domain, id = groups.get("name"), groups.get("domain"), groups.get("id")
        author = None if name is None else LocalAccountName(name, self._domain_of_others(domain))
        if id is None:
            return author
        if int(id) > LARGEST_ID:
            return None
        return LocalStatusName(author, int(id), by_activity=groups.get("activity") is not None)

    def username_of(self, uri: str) -> str | None:
        """Return the name of the account of this server that an address names."""
        found = self.read(uri)
        return found.username if isinstance(found, LocalAccountName) and found.domain is None else None

    def _domain_of_others(self, written: str | None) -> str | None:
        domain = None if written is None else written.lower()
        return None if domain == self.domain else domain

    def may_be_own(self, address: str) -> bool:
        """False for most addresses of other servers. A cheap test, before the address is parsed."""
        return self.domain.partition(":")[0] in address.lower() or not address.isascii()

    def _parts(self, address: str) -> tuple[str, str, str] | None:
        """Return path, query and fragment of a web address of this server; None for all other texts."""
        if len(address) > LONGEST_ADDRESS or not self.may_be_own(address) or not address.isprintable():
            return None
        found = ORIGIN.match(address)
        if found is None:
            return None
        host, port, own = found["host"].lower().rstrip("."), found["port"], self.domain.removesuffix(":443")
        if not host.isascii():
            host = _ascii_host(host) if len(host) <= len(own) else ""  # a name is longer in ASCII
        if own != (f"{host}:{port}" if port and port != PORTS[found["scheme"].lower()] else host):
            return None
        rest, _, fragment = address[found.end() :].partition("#")
        path, _, query = rest.partition("?")
        return path, query, fragment


def _ascii_host(host: str) -> str:
    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return ""


def key_id_of(actor_uri: str) -> str:
    """Return the id of the key with which an actor of this server signs."""
    return f"{actor_uri}#main-key"
