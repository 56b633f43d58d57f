"""Applies the activities of other servers, from the queue `inbox`.

An activity is trusted if its actor has signed it. If another actor has signed it (some servers forward replies), only
the URI of its object is used: the object is fetched from its own server.

The activities of an actor are applied in their order, those of a server on at most four workers. An activity that fails
temporarily is put aside, so that later activities go on. Activities with the same subject (the account or post that
they are about) wait behind it, because a follow, a favourite, a boost or a block must not outlive its Undo. Edits of a
post have a subject too, because two edits may have the same time. Posts and deletions have no subject: tombstones
decide about them. An activity that meets a bug is dead-lettered, with a record in the log.

Activities that arrive in another order have the same result:

- The URI of a deleted object stays in `tombstones`. The id of an activity that is undone before it arrives stays there
  for six hours. A transaction that creates or undoes locks the URI first.
- A reply whose parent is not known here gets an id as its parent under which nothing is stored, so that it counts as a
  reply everywhere. It joins the thread when the parent arrives.
- Ids are drawn as for local statuses. A status that is older than six hours when it arrives gets an id of its own time:
  it has its place in timelines, and no stream shows it.
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
from .activities.forwarded import fetch_forwarded
from .activities.relations import follow_digest
from .budgets import caused_by, new_cause
from .errors import DocumentMissing, DocumentUnavailable, UntrustedDocument
from .follower_lists import FollowerLists
from .inbox_context import Activity, InboxContext
from .key_directory import KeyDirectory
from .reception import request_of, take_up

MOST_TRIES = 5  # of an activity that was put aside
FIRST_PAUSE = timedelta(seconds=10)
NO_PAUSE = timedelta()


class Inbox:
    """Applies and verifies received activities. Each process has an instance."""

    def __init__(self, context: InboxContext, directory: KeyDirectory) -> None:
        self._context = context
        self._directory = directory
        self._follower_lists = FollowerLists(context)
        self._own = OwnAddressReader(context.shared.database, context.names)

    async def apply(self, received: ReceivedActivity, attempt: Attempt) -> Finish | None:
        """Apply an activity, or return a function that puts it aside if it fails for now. Raise GivenUp for a bug."""
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
        """Verify a request that was stored. Raises KeyUnavailable if its key still can't be fetched."""
        context = self._context
        request = request_of(unverified, context.names.base_url)
        try:
            actor = await self._directory.authenticate(request, unverified.received_at)
        except SignatureRefused as refusal:
            raise GivenUp(str(refusal)) from refusal
        if context.standing_of(actor.uri).suspended:
            return None
        header = unverified.headers.get(HEADER.lower())
        followers = header if read_header(header, actor.uri) is not None else None
        activity = ReceivedActivity(actor.uri, unverified.body, unverified.recipient, followers=followers)
        return partial(self._take_up, activity, actor.signed_at, attempt.origin)

    async def _waits(self, partition: str) -> bool:
        """True if an activity in a partition was put aside."""
        return await self._context.shared.database.read(outbox.exists, partition)

    async def _put_behind(
        self, received: ReceivedActivity, partition: str, attempt: Attempt, db: Connection, pause: timedelta = NO_PAUSE
    ) -> None:
        """Apply an activity after the others of a partition, and not before a pause."""
        shared = self._context.shared
        again, host = replace(received, tried=True, followers=None), host_of(received.signer) or ""
        promise = put_aside(again, host, partition, shared.clock.now() + pause)
        await shared.outbox.promise(db, [promise], attempt.origin)

    async def _put_aside(
        self, received: ReceivedActivity, document: JsonObject, partition: str, attempt: Attempt, db: Connection
    ) -> None:
        """Queue a retry of an activity that could not be applied in its order."""
        if "Follow" in types_of(document) and (id := uri_of(document)) is not None:
            # The Follow is applied later. An Undo that does not embed the Follow may be applied before, and must be
            # remembered.
            await received_activities.forget(db, follow_digest(received.signer, id))
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
            await fetch_forwarded(context, document, origin)
            return
        # The actor of a Delete need not be fetched: if it is not stored here, there is nothing to delete.
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
        if (followers := read_header(received.followers, actor.uri)) is not None:
            await self._follower_lists.compare(actor, followers, attempt.promised_at, origin)


ACTS = frozenset({"Follow", "Block", "Like", "Announce", "Add", "Remove", "Update"})
ANSWERS = frozenset({"Accept", "Reject"})


def subject_of(activity: JsonObject) -> str | None:
    """Return the URI of the account or post that an activity is about; None if it needs no order.

    An Undo that does not embed the undone activity has no subject. It is remembered instead (`activities/undo.py`).
    """
    if "Undo" in types_of(activity):
        activity = object_of(activity.get("object")) or {}
    types, named = types_of(activity), activity.get("object")
    if not ANSWERS.isdisjoint(types):
        return _requester_of(named)
    return None if ACTS.isdisjoint(types) else uri_of(named)


def _requester_of(request: object) -> str | None:
    """Return the account that has sent a request. The ids of our requests begin with it."""
    embedded = object_of(request)
    if embedded is not None:
        return uri_of(embedded.get("actor"))
    uri = uri_of(request)
    return None if uri is None else uri.partition("#")[0]
