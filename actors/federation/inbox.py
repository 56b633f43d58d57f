"""Applies the activities of other servers, from the queue `inbox`.

An activity is believed if its actor has signed it. If another actor has signed it (some servers forward answers), it
only names its object: the object is fetched from its own server.

The activities of an actor are applied in their order, those of a server on at most four lanes. An activity that fails
for the moment is put aside, so that later activities go on, except for those with the same subject: the account or post
that they are about. These wait behind it, because a follow, a favourite, a boost or a block must not outlive its Undo.
Edits of one post have a subject too, because two of them may have one time. Posts and deletions have none: tombstones
decide about them. An activity that meets a bug is dead-lettered, with a record in the log.

Activities that arrive in another order have the same result:

- The URI of a deleted object stays in `tombstones`. The id of an activity that is undone before it arrives stays there
  for six hours. A transaction that creates or undoes locks the URI first.
- A reply whose parent is not known here gets an id as its parent under which nothing is stored, so that it counts as a
  reply everywhere. It joins the thread when the parent arrives.
- Ids are drawn as for local statuses. A status that is older than six hours when it arrives gets an id of its own time:
  it has its place in timelines, and no stream shows it as news.
- Of two edits the later time wins. If times are equal or missing, the edit that arrived last wins. An Update that
  changes nothing visible is no edit.
- A deleted account keeps its URI and its handle for six hours, because earlier activities may still be on their way.
  After that an actor with these names is a new account, unless the old account was limited or suspended.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ...storage import outbox
from ...storage.engine.database import Connection, Doubtful, Unavailable
from ...storage.engine.json_values import JsonObject
from ...storage.federation import received_activities
from ..activitypub.follower_lists import HEADER, read_header
from ..activitypub.normalization import read_document
from ..activitypub.requests import SignatureRefused
from ..activitypub.uris import same_uri
from ..activitypub.vocabulary import MalformedDocument, host_of, object_of, types_of, uri_of
from ..effects.received_activities import ReceivedActivity, UnverifiedActivity, aside, put_aside
from ..effects.registry import Attempt, Finish, GivenUp
from ..kernel import NotAnswered, Origin
from ..kernel.errors import describe
from ..own_addresses import OwnAddressReader
from .activities import HANDLERS
from .activities.passed_on import follow_up
from .activities.relations import mark_of
from .budgets import caused_by, new_cause
from .errors import DocumentMissing, DocumentUnavailable, UntrustedDocument
from .follower_lists import FollowerLists
from .key_directory import KeyDirectory
from .receiving import Activity, InboxContext
from .reception import request_of, take_up

MOST_TRIES = 5  # of an activity that was put aside
FIRST_PAUSE = timedelta(seconds=10)
NO_PAUSE = timedelta()


class Inbox:
    """One for each process."""

    def __init__(self, context: InboxContext, directory: KeyDirectory) -> None:
        self._context = context
        self._directory = directory
        self._follower_lists = FollowerLists(context)
        self._own = OwnAddressReader(context.shared.database, context.names)

    async def apply(self, received: ReceivedActivity, attempt: Attempt) -> Finish | None:
        """Apply an activity. One that can't be applied just now is put aside; one that never can is given up."""
        try:
            document = read_document(received.body.encode())
        except MalformedDocument:
            return None
        await self._own.put_uris(document)
        subject = subject_of(document)
        partition = f"aside/{attempt.id}" if subject is None else aside(received.signer, subject)
        if not received.tried and subject is not None and await self._waits(partition):
            return partial(self._put_behind, received, partition, attempt)
        try:
            with caused_by(new_cause()):
                await self._apply(received, document, attempt)
        except (Unavailable, Doubtful):
            raise
        except (DocumentUnavailable, NotAnswered) as error:
            if received.tried and attempt.number >= MOST_TRIES:
                raise GivenUp(describe(error)) from error
            if received.tried:
                raise
            return partial(self._put_aside, received, document, partition, attempt)
        except (DocumentMissing, UntrustedDocument):
            return None
        except Exception as error:
            # A bug, or a document of an unforeseen shape: the activities after it go on.
            raise GivenUp(describe(error)) from error
        return None

    async def verify(self, unverified: UnverifiedActivity, attempt: Attempt) -> Finish | None:
        """Verify a request that was stored. Raises KeyUnavailable if its key still can't be had."""
        context = self._context
        request = request_of(unverified, context.names.base_url)
        try:
            actor = await self._directory.authenticate(request, unverified.received_at)
        except SignatureRefused as refusal:
            raise GivenUp(str(refusal)) from refusal
        if context.standing_of(actor.uri).suspended:
            return None
        told = unverified.headers.get(HEADER.lower())
        followers = told if read_header(told, actor.uri) is not None else None
        activity = ReceivedActivity(actor.uri, unverified.body, unverified.recipient, followers=followers)
        return partial(self._take_up, activity, actor.signed_at, attempt.origin)

    async def _waits(self, partition: str) -> bool:
        """True if an activity in a partition was put aside."""
        return await self._context.shared.database.read(outbox.exists, partition)

    async def _put_behind(
        self, received: ReceivedActivity, partition: str, attempt: Attempt, db: Connection, pause: timedelta = NO_PAUSE
    ) -> None:
        """Apply an activity after those of a partition, and not before a pause."""
        shared = self._context.shared
        again, host = replace(received, tried=True, followers=None), host_of(received.signer) or ""
        promise = put_aside(again, host, partition, shared.clock.now() + pause)
        await shared.outbox.promise(db, [promise], attempt.origin)

    async def _put_aside(
        self, received: ReceivedActivity, document: JsonObject, partition: str, attempt: Attempt, db: Connection
    ) -> None:
        """Try an activity again later, which could not be applied in its turn."""
        if "Follow" in types_of(document) and (id := uri_of(document)) is not None:
            # It comes once more: an Undo that is applied before, because it does not embed it, must be remembered.
            await received_activities.forget(db, mark_of(received.signer, id))
        await self._put_behind(received, partition, attempt, db, FIRST_PAUSE)

    async def _take_up(self, activity: ReceivedActivity, signed_at: datetime, origin: Origin, db: Connection) -> None:
        shared = self._context.shared
        await take_up(db, shared.outbox, activity, signed_at, shared.clock.now(), origin)

    async def _apply(self, received: ReceivedActivity, document: JsonObject, attempt: Attempt) -> None:
        context, origin = self._context, attempt.origin
        kind = next((kind for kind in types_of(document) if kind in HANDLERS), None)
        if kind is None or context.standing_of(received.signer).suspended:
            return
        if not same_uri(uri_of(document.get("actor")), received.signer):
            await follow_up(context, document, origin)
            return
        # An actor that deletes itself, or something that is not here, need not be asked who it is.
        find = context.stored_account if kind == "Delete" else context.resolver.account
        actor = await find(received.signer)
        if actor is None or actor.local or actor.deleted_at is not None:
            return
        if actor.suspended_at is not None and kind != "Delete":
            return
        recipient = None
        if received.recipient is not None:
            recipient = await context.local_account_id(context.names.actor(received.recipient))
        await HANDLERS[kind](context, Activity(actor, document, origin, recipient))
        if (told := read_header(received.followers, actor.uri)) is not None:
            await self._follower_lists.compare(actor, told, attempt.promised_at, origin)


ACTS = frozenset({"Follow", "Block", "Like", "Announce", "Add", "Remove", "Update"})
ANSWERS = frozenset({"Accept", "Reject"})


def subject_of(activity: JsonObject) -> str | None:
    """Return the URI of the account or the post that an activity of another server is about. None if it has no order.

    An Undo that does not embed what it undoes has none. It is remembered instead (`activities/undo.py`).
    """
    if "Undo" in types_of(activity):
        activity = object_of(activity.get("object")) or {}
    types, named = types_of(activity), activity.get("object")
    if not ANSWERS.isdisjoint(types):
        return _asking(named)
    return None if ACTS.isdisjoint(types) else uri_of(named)


def _asking(request: object) -> str | None:
    """Return the account that has sent a request. The ids of our requests begin with it."""
    embedded = object_of(request)
    if embedded is not None:
        return uri_of(embedded.get("actor"))
    uri = uri_of(request)
    return None if uri is None else uri.partition("#")[0]
