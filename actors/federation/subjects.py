"""The subjects of activities, whose order matters: an Undo ends what came before it, and not what comes after.

Two activities of an actor with the same subject are applied in the order of their arrival, also if the first one is
tried again later. Edits of one post are so too, because two of them may have one time. Posts and deletions have no
subject: tombstones decide about them.
"""

from __future__ import annotations

from ...storage.engine.json_values import JsonObject
from ..activitypub.vocabulary import object_of, types_of, uri_of

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
