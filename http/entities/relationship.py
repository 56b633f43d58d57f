"""Relationship. It never shows that an account blocks the viewer."""

from __future__ import annotations

from ...storage.relations import Relationship
from .times import maybe_instant


def relationship_fields(relationship: Relationship) -> dict[str, object]:
    return {
        "id": str(relationship.id),
        "following": relationship.following,
        "showing_reblogs": relationship.showing_reblogs,
        "notifying": relationship.notifying,
        "languages": None if relationship.languages is None else list(relationship.languages),
        "followed_by": relationship.followed_by,
        "blocking": relationship.blocking,
        "muting": relationship.muting,
        "muting_notifications": relationship.muting_notifications,
        "muting_expires_at": maybe_instant(relationship.muting_expires_at),
        "requested": relationship.requested,
        "requested_by": relationship.requested_by,
        "domain_blocking": relationship.domain_blocking,
        "endorsed": relationship.endorsed,
        "note": relationship.note,
    }
