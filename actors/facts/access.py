"""Facts about the access to accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import sessions
from ..kernel import Origin
from ..promises import Promise
from .accounts import ChangedAccount
from .fact import Fact, Facts, StoredFact, stored_as


@dataclass(frozen=True, slots=True)
class RevokedToken(Fact):
    """An access token that was revoked or deleted."""

    token_hash: bytes


@stored_as("access", {"account": "account_id"})
@dataclass(frozen=True, slots=True)
class EndedAccess(StoredFact):
    """Some tokens of an account were revoked. After a crash the relay publishes all revoked tokens of the account."""

    account_id: int

    def promise(self) -> Promise:
        """Return the promise to publish the fact. The turn publishes each revoked token itself, unless it crashes."""
        return Promise(self, f"access/{self.account_id}", account=self.account_id)

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        revoked = await facts.database.read(sessions.revoked_tokens, self.account_id)
        return [ChangedAccount(self.account_id), *(RevokedToken(token_hash) for token_hash in revoked)]
