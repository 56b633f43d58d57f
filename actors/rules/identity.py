"""How a local account is named on the web: the links that its rows hold from the first day on."""

from __future__ import annotations

import re

from ...storage.accounts import NewAccount

USERNAME = re.compile(r"[A-Za-z0-9_]{1,30}")


def local_account(id: int, username: str, base_url: str) -> NewAccount:
    """A new account of this server, unlocked."""
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
