"""Fetches accounts of other servers again, as an operator has asked for."""

from __future__ import annotations

from ...storage import accounts
from ...storage.engine.database import Database
from .resolver import Resolver


class Refresher:
    """One for each process."""

    def __init__(self, database: Database, resolver: Resolver) -> None:
        self._database = database
        self._resolver = resolver

    async def refresh(self, account_id: int) -> None:
        """Fetch an account again. Raise DocumentUnavailable if its server can't be asked now."""
        account = await self._database.read(accounts.find, account_id)
        if account is not None and not account.local and account.deleted_at is None:
            await self._resolver.refresh(account)
