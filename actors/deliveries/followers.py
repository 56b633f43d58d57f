"""Adds to followers-only deliveries a digest of the followers on the receiving server (FEP-8fcf)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import orjson
import trio
from cachetools import TTLCache

from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ...storage.federation import follower_lists
from ...storage.federation.activities import StoredActivity
from ..activitypub.follower_lists import HEADER, FollowerList, digest_of
from ..activitypub.names import LocalNames
from ..activitypub.vocabulary import PUBLIC, origin_of, uris_of
from ..memory.single_flight import SingleFlight

NO_FOLLOWERS = digest_of(())
# An outdated digest does no harm: the list that is fetched because of it does not fit the digest, and nothing is
# changed.
SECONDS = 60.0
MOST_DIGESTS = 100_000  # that are cached, of all accounts together


class FollowerDigests:
    """The digests of accounts' followers by servers. All deliveries of an activity share a query."""

    def __init__(self, database: Database, names: LocalNames) -> None:
        self._database = database
        self._names = names
        self._known: TTLCache[int, Mapping[str, str]] = TTLCache(
            MOST_DIGESTS, SECONDS, timer=trio.current_time, getsizeof=lambda digests: 1 + len(digests)
        )
        self._reading: SingleFlight[int, Mapping[str, str]] = SingleFlight()

    async def headers_of(self, activity: StoredActivity, inbox: str) -> Mapping[str, str]:
        """Return the header for the delivery of an activity; empty unless the activity is for followers alone."""
        account_id, origin = activity.account_id, origin_of(inbox)
        username = None if account_id is None or origin is None else self._author_for_followers(activity.body)
        if account_id is None or origin is None or username is None:
            return {}
        digest = (await self._digests_of(account_id)).get(origin, NO_FOLLOWERS)
        names = self._names
        part = FollowerList(names.followers(username), names.followers_synchronization(username), digest)
        return {HEADER: part.header}

    def _author_for_followers(self, body: str) -> str | None:
        """Return the user who sends an activity to followers alone."""
        document: JsonObject = orjson.loads(body)
        username = self._names.username_of(document["actor"])
        audience = {*uris_of(document.get("to")), *uris_of(document.get("cc"))}
        if username is None or PUBLIC in audience or self._names.followers(username) not in audience:
            return None
        return username

    async def _digests_of(self, account_id: int) -> Mapping[str, str]:
        """Return digests by the scheme and host of servers. Concurrent deliveries share a query."""
        known = self._known.get(account_id)
        return known if known is not None else await self._reading.join(account_id, partial(self._read, account_id))

    async def _read(self, account_id: int) -> Mapping[str, str]:
        digests = await self._database.read(follower_lists.digests, account_id)
        if len(digests) < MOST_DIGESTS:
            self._known[account_id] = digests
        return digests
