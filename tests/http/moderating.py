"""Acts of staff on accounts: by the API, and in the turn of the account as the command line does them."""

from typing import Any

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.moderation import Action, ModerateAccount, UndoModeration
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.moderation import State

from ..clients import STAFF, Person, Stage
from ..rows import create_account


async def moderator(stage: Stage, name: str = "mod", role: str = "moderator") -> Person:
    return await stage.person(name, STAFF, role=role)


async def moderate(staff: Person, target: Person, type: str, **more: object) -> int:
    reply = await staff.post(f"/api/v1/admin/accounts/{target.id}/action", {"type": type, **more})
    return reply.status


async def act(stage: Stage, target: Account, action: Action) -> None:
    await stage.http_context.runtime.ask(account_address(target.id), ModerateAccount(COMMAND_LINE, action))


async def undo(stage: Stage, target: Account, state: State) -> None:
    await stage.http_context.runtime.ask(account_address(target.id), UndoModeration(COMMAND_LINE, state))


async def placed(stage: Stage) -> None:
    """Wait until the files of all accounts are where they belong."""
    await stage.until_gone("SELECT id FROM outbox WHERE kind = 'place_files'")


async def remote(stage: Stage, domain: str, name: str = "far") -> str:
    """An account of another server; its handle."""
    context, uri = stage.http_context, f"https://{domain}/users/{name}"
    new = NewAccount(context.ids.next(), name, domain, uri, uri, discoverable=True)
    await context.database.transact(create_account, new, context.clock.now())
    return f"{name}@{domain}"


async def states(stage: Stage, domain: str) -> list[Any]:
    """Whether the accounts of a domain are silenced, and whether they are suspended."""
    (row,) = await stage.rows(
        "SELECT silenced_at IS NOT NULL, suspended_at IS NOT NULL FROM accounts WHERE domain = $1", domain
    )
    return row
