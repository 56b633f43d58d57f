"""Facts about the access to accounts."""

from __future__ import annotations

from dataclasses import dataclass

from .fact import Fact


@dataclass(frozen=True, slots=True)
class RevokedToken(Fact):
    """An access token that is valid no more: it was revoked or deleted."""

    token_hash: bytes
