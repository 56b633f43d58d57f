"""Activities of this server's actors.

Each has an id of its own, other than its object's: some servers drop an activity with the id of a known object.
Activities without a document have an id with a `#` (`LocalNames.activity`). An activity that can be undone, such as a
Follow, has the id that is stored in its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from ....storage.engine.json_values import JsonObject
from ...shown.statuses import ShownStatus
from ..names import LocalNames
from ..vocabulary import PUBLIC, uri_of
from .actors import tombstone_of
from .contexts import PLAIN_CONTEXT, QUOTE_CONTEXT, TAGS_CONTEXT, embedded
from .notes import References, audience_of
from .tags import hashtag_of, instant


def create_of(note: JsonObject) -> JsonObject:
    """Return the Create of a note. It has a document of its own."""
    return _about(note, {
        "id": create_id_of(note["id"]),
        "type": "Create",
        "actor": note["attributedTo"],
        "published": note["published"],
        "to": note["to"],
        "cc": note["cc"],
    })  # fmt: skip


def create_id_of(note_uri: str) -> str:
    return f"{note_uri}/activity"


def update_of(note: JsonObject, now: datetime) -> JsonObject:
    """Return the Update of a note: an edit, or new counts of a poll. `now` makes its id unique."""
    return _about(note, {
        "id": f"{note['id']}#updates/{_number(now)}",
        "type": "Update",
        "actor": note["attributedTo"],
        "published": instant(now),
        "to": note["to"],
        "cc": note["cc"],
    })  # fmt: skip


def update_actor_of(actor: JsonObject, now: datetime) -> JsonObject:
    """Return the Update of an actor."""
    uri = actor["id"]
    return _about(actor, {
        "id": f"{uri}#updates/{_number(now)}", "type": "Update", "actor": uri, "to": [PUBLIC], "cc": [],
    })  # fmt: skip


def delete_of(actor: str, uri: str, to: Sequence[str] = (PUBLIC,), cc: Sequence[str] = ()) -> JsonObject:
    """Return the Delete of a status, addressed as the status was."""
    tombstone = embedded(tombstone_of(uri))
    return _activity("Delete", f"{uri}#delete", actor, tombstone, to, cc)


def delete_actor_of(actor: str) -> JsonObject:
    """Return the Delete of an actor by itself. Its object is the URI alone: not all servers understand more."""
    return _activity("Delete", f"{actor}#delete", actor, actor, [PUBLIC])


def follow_of(id: str, actor: str, target: str) -> JsonObject:
    """Return a Follow. `id` is stored, and reused if the actor sends the request again."""
    return _activity("Follow", id, actor, target, [target])


def accept_of(id: str, actor: str, follow: JsonObject) -> JsonObject:
    """Return the Accept of a Follow that an actor of this server received. The Follow is embedded with its own id."""
    return _activity("Accept", id, actor, embedded(follow), [follow["actor"]])


def reject_of(id: str, actor: str, follow: JsonObject) -> JsonObject:
    """Return the Reject of a Follow, also of a Follow that was accepted before."""
    return _activity("Reject", id, actor, embedded(follow), [follow["actor"]])


def undo_of(activity: JsonObject) -> JsonObject:
    """Return the Undo of an activity, which is embedded: some servers find it by its id, others by its object."""
    return _about(activity, {
        "id": f"{activity['id']}/undo",
        "type": "Undo",
        "actor": activity["actor"],
        "to": activity["to"],
        "cc": activity.get("cc", []),
    })  # fmt: skip


def like_of(id: str, actor: str, status_uri: str, author: str) -> JsonObject:
    return _activity("Like", id, actor, status_uri, [author])


def announce_of(shown: ShownStatus, names: LocalNames, references: References) -> JsonObject:
    """Return the Announce of a boost by an account of this server. Its id is the boost's URI."""
    boosted = shown.boosted
    if boosted is None:
        raise ValueError(f"status {shown.id} is not a boost")
    audience, actor = audience_of(shown, names, references), names.actor(shown.author.username)
    announce = _activity("Announce", shown.status.uri, actor, boosted.status.uri, audience.to, audience.cc)
    return announce | {"published": instant(shown.status.created_at)}


def block_of(id: str, actor: str, target: str) -> JsonObject:
    return _activity("Block", id, actor, target, [target])


def flag_of(id: str, names: LocalNames, target: str, status_uris: Sequence[str], comment: str) -> JsonObject:
    """Return a report about an account of another server, sent in the name of this server."""
    return _activity("Flag", id, names.server_actor, [target, *status_uris], [target]) | {"content": comment}


