"""Finds the key that a signed request names, proves whose it is, and says which actor has signed.

A key belongs to an actor if the key's document names the actor as its owner, and the actor's document names the key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import trio
from cachetools import TTLCache

from ...storage import actor_keys
from ...storage.actor_keys import ActorKey
from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ..activitypub.key_documents import keys_of_actor, owner_of_key
from ..activitypub.requests import ReceivedRequest, SignatureRefused
from ..activitypub.signatures import SignatureClaim, claim_of, holds
from ..activitypub.vocabulary import LONGEST_URI, host_of, same_host
from ..daily_quotas import DailyQuotas
from ..kernel import Clock
from .errors import DocumentMissing, DocumentUnavailable, UntrustedDocument

REFETCH_AFTER = timedelta(minutes=1)  # a key that fails is fetched again, but not more often
REFUSED_FOR = 60.0  # seconds that a key which could not be proven is not fetched again
REFUSED_KEPT = 10_000  # keys in memory: signatures can name any number of them

Fetch = Callable[[str], Awaitable[JsonObject]]


class KeyUnavailable(Exception):
    """Raised if the key can't be had just now, so that the request can be neither accepted nor refused."""


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
        self._fetching: dict[str, trio.Event] = {}
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
        key = await self._fresh(claim, is_known=stored is not None)
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

    async def _fresh(self, claim: SignatureClaim, *, is_known: bool) -> ActorKey:
        """Fetch a key and store it. Requests that need the same one wait for the first of them."""
        key_id = claim.key_id
        while (fetching := self._fetching.get(key_id)) is not None:
            await fetching.wait()
            stored = await self._database.read(actor_keys.find, key_id)
            if stored is not None and self._clock.now() < stored.fetched_at + REFETCH_AFTER:
                return stored
        if (reason := self._refused.get(key_id)) is not None:
            raise SignatureRefused(reason)
        if not is_known and not self._quotas.take("keys", host_of(key_id) or ""):
            raise KeyUnavailable("too many new keys of one domain today")
        self._fetching[key_id] = trio.Event()
        try:
            key = await self._proven(key_id)
            await self._database.transact(actor_keys.put, key)
        except SignatureRefused as refusal:
            self._refused[key_id] = str(refusal)
            raise
        finally:
            self._fetching.pop(key_id).set()
        return key

    async def _proven(self, key_id: str) -> ActorKey:
        """Return a key as its server has it now, with its owner."""
        document = await self._document(key_id.partition("#")[0])
        owner = owner_of_key(document, key_id)
        if owner is None or not same_host(owner, key_id):
            raise SignatureRefused("the key has no owner of its host")
        if document.get("id") != owner:
            document = await self._document(owner)
        key = next((one for one in keys_of_actor(document) if one.id == key_id), None)
        if document.get("id") != owner or key is None:
            raise SignatureRefused("the owner of the key does not name it, or it can't be used")
        return ActorKey(key_id, owner, key.pem, self._clock.now())

    async def _document(self, uri: str) -> JsonObject:
        try:
            return await self._fetch(uri)
        except DocumentUnavailable as error:
            raise KeyUnavailable(str(error)) from error
        except (DocumentMissing, UntrustedDocument) as error:
            raise SignatureRefused("the key is not where the signature says") from error
