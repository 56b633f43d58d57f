"""Client apps that know nothing of Troupe: Mastodon.py as it is on the package index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mastodon import Mastodon

# The types of Mastodon.py are not complete. By those that it has, a status may have no account.
App = Any


def app_of(url: str, access_token: str | None = None) -> App:
    """Return an app that has a token of a user, or none."""
    return Mastodon(access_token=access_token, api_base_url=url, ratelimit_method="throw", request_timeout=30)


def registered_app(url: str, scopes: Sequence[str], redirect_uri: str | None = None) -> App:
    """Return an app that has registered itself."""
    client_id, secret = Mastodon.create_app("Walker", scopes=list(scopes), redirect_uris=redirect_uri, api_base_url=url)
    return Mastodon(client_id, secret, api_base_url=url, ratelimit_method="throw", request_timeout=30)
