"""Token: a new access token, as its client gets it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def token_fields(secret: str, scopes: Iterable[str], created_at: datetime) -> dict[str, object]:
    return {
        "access_token": secret,
        "token_type": "Bearer",
        "scope": " ".join(scopes),
        "created_at": int(created_at.timestamp()),
    }
