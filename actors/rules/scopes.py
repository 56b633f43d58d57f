"""The tree of OAuth scopes: their names, the scopes that a parent grants, and the words for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

DEFAULT = ("read",)

# fmt: off
READ = (
    "accounts", "blocks", "bookmarks", "collections", "favourites", "filters", "follows", "lists", "mutes",
    "notifications", "search", "statuses",
)
WRITE = (
    "accounts", "blocks", "bookmarks", "collections", "conversations", "favourites", "filters", "follows", "lists",
    "media", "mutes", "notifications", "reports", "statuses",
)
ADMIN = (
    "accounts", "reports", "domain_allows", "domain_blocks", "email_domain_blocks", "ip_blocks",
    "canonical_email_blocks",
)
# fmt: on

CHILDREN: dict[str, frozenset[str]] = {
    "read": frozenset(f"read:{name}" for name in READ),
    "write": frozenset(f"write:{name}" for name in WRITE),
    "follow": frozenset(f"{way}:{name}" for way in ("read", "write") for name in ("blocks", "follows", "mutes")),
    "admin:read": frozenset(f"admin:read:{name}" for name in ADMIN),
    "admin:write": frozenset(f"admin:write:{name}" for name in ADMIN),
}
# Old clients still ask for these. No endpoint needs them any more.
RETIRED = frozenset({"crypto", "read:reports"})

ALL: frozenset[str] = frozenset({"profile", "push", *CHILDREN}).union(*CHILDREN.values())

# The consent page marks both kinds. These contain many others, and most apps ask for them.
BROAD: frozenset[str] = frozenset({"read", "write", "follow"})
# It warns only of these, which reach other people's data. Users stop reading a warning that every app gets.
FAR_REACHING: frozenset[str] = frozenset(scope for scope in ALL if scope.startswith("admin:"))

WORDS = {
    "profile": "see your name and profile",
    "push": "send you push notifications",
    "read": "read all of your account's data",
    "write": "change all of your account's data and post in your name",
    "follow": "change the accounts you follow, mute and block",
    "admin:read": "read all data of this server, other people's too",
    "admin:write": "change all data of this server, other people's too",
}
NOUNS = {
    "accounts": "your account's profile",
    "blocks": "the accounts you block",
    "bookmarks": "your bookmarks",
    "collections": "your collections",
    "conversations": "your conversations",
    "favourites": "your favourites",
    "filters": "your filters",
    "follows": "the accounts you follow",
    "lists": "your lists",
    "media": "your media files",
    "mutes": "the accounts you mute",
    "notifications": "your notifications",
    "reports": "your reports about others",
    "search": "search results on your behalf",
    "statuses": "your posts, and those you can see",
}


def parse(text: str) -> tuple[str, ...]:
    """Return the scopes of a parameter in the order given, each once."""
    return tuple(dict.fromkeys(text.replace("+", " ").replace(",", " ").split()))


def known(scopes: Iterable[str]) -> bool:
    """True if an app may be registered with these."""
    return all(scope in ALL or scope in RETIRED for scope in scopes)


def covers(granted: Collection[str], wanted: str) -> bool:
    """True if the granted scopes contain `wanted` or a parent of it."""
    return wanted in granted or any(wanted in CHILDREN.get(scope, ()) for scope in granted)


def covers_all(granted: Collection[str], wanted: Iterable[str]) -> bool:
    """True if every wanted scope is granted. An authorization is checked against its app by this."""
    return all(covers(granted, scope) for scope in wanted)


@lru_cache(maxsize=4096)
def granted(scopes: tuple[str, ...], needed: tuple[str, ...]) -> bool:
    """True if a token with `scopes` may call an endpoint that accepts any of `needed`, or needs none."""
    return not needed or any(covers(scopes, scope) for scope in needed)


def in_words(scope: str) -> str:
    """Return the text of a scope on the consent page."""
    if scope in WORDS:
        return WORDS[scope]
    *way, noun = scope.split(":")
    if way[:1] == ["admin"]:
        verb = "read" if way[1:] == ["read"] else "change"
        return f"{verb} {noun.replace('_', ' ')} of this server, other people's too"
    return f"{'see' if way == ['read'] else 'change'} {NOUNS.get(noun, noun)}"
