"""Finds the accounts and statuses that addresses of this server name, for search, the inbox, imports and pages.

Other servers and people write an address of this server in many ways (`activitypub/names.py`). Rows and the handlers of
activities know only the URI. So the addresses in documents of other servers are replaced by URIs before other code
reads the documents. At most 5,000 values of a document are searched, and 200 addresses read by one query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from cachetools import LRUCache

from ..storage import accounts
from ..storage.accounts import Account
from ..storage.engine.database import Connection, Database
from ..storage.engine.json_values import JsonObject, is_list, is_object
from ..storage.federation import own_addresses
from ..storage.federation.own_addresses import StatusAtAddress
from .activitypub.names import LocalAccountName, LocalNames, LocalStatusName, OwnName, ServerActorName

# The properties whose texts are URIs of objects. Texts for people, and addresses of files and pages, are not replaced.
REFERENCES = frozenset(
    {
        "_misskey_quote", "actor", "alsoKnownAs", "attributedTo", "audience", "bcc", "bto", "cc", "href", "id",
        "inReplyTo", "instrument", "movedTo", "object", "origin", "quote", "quoteUri", "quoteUrl", "target", "to",
    }
)  # fmt: skip
# Values of a document that are searched, the outer values first. Handlers use fewer values of every longer list.
MOST_VALUES = 5_000
MOST_ADDRESSES = 200  # of a document that are read from the database, because their URIs are not known
KNOWN_ACTORS = 10_000  # cached URIs of accounts

# An object or a list, the key or index of a value in it, and the value. `Any`: an object has keys, a list indexes.
Place = tuple[JsonObject | list[object], Any, str]
# Objects and lists of one depth, each with True if its texts are references.
Level = list[tuple[JsonObject | list[object], bool]]


class OwnAddressReader:
    """Reads addresses of this server with the database."""

    def __init__(self, database: Database, names: LocalNames) -> None:
        self._database = database
        self._names = names
        self._actors: LRUCache[str, None] = LRUCache(KNOWN_ACTORS)

    async def find(self, address: str) -> Account | int | None:
        """Return the account, or the id of the status, that an address names. Visibility is not checked."""
        match self._names.read(address):
            case LocalAccountName() as name:
                found = await self._database.read(accounts.find_by_acct, name.username, name.domain)
                return None if found is None or found.deleted_at is not None else found
            case LocalStatusName() as name:
                return next(iter(await self._database.read(status_ids, [name])), None)
            case _:
                return None

    async def uris(self, addresses: Collection[str]) -> dict[str, str]:
        """Return URIs by address. Addresses of other servers, or of objects without a URI, are left out.

        A status of this server need not exist: its URI follows from the name of its author.
        """
        read = {address: name for address in addresses if (name := self._names.read(address)) is not None}
        return await self._database.read(self._uris, read) if read else {}

    async def _uris(self, db: Connection, read: dict[str, OwnName]) -> dict[str, str]:
        spelled = {username for name in read.values() if (username := _local_username(name)) is not None}
        usernames = await own_addresses.usernames(db, sorted(spelled)) if spelled else {}
        ids = [name.id for name in read.values() if isinstance(name, LocalStatusName) and not _tells_uri(name)]
        statuses = await own_addresses.statuses(db, ids) if ids else {}
        found: dict[str, str] = {}
        for address, name in read.items():
            uri = self._uri(name, usernames, statuses)
            if uri is not None:
                found[address] = uri
        self._actors.update((self._names.actor(username), None) for username in usernames.values())
        return found

    def _uri(self, name: OwnName, usernames: dict[str, str], statuses: dict[int, StatusAtAddress]) -> str | None:
        username = usernames.get((_local_username(name) or "").lower())
        match name:
            case ServerActorName():
                return self._names.server_actor
            case LocalAccountName():
                return None if username is None else self._names.actor(username)
            case LocalStatusName() if _tells_uri(name):
                return None if username is None else self._names.status(username, name.id)
            case LocalStatusName():
                status = statuses.get(name.id)
                return status.uri if status is not None and _is_of(name, status) else None

    async def put_uris(self, document: JsonObject) -> None:
        """Replace the addresses of this server in a document of another server by the stored URIs."""
        places = list(islice((place for place in _references(document) if self._may_differ(place[2])), MOST_ADDRESSES))
        if places:
            uris = await self.uris({address for _, _, address in places})
            for container, key, address in places:
                if address in uris:
                    container[key] = uris[address]

    def _may_differ(self, address: str) -> bool:
        """False if an address is of another server, or is a URI already: its actor's URI is known."""
        if not self._names.may_be_own(address):
            return False
        actor, _, number = address.partition("/statuses/")
        return actor not in self._actors or (number != "" and not number.isdecimal())


async def status_ids(db: Connection, named: Sequence[LocalStatusName]) -> list[int]:
    """Return the ids of the named statuses that exist. A boost is replaced by the boosted status.

    The status must belong to the author in the address. Otherwise an address with a wrong author would be accepted.
    """
    found = await own_addresses.statuses(db, [name.id for name in named]) if named else {}
    return [found[name.id].shown_id for name in named if name.id in found and _is_of(name, found[name.id])]


def _references(document: JsonObject) -> Iterator[Place]:
    """Yield the places of the texts in a document that may be URIs, the outer texts first."""
    level: Level = [(document, False)]
    seen = 0
    while level and seen < MOST_VALUES:
        below: Level = []
        for container, refers in level:
            entries = container.items() if isinstance(container, dict) else enumerate(container)
            for key, value in islice(entries, MOST_VALUES - seen):
                seen += 1
                named = key in REFERENCES if isinstance(container, dict) else refers
                if isinstance(value, str):
                    if named:
                        yield container, key, value
                elif is_object(value) or is_list(value):
                    below.append((value, named))
        level = below


def _is_of(name: LocalStatusName, status: StatusAtAddress) -> bool:
    """True if a status belongs to the author that its address names, if it names one."""
    author = name.author
    return author is None or (author.username.lower(), author.domain) == (status.username, status.domain)


def _tells_uri(name: LocalStatusName) -> bool:
    """True if the URI of a status follows from its address, for which the status need not exist."""
    return _local_username(name) is not None and not name.by_activity


def _local_username(name: OwnName) -> str | None:
    """Return the name of the account of this server that an address names, or that its status belongs to."""
    author = name.author if isinstance(name, LocalStatusName) else name
    return author.username if isinstance(author, LocalAccountName) and author.domain is None else None