def add_of(actor: str, status_uri: str, featured: str, followers: str, now: datetime) -> JsonObject:
    """Return the Add of a pinned status to the collection `featured` of its author."""
    return _of_featured("Add", actor, status_uri, featured, followers, now)


def remove_of(actor: str, status_uri: str, featured: str, followers: str, now: datetime) -> JsonObject:
    return _of_featured("Remove", actor, status_uri, featured, followers, now)


def add_tag_of(actor: str, name: str, display_name: str, names: LocalNames, featured: str, now: datetime) -> JsonObject:
    """Return the Add of a hashtag to the profile of an actor."""
    return _of_featured_tag("Add", actor, hashtag_of(name, display_name, names), featured, now)


def remove_tag_of(
    actor: str, name: str, display_name: str, names: LocalNames, featured: str, now: datetime
) -> JsonObject:
    return _of_featured_tag("Remove", actor, hashtag_of(name, display_name, names), featured, now)


def move_of(actor: str, target: str, followers: str, now: datetime) -> JsonObject:
    """Return the Move of an account to another account."""
    move = _activity("Move", f"{actor}#moves/{_number(now)}", actor, actor, [followers])
    return move | {"target": target}


def vote_of(id: str, actor: str, poll_uri: str, author: str, option: str, now: datetime) -> JsonObject:
    """Return the Create of a vote. The vote is a Note without content, known to the author of the poll alone.

    `id` is the id of the Note. A ballot with several choices is several activities.
    """
    vote = {
        "id": id,
        "type": "Note",
        "name": option,
        "attributedTo": actor,
        "inReplyTo": poll_uri,
        "published": instant(now),
        "to": [author],
    }
    return _activity("Create", create_id_of(id), actor, vote, [author])


def quote_request_of(id: str, actor: str, quoted: str, quoting: JsonObject, author: str) -> JsonObject:
    """Return the request for permission to quote a status of another server. `quoting` is the note that quotes it."""
    request = _activity("QuoteRequest", id, actor, quoted, [author])
    return request | {"@context": _context_of(quoting, QUOTE_CONTEXT), "instrument": embedded(quoting)}


def accept_quote_of(id: str, actor: str, request: JsonObject, authorization: str) -> JsonObject:
    """Return the Accept of a QuoteRequest. `authorization` is the URI of the QuoteAuthorization, which other servers
    fetch."""
    accept = _activity("Accept", id, actor, _short_request(request), [request["actor"]])
    return accept | {"@context": QUOTE_CONTEXT, "result": authorization}


def reject_quote_of(id: str, actor: str, request: JsonObject) -> JsonObject:
    reject = _activity("Reject", id, actor, _short_request(request), [request["actor"]])
    return reject | {"@context": QUOTE_CONTEXT}


def _activity(
    kind: str, id: str, actor: str, object: object, to: Sequence[str], cc: Sequence[str] = ()
) -> JsonObject:  # fmt: skip
    return {
        "@context": PLAIN_CONTEXT,
        "id": id,
        "type": kind,
        "actor": actor,
        "object": object,
        "to": list(to),
        "cc": list(cc),
    }


def _about(document: JsonObject, activity: JsonObject) -> JsonObject:
    """Return an activity with a document embedded as its object, and with the document's context."""
    return {"@context": _context_of(document, PLAIN_CONTEXT), **activity, "object": embedded(document)}


def _context_of(document: JsonObject, otherwise: object) -> object:
    return document.get("@context", otherwise)


def _of_featured(
    kind: str, actor: str, status_uri: str, featured: str, followers: str, now: datetime
) -> JsonObject:  # fmt: skip
    activity = _activity(kind, f"{featured}#{kind.lower()}/{_number(now)}", actor, status_uri, [PUBLIC], [followers])
    return activity | {"target": featured}


def _of_featured_tag(kind: str, actor: str, hashtag: JsonObject, featured: str, now: datetime) -> JsonObject:
    # Two hashtags may be put on a profile within a millisecond: each name is in the id.
    name = quote(str(hashtag["name"]).removeprefix("#"))
    activity = _activity(kind, f"{featured}#{kind.lower()}-tag/{_number(now)}/{name}", actor, hashtag, [PUBLIC])
    return activity | {"@context": TAGS_CONTEXT, "target": featured}


def _short_request(request: JsonObject) -> JsonObject:
    """Return a QuoteRequest without the note that it may embed: its sender has the note."""
    return embedded(request) | {"instrument": uri_of(request.get("instrument"))}


def _number(now: datetime) -> int:
    """Return milliseconds since 1970. The activities of an object have different numbers, because each takes a turn."""
    return int(now.timestamp() * 1000)
