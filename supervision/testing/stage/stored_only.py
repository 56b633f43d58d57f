"""Other servers that answer no questions: what is known of them is in the rows."""

from __future__ import annotations

from datetime import datetime

from ....actors.activitypub.notes import ReceivedNote
from ....actors.context import ActorContext
from ....actors.federation.errors import DocumentMissing
from ....actors.federation.later_jobs import Job
from ....storage import remote_accounts, remote_statuses
from ....storage.accounts import Account
from ....storage.engine.json_values import JsonObject


class StoredOnly:
    """Finds accounts and statuses of other servers among the rows, and nothing else."""

    def __init__(self, context: ActorContext) -> None:
        self._context = context

    async def account(self, uri: str) -> Account | None:
        return await self._context.database.read(remote_accounts.find, uri)

    async def refresh(self, account: Account, *, has_changed: bool = False) -> Account | None:
        return await self.account(account.uri)

    async def status(self, uri: str) -> int | None:
        known = await self._context.database.read(remote_statuses.find, uri)
        return None if known is None or known.deleted else known.id

    def find_parents_later(self, uri: str) -> None:
        """Other servers do not tell what a status answers."""

    def find_latest_later(self, account: Account, accepted_since: datetime) -> None:
        """Nor do they show what an account has published."""

    def do_later(self, work: str, uri: str, job: Job) -> None:
        """Other servers are asked for nothing."""

    async def find_parts(self, note: ReceivedNote) -> None:
        """Nor do they tell of the accounts and statuses that one names."""

    async def fetch_collection(self, url: str) -> JsonObject:
        return await self.fetch(url)

    async def fetch(self, uri: str) -> JsonObject:
        raise DocumentMissing(f"nothing is fetched in a simulation, and {uri} neither")
