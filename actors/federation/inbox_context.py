"""A received activity, and the context of its handlers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from ...storage import accounts
from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject
from ...storage.federation import remote_statuses
from ...storage.federation.remote_statuses import KnownStatus
from ..activitypub.names import LocalNames
from ..activitypub.notes import ReceivedNote
from ..activitypub.vocabulary import host_of, object_of, same_host, types_of, uri_of
from ..broadcast.broadcast import account_address
from ..context import ActorContext
from ..kernel import Message, Origin, Refused, Runtime
from ..rules.domains import SUSPENDED, DomainRules, DomainStanding
from ..rules.identity import domain_of
from .background_jobs import Job

R = TypeVar("R")


class Resolves(Protocol):
    """Finds accounts and statuses of other servers by their URIs, stored or fetched. The methods return None for an
    object that does not exist or is not proven, and raise DocumentUnavailable if the other server gives no answer now.
    """

    async def account(self, uri: str) -> Account | None: ...

    async def refresh(self, account: Account, *, has_changed: bool = False) -> Account | None: ...

    async def status(self, uri: str) -> int | None: ...

    def find_parents_later(self, uri: str) -> None: ...

    def find_latest_later(self, account: Account, accepted_since: datetime) -> None: ...

    def do_later(self, work: str, uri: str, job: Job) -> None: ...

    async def find_parts(self, note: ReceivedNote) -> None: ...


class Fetches(Protocol):
    """Fetches documents of other servers. Raises a FetchFailed."""

    async def fetch(self, uri: str) -> JsonObject: ...

    async def fetch_collection(self, url: str) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class InboxContext:
    """The context of the handlers of activities."""

    shared: ActorContext
    runtime: Runtime
    names: LocalNames
    resolver: Resolves
    fetcher: Fetches

    async def ask(self, account_id: int, message: Message[R], origin: Origin) -> R | None:
        """Send a command to an account. Return None if it was refused: the sender gets no answer to an activity."""
        try:
            return await self.runtime.ask(account_address(account_id), message, origin=origin)
        except Refused:
            return None

    async def status(self, uri: str | None) -> KnownStatus | None:
        """Return the status with a URI if it is stored here and not deleted."""
        known = None if uri is None else await self.shared.database.read(remote_statuses.find, uri)
        return None if known is None or known.deleted else known

    async def account_id(self, uri: str | None) -> int | None:
        """Return the id of the account with a URI if it is stored here, of this or another server."""
        return None if uri is None else (await self.shared.database.read(remote_statuses.account_ids, [uri])).get(uri)

    async def local_account_id(self, uri: str | None) -> int | None:
        """Return the id of the account of this server with a URI."""
        return await self.account_id(uri) if uri is not None and self.names.is_local(uri) else None

    async def stored_account(self, uri: str) -> Account | None:
        """Return the account with a URI if it is stored here, also if it is suspended. Nothing is fetched."""
        ids = await self.shared.database.read(remote_statuses.stored_account_ids, [uri])
        return await self.shared.database.read(accounts.find, ids[uri]) if uri in ids else None

    def standing_of(self, uri: str) -> DomainStanding:
        """Return the standing of the server of a URI."""
        return standing_of(self.shared.blocks.domains, uri)


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity of an account of another server, which has signed it."""

    actor: Account
    document: JsonObject
    origin: Origin
    recipient: int | None = None  # the local account whose own inbox received it

    @property
    def id(self) -> str | None:
        """Its URI, if it is of the actor's server."""
        id = uri_of(self.document)
        return id if id is not None and same_host(id, self.actor.uri) else None

    @property
    def object_uri(self) -> str | None:
        return uri_of(self.document.get("object"))

    @property
    def object(self) -> JsonObject | None:
        """The embedded object. The caller checks which parts of it the actor may determine."""
        return object_of(self.document.get("object"))

    @property
    def object_types(self) -> list[str]:
        return types_of(self.object or {})


def standing_of(rules: DomainRules, uri: str) -> DomainStanding:
    """Return the standing of the server of a URI. A text that is no web address counts as suspended."""
    domain = domain_of(host_of(uri) or "")
    return SUSPENDED if domain is None else rules.standing_of(domain)
