"""Undo: of a follow, a favourite, a boost, a block, or the acceptance of a follow.

Servers embed the undone activity or name it by its URI. If it has not arrived yet, the Undo is remembered for some
hours, so that the activity has no effect when it arrives. A Follow that ended here with a rejection or a block may be
sent again with its old URI.

An Undo is sent again if its server got no answer, or if the server uses the same Undo each time. So a repeated Undo
only undoes an activity that was applied again under the URI that the Undo names.
"""

from __future__ import annotations

import orjson

from ....storage import blocks, favourites, follows, relations, statuses
from ....storage.engine.database import Connection
from ....storage.engine.json_values import JsonObject
from ....storage.federation import received_activities, remote_statuses, tombstones
from ...activitypub.vocabulary import object_of, same_host, types_of, uri_of
from ...commands.blocks import Unblock
from ...commands.favourites import Unfavourite
from ...commands.follow_requests import RemoveFollower
from ...commands.follows import Unfollow
from ...commands.reblogs import Unreblog
from ...kernel import Message
from ..inbox_context import Activity, InboxContext
from .relations import actor_of, follow_digest, is_ban

UNDOABLE = ("Follow", "Like", "Announce", "Block", "Accept")

Undoing = Unfollow | Unfavourite | Unreblog | Unblock | RemoveFollower


async def undo(inbox: InboxContext, activity: Activity) -> None:
    uri, embedded = activity.object_uri, activity.object or {}
    if uri is not None and not same_host(uri, activity.actor.uri):
        uri = None  # the id is not trusted; the embedded activity is enough
    if embedded and actor_of(embedded) not in (None, activity.actor.uri):
        return
    digest = _undo_digest(activity)
    if uri is not None and await inbox.shared.database.read(received_activities.is_known, digest):
        embedded = {}
    command = await inbox.shared.database.transact(_find_or_note_deletion, inbox, activity, uri, embedded)
    match command:
        case None:
            pass
        case Unreblog():
            await inbox.ask(activity.actor.id, command, activity.origin)
        case _:
            message: Message[None] = command
            await inbox.ask(activity.actor.id, message, activity.origin)
    if command is not None:
        await inbox.shared.database.transact(received_activities.insert, digest, inbox.shared.clock.now())


def _undo_digest(activity: Activity) -> bytes:
    """Return the digest under which it is stored that an Undo was applied."""
    content = orjson.dumps(activity.document, option=orjson.OPT_SORT_KEYS).decode()
    return received_activities.digest_of(activity.actor.uri, activity.id, content)


async def _find_or_note_deletion(
    db: Connection, inbox: InboxContext, activity: Activity, uri: str | None, embedded: JsonObject
) -> Undoing | None:
    """Return the command that undoes the activity.

    If the activity was not applied, or the Undo does not embed it, store a tombstone: the activity may have been put
    aside after it was applied, and is then applied again.
    """
    if uri is not None:
        await tombstones.lock(db, [uri])
    command = await _by_object(db, activity, embedded) if embedded else None
    if command is None and uri is not None:
        command = await _by_uri(db, activity, uri)
    if (
        (command is None or not activity.object)  # a repeat has it too, though only its URI counts
        and uri is not None
        and not await received_activities.is_known(db, follow_digest(activity.actor.uri, uri))
    ):
        now = inbox.shared.clock.now()
        await tombstones.insert(db, uri, activity.actor.uri, now, now + tombstones.KEPT_FOR)
    return command


async def _by_object(db: Connection, activity: Activity, embedded: JsonObject) -> Undoing | None:
    actor, object_uri = activity.actor.id, uri_of(embedded.get("object"))
    kind = next((kind for kind in types_of(embedded) if kind in UNDOABLE), None)
    if kind in ("Follow", "Block", "Accept"):
        return await _with_account(db, actor, kind, embedded, object_uri)
    known = None if object_uri is None else await remote_statuses.find(db, object_uri)
    if known is None:
        return None
    if kind == "Like" and known.id in await favourites.of(db, actor, [known.id]):
        return Unfavourite(known.id)
    boosted = kind == "Announce" and await statuses.find_reblog(db, actor, known.id) is not None
    return Unreblog(known.id) if boosted else None


async def _with_account(
    db: Connection, actor: int, kind: str, embedded: JsonObject, object_uri: str | None
) -> Undoing | None:
    inner = object_of(embedded.get("object"))
    uri = actor_of(inner) if kind == "Accept" and inner is not None else object_uri
    other = None if uri is None else (await remote_statuses.account_ids(db, [uri])).get(uri)
    if other is None:
        return None
    if kind == "Accept":
        relation = await relations.find_relation(db, other, actor)
        return RemoveFollower(other) if relation.following else None
    relation = await relations.find_relation(db, actor, other)
    if kind == "Follow":
        return Unfollow(other) if relation.following or relation.requested else None
    return Unblock(other) if relation.blocking and not is_ban(embedded) else None


async def _by_uri(db: Connection, activity: Activity, uri: str) -> Undoing | None:
    actor = activity.actor.id
    if (target := await follows.target_of(db, actor, uri)) is not None:
        return Unfollow(target)
    if (status_id := await favourites.status_of(db, actor, uri)) is not None:
        return Unfavourite(status_id)
    if (target := await blocks.target_of(db, actor, uri)) is not None:
        return Unblock(target)
    boost = await remote_statuses.find(db, uri)
    if boost is None or boost.account_id != actor or boost.deleted:
        return None
    status = await statuses.find(db, boost.id)
    return Unreblog(status.reblog_of_id) if status is not None and status.reblog_of_id is not None else None
