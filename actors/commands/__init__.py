"""The commands that accounts and lists take, one file for each noun.

Importing this registers the turn of every command.
"""

from . import (
    bookmarks,
    conversation_mutes,
    conversations,
    domain_blocks,
    edits,
    endorsements,
    favourites,
    featured_tags,
    follow_requests,
    lists,
    markers,
    media,
    notes,
    notifications,
    pins,
    polls,
    profiles,
    reblogs,
    registration,
    relations,
    scheduled_statuses,
    statuses,
)

__all__ = [
    "bookmarks",
    "conversation_mutes",
    "conversations",
    "domain_blocks",
    "edits",
    "endorsements",
    "favourites",
    "featured_tags",
    "follow_requests",
    "lists",
    "markers",
    "media",
    "notes",
    "notifications",
    "pins",
    "polls",
    "profiles",
    "reblogs",
    "registration",
    "relations",
    "scheduled_statuses",
    "statuses",
]
