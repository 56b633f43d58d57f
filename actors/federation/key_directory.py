"""Finds the key that a signed request names, proves its owner, and returns the actor that has signed.

A key belongs to an actor if the key's document names the actor as its owner, and the actor's document names the key. A
key without an owner belongs to the actor whose document contains it, or to the actor of the activity if that actor's
document names the key.

A request is refused only if its key was fetched and does not fit, or is gone. All other failures to fetch a key may be
temporary, and other servers never resend a refused request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import trio
from cachetools import TTLCache

from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ...storage.federation import actor_keys
from ...storage.federation.actor_keys import ActorKey
from ..activitypub import key_documents
from ..activitypub.normalization import read_document
from ..activitypub.requests import ReceivedRequest, SignatureRefused
from ..activitypub.signatures import claim_of, holds
from ..activitypub.uris import same_uri
from ..activitypub.vocabulary import LONGEST_URI, MalformedDocument, host_of, same_host, web_uri_of
from ..kernel import Clock
from ..memory.daily_quotas import DailyQuotas
from ..memory.single_flight import SingleFlight
from ..rules.domains import registrable
from .budgets import BudgetSpent, FetchBudget
from .errors import (
    DocumentGone,
    DocumentMissing,
    DocumentRefused,
    DocumentUnavailable,
    UnreadableDocument,
    UntrustedDocument,
)

REFETCH_AFTER = timedelta(minutes=1)  # a key that fails is fetched again, but not more often
REFETCHES = 60  # in this time, of the known keys of a registered domain
REFUSED_FOR = 60.0  # seconds that a key which could not be proven is not fetched again
REFUSED_KEPT = 10_000  # keys in memory: signatures can name any number of them

Fetch = Callable[[str], Awaitable[JsonObject]]


class KeyUnavailable(Exception):
    """Raised if the key can't be fetched now, so that the request can be neither accepted nor refused."""


class KeyGone(SignatureRefused):
    """Raised if the server of a key says that it is gone for good, as the keys of deleted actors are."""


@dataclass(frozen=True, slots=True)
class AuthenticatedActor:
    """The actor who has signed a request, and the time that the signature covers."""

    uri: str
    key_id: str
    signed_at: datetime


class KeyDirectory:
    """Finds and stores keys. Each process has an instance.

    `fetch` returns the document of a URI, proven to be of its host, and limits concurrent requests.
    """

    def __init__(self, database: Database, clock: Clock, fetch: Fetch, quotas: DailyQuotas) -> None:
        self._database = database
        self._clock = clock
        self._fetch = fetch
        self._quotas = quotas
        self._fetching: SingleFlight[str, ActorKey] = SingleFlight()
        self._refetches: TTLCache[str, FetchBudget] = TTLCache(
            REFUSED_KEPT, REFETCH_AFTER.total_seconds(), timer=trio.current_time
        )
        self._refused: TTLCache[str, str] = TTLCache(REFUSED_KEPT, REFUSED_FOR, timer=trio.current_time)

    async def authenticate(self, request: ReceivedRequest, at: datetime | None = None) -> AuthenticatedActor:
        """Return the actor who has signed a request. `at` is the time at which a stored request was received.

        Raise SignatureRefused if the signature is certainly invalid, and KeyUnavailable if that can't be decided now.
        """
        claim = claim_of(request, at or self._clock.now())
        if len(claim.key_id) > LONGEST_URI or not claim.key_id.isascii() or not claim.key_id.isprintable():
            raise SignatureRefused("the signature names no usable key")
        stored = await self._database.read(actor_keys.find, claim.key_id)
        if stored is not None:
            if holds(claim, stored.public_key):
                return AuthenticatedActor(stored.actor_uri, claim.key_id, claim.signed_at)
            if self._clock.now() < stored.fetched_at + REFETCH_AFTER:
                raise SignatureRefused("the signature is not of this key")
        # Concurrent requests with the same key share a fetch.
        fetch = partial(self._fetch_key, claim.key_id, request, is_known=stored is not None)
        key = await self._fetching.join(claim.key_id, fetch)
        if not holds(claim, key.public_key):
            raise SignatureRefused("the signature is not of this key")
        return AuthenticatedActor(key.actor_uri, claim.key_id, claim.signed_at)

    async def authenticate_known(self, request: ReceivedRequest, at: datetime) -> AuthenticatedActor | None:
        """Return the signer of a request that was received `at` a time; None if its key is not stored here."""
        claim = claim_of(request, at)
        stored = await self._database.read(actor_keys.find, claim.key_id)
        if stored is None or not holds(claim, stored.public_key):
            return None
        return AuthenticatedActor(stored.actor_uri, claim.key_id, claim.signed_at)

    async def _fetch_key(self, key_id: str, request: ReceivedRequest, *, is_known: bool) -> ActorKey:
        """Fetch a key and store it."""
        if (reason := self._refused.get(key_id)) is not None:
            raise SignatureRefused(reason)
        if not is_known and not self._quotas.take("keys", host_of(key_id) or ""):
            raise KeyUnavailable("too many new keys of one domain today")
        if is_known:
            self._count_refetch(key_id)
        try:
            key = await self._proven(key_id, request)
            await self._database.transact(actor_keys.put, key)
        except SignatureRefused as refusal:
            self._refused[key_id] = str(refusal)
            raise
        return key

    def _count_refetch(self, key_id: str) -> None:
        """Limit the requests to a host that invalid signatures with its known keys cause."""
        try:
            self._refetches.setdefault(registrable(host_of(key_id) or ""), FetchBudget(REFETCHES)).spend()
        except BudgetSpent as error:
            raise KeyUnavailable("too many keys of one domain were fetched again") from error

    async def _proven(self, key_id: str, request: ReceivedRequest) -> ActorKey:
        """Return a key as its server publishes it now, with its owner."""
        document = await self._document(key_id.partition("#")[0])
        key = key_documents.key_in(document, key_id)
        if key is None:
            raise SignatureRefused("the key is not in its document, or it can't be used")
        is_alone = key_documents.is_key(document, key_id)
        owner = key.owner or (_said_actor_of(request) if is_alone else web_uri_of(document))
        if owner is None or not same_host(owner, key_id):
            raise SignatureRefused("the key has no owner of its host")
        if not same_uri(web_uri_of(document), owner):
            document = await self._document(owner)
        uri = web_uri_of(document)
        own = key_documents.key_among(key_documents.keys_of_actor(document), key_id, uri)
        if own is None and is_alone and key_documents.names_key(document, key_id):
            own = key
        if uri is None or not same_uri(uri, owner) or own is None:
            raise SignatureRefused("the owner of the key does not name it, or it can't be used")
        return ActorKey(key_id, uri, own.pem, self._clock.now())

    async def _document(self, uri: str) -> JsonObject:
        try:
            return await self._fetch(uri)
        except (DocumentUnavailable, DocumentRefused, UnreadableDocument) as error:
            raise KeyUnavailable(str(error)) from error
        except DocumentGone as error:
            raise KeyGone("the key is gone") from error
        except (DocumentMissing, UntrustedDocument) as error:
            raise SignatureRefused("the key is not where the signature says") from error


def _said_actor_of(request: ReceivedRequest) -> str | None:
    """Return the actor that the activity of a request names."""
    try:
        return web_uri_of(read_document(request.body).get("actor"))
    except MalformedDocument:
        return None
