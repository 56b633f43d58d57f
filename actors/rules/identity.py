"""The names of accounts and servers: the links that a local account's rows hold, handles, domains."""

from __future__ import annotations

import re

import idna

from ...storage.accounts import NewAccount

# `name`, `@name`, `name@domain`. The domain may be incomplete while it is typed.
HANDLE = re.compile(r"@?(?P<name>[A-Za-z0-9_.-]{1,2048})(?:@(?P<domain>[^\s@/]{0,259}))?")
DOMAIN = re.compile(r"(?=.{1,253}(?::|$))[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?")
USERNAME = re.compile(r"[A-Za-z0-9_]{1,30}")


def local_account(id: int, username: str, base_url: str) -> NewAccount:
    """Return a new account of this server, unlocked."""
    uri = f"{base_url}/users/{username}"
    return NewAccount(
        id=id,
        username=username,
        domain=None,
        uri=uri,
        url=f"{base_url}/@{username}",
        inbox_url=f"{uri}/inbox",
        shared_inbox_url=f"{base_url}/inbox",
        outbox_url=f"{uri}/outbox",
        followers_url=f"{uri}/followers",
        following_url=f"{uri}/following",
        featured_url=f"{uri}/collections/featured",
    )


def handle_of(written: str, local_domain: str) -> tuple[str, str | None] | None:
    """Return name and domain of a handle, the domain None for this server. None if it is no handle."""
    found = HANDLE.fullmatch(written.strip())
    if found is None:
        return None
    written_domain = found["domain"]
    domain = domain_of(written_domain) or written_domain.lower() if written_domain else None
    return found["name"], None if domain == local_domain else domain


def domain_of(written: str) -> str | None:
    """Return a domain as it is stored, in lower-case ASCII. None if it can't be one."""
    name, colon, port = written.strip().removeprefix("@").rstrip(".").partition(":")
    try:
        encoded = idna.encode(name, uts46=True).decode() + colon + port
    except idna.IDNAError:
        return None
    return encoded if DOMAIN.fullmatch(encoded) else None
