"""What an account can be told to do, a file a noun. Importing this registers every command's turn."""

from . import (
    bookmarks,
    conversation_mutes,
    domain_blocks,
    edits,
    endorsements,
    favourites,
    markers,
    notifications,
    pins,
    polls,
    profiles,
    reblogs,
    relations,
    requests,
    statuses,
)

__all__ = [
    "bookmarks",
    "conversation_mutes",
    "domain_blocks",
    "edits",
    "endorsements",
    "favourites",
    "markers",
    "notifications",
    "pins",
    "polls",
    "profiles",
    "reblogs",
    "relations",
    "requests",
    "statuses",
]
