"""Finds the key that a signed request names, proves whose it is, and says which actor has signed.

A key belongs to an actor if the key's document names the actor as its owner, and the actor's document names the key. A
key that names no owner belongs to the actor that has it in its document, or that names it and says to have signed.

A request is refused only if a key was got and does not fit, or is gone. Whatever else keeps a key from being had may
pass, and other servers never send again what was refused.
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
from ..activitypub.key_documents import is_key, key_among, key_in, keys_of_actor, names_key
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
REFETCHES = 60  # in such a time, of the known keys of one registered domain
REFUSED_FOR = 60.0  # seconds that a key which could not be proven is not fetched again
REFUSED_KEPT = 10_000  # keys in memory: signatures can name any number of them

Fetch = Callable[[str], Awaitable[JsonObject]]


class KeyUnavailable(Exception):
    """Raised if the key can't be had just now, so that the request can be neither accepted nor refused."""


class KeyGone(SignatureRefused):
    """Raised if the server of a key says that it is gone for good, as the keys of deleted actors are."""


@dataclass(frozen=True, slots=True)
class AuthenticatedActor:
    """The actor who has signed a request, and the time that the signature covers."""

    uri: str
    key_id: str
    signed_at: datetime


class KeyDirectory:
    """One for each process. `fetch` returns the document of a URI, proven to be of its host, and limits how many
    it asks for at the same time."""

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
        """Return the actor who has signed a request. One that was stored has come `at` a time before now.

        Raise SignatureRefused if it is certain that the signature is not good, and KeyUnavailable if that can't be
        known now.
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
        # Requests that need the same key wait for the first of them.
        fetch = partial(self._fetch_key, claim.key_id, request, is_known=stored is not None)
        key = await self._fetching.join(claim.key_id, fetch)
        if not holds(claim, key.public_key):
            raise SignatureRefused("the signature is not of this key")
        return AuthenticatedActor(key.actor_uri, claim.key_id, claim.signed_at)

    async def recognise(self, request: ReceivedRequest, at: datetime) -> AuthenticatedActor | None:
        """Return who has signed a request that has come `at` a time, if it is by a key that is known here."""
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
        """Limit the requests that wrong signatures in the name of known keys cause to their host."""
        try:
            self._refetches.setdefault(registrable(host_of(key_id) or ""), FetchBudget(REFETCHES)).spend()
        except BudgetSpent as error:
            raise KeyUnavailable("too many keys of one domain were fetched again") from error

    async def _proven(self, key_id: str, request: ReceivedRequest) -> ActorKey:
        """Return a key as its server has it now, with its owner."""
        document = await self._document(key_id.partition("#")[0])
        key = key_in(document, key_id)
        if key is None:
            raise SignatureRefused("the key is not in its document, or it can't be used")
        is_alone = is_key(document, key_id)
        owner = key.owner or (_said_actor_of(request) if is_alone else web_uri_of(document))
        if owner is None or not same_host(owner, key_id):
            raise SignatureRefused("the key has no owner of its host")
        if not same_uri(web_uri_of(document), owner):
            document = await self._document(owner)
        uri = web_uri_of(document)
        own = key_among(keys_of_actor(document), key_id, uri)
        if own is None and is_alone and names_key(document, key_id):
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
