"""`troupe accounts`: list, change and delete accounts of this server, and known accounts of other servers."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ...actors.rules.identity import pasted_domain
from ...actors.rules.mailboxes import spelled
from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .account_merges import merge
from .account_states import STATES, approve, reject
from .account_upkeep import refresh, rotate_keys
from .chosen_server import ChosenServer
from .gone_accounts import cull
from .names import InvalidAccount, find_account, lock_local, notify_servers
from .new_accounts import ROLES, check_account, create, import_
from .options import (
    account_argument,
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    print_list,
    setting_options,
    yes_option,
)
from .refusals import require

if TYPE_CHECKING:
    from ...actors.staff.acts import StaffAct
    from ...storage.accounts import Account
    from ...storage.admin_accounts import AccountFilter, AdminUser, Status
    from ...storage.engine.database import Connection
    from ...storage.moderation import ModeratedRow
    from ...storage.users import User
    from .rows import Here

STATUSES = ("active", "pending", "disabled", "silenced", "suspended", "sensitized")


@click.group
def accounts() -> None:
    """Accounts of this server, and known accounts of other servers."""


for command in (create, import_, approve, reject, *STATES, refresh, rotate_keys, cull, merge):
    accounts.add_command(command)


@accounts.command("list")
@json_option
@click.option("--local/--remote", default=None, help="Only accounts of this server, or only of others.")
@click.option("--status", type=click.Choice(STATUSES), help="Only accounts in this state.")
@click.option("--role", type=click.Choice(ROLES), help="Only users with this role.")
@click.option("--username", metavar="TEXT", help="Only names that begin so.")
@click.option("--email", metavar="TEXT", help="Only e-mail addresses that begin so, or of a domain: @example.org.")
@click.option("--by-domain", metavar="DOMAIN", help="Only accounts of this server.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most accounts.")
@setting_options("data")
def list_(
    server: ChosenServer,
    as_json: bool,
    local: bool | None,
    status: Status | None,
    role: str | None,
    username: str | None,
    email: str | None,
    by_domain: str | None,
    limit: int,
) -> None:
    """List accounts, the newest first: id, name, role, e-mail address, states."""
    from ...actors.rules.domains import sought_addresses
    from ...storage.admin_accounts import AccountFilter

    beginning, email_domain = sought_addresses(email or "")
    wanted = AccountFilter(
        local, frozenset([status] if status else ()), None if role is None else frozenset([role]),
        username=username and username.removeprefix("@"), email=beginning, email_domain=email_domain,
        domain=by_domain and (pasted_domain(by_domain) or by_domain),
    )  # fmt: skip
    print_list(server.transact(_found, wanted, limit), _line, as_json=as_json)


async def _found(db: Connection, here: Here, wanted: AccountFilter, limit: int) -> list[JsonObject]:
    """Return accounts by a filter, newest first, as JSON."""
    from ...storage import admin_accounts

    return await _described(db, await admin_accounts.page(db, wanted, Page(limit)))


def _line(account: JsonObject) -> str:
    columns = (
        account["id"],
        f"@{account['account']}",
        account.get("role", "-"),
        account.get("email", "-"),
        _joined(account["states"]),
    )
    return "\t".join(str(column) for column in columns)


@accounts.command
@account_argument
@json_option
@setting_options("data", "domain")
def show(server: ChosenServer, name: str, as_json: bool) -> None:
    """Show the account NAME, a line for each of its facts."""
    found = server.transact(_one, name)
    if as_json:
        print_json(found)
    for fact, value in () if as_json else found.items():
        click.echo(f"{fact}\t{_shown(value)}")


async def _one(db: Connection, here: Here, handle: str) -> JsonObject:
    """Return an account, as JSON. Raises InvalidAccount."""
    found = await find_account(db, here, handle)
    (described,) = await _described(db, [found.id])
    return described


def _joined(states: str | int | list[str] | None) -> str:
    return ", ".join(states) if isinstance(states, list) else ""


def _shown(value: str | int | list[str] | None) -> str:
    """Return a fact on a single line: a person may have written several."""
    written = _joined(value) if isinstance(value, list) else "" if value is None else str(value)
    return " ".join(written.split()) or "-"


async def _described(db: Connection, ids: Sequence[int]) -> list[JsonObject]:
    from ...storage import accounts, admin_accounts

    found = await accounts.find_many(db, ids)
    owners = await admin_accounts.find_users(db, ids)
    return [_as_json(found[id], owners.get(id)) for id in ids if id in found]


def _as_json(account: Account, user: AdminUser | None) -> JsonObject:
    fields: JsonObject = {
        "id": str(account.id),
        "account": account.acct,
        "states": _states(account, user),
        "created_at": account.created_at.isoformat(),
        "last_status_at": None if account.last_status_at is None else account.last_status_at.isoformat(),
        "statuses": account.statuses_count,
        "followers": account.followers_count,
    }
    if user is not None:
        fields |= {
            "email": user.email,
            "role": user.role,
            "ip": user.addresses[0].ip if user.addresses else None,
            "ips": [f"{address.ip} {address.used_at.isoformat()}" for address in user.addresses],
            "locale": user.locale,
            "invite_request": user.invite_request,
        }
    return fields


def _states(account: Account, user: AdminUser | None) -> list[str]:
    states = {
        "unconfirmed": user is not None and user.confirmed_at is None,
        "unapproved": user is not None and user.approved_at is None,
        "disabled": user is not None and user.disabled_at is not None,
        "silenced": account.silenced_at is not None,
        "sensitized": account.sensitized_at is not None,
        "suspended": account.suspended_at is not None,
    }
    return [state for state, holds in states.items() if holds]


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """The changes to a user. Each change that is given is made, or none at all."""

    role: str | None = None
    email: str | None = None
    confirm: bool = False
    approve: bool = False
    password_hash: str | None = None
    disable_two_factor: bool = False


@accounts.command
@account_argument
@click.option("--role", type=click.Choice(ROLES), help="What the account may do to others.")
@click.option("--email", metavar="ADDRESS", help="The address to sign in with. You vouch for it: no link is sent.")
@click.option("--confirm", is_flag=True, help="The e-mail address is known to be right.")
@click.option("--approve", is_flag=True, help="Approve the sign-up.")
@click.option("--reset-password", is_flag=True, help="Print a new password, and end all sessions and tokens.")
@click.option("--disable-2fa", is_flag=True, help="Let the user sign in without a code.")
@yes_option
@setting_options("data", "domain")
def modify(
    server: ChosenServer,
    name: str,
    role: str | None,
    email: str | None,
    confirm: bool,
    approve: bool,
    reset_password: bool,
    disable_2fa: bool,
    yes: bool,
) -> None:
    """Change the user of NAME: all that is asked for, or nothing. Changes hold at once.

    A new password needs a confirmation.
    """
    from ...actors.rules.passwords import hashed

    password = secrets.token_urlsafe(12) if reset_password else None
    changes = AccountChanges(role, email, confirm, approve, password and hashed(password), disable_2fa)
    if changes == AccountChanges():
        raise click.UsageError("Say what to change.")
    if reset_password:
        ask_first(lambda: f"Give {name} a new password, and end all sessions and tokens?", yes=yes)
    acct = server.transact(_modify, name, changes)
    click.echo(f"Changed @{acct}" if password is None else f"Changed @{acct}, new password: {password}")


async def _modify(db: Connection, here: Here, handle: str, wanted: AccountChanges) -> str:
    """Make changes to the user of an account. Return its name."""
    from ...actors.commands.accounts import GiveRole, give_role
    from ...actors.commands.moderation import named, publish_moderated
    from ...storage import registration

    account, target = await lock_local(db, here, handle)
    act = here.act
    if wanted.role is not None:
        require(await give_role(act, account.id, GiveRole(act.staff, wanted.role)))
    if wanted.approve:
        await _approve(db, act, account)
    if wanted.email is not None:
        await _change_email(db, act, target, wanted.email)
    if wanted.confirm and await registration.confirm(db, account.id, here.now):
        await act.log("confirm", named(target))
    if wanted.password_hash is not None:
        await _reset_password(db, act, target, wanted.password_hash)
    if wanted.disable_two_factor:
        await _disable_two_factor(db, act, target)
    await publish_moderated(act, account.id)
    await notify_servers(db)
    return account.acct


async def _approve(db: Connection, act: StaffAct, account: Account) -> None:
    from ...actors.commands.accounts import ApproveSignUp, approve

    user = await _user(db, account.id)
    if user.approved_at is None:
        require(await approve(act, account.id, ApproveSignUp(act.staff)))


async def _change_email(db: Connection, act: StaffAct, target: ModeratedRow, email: str) -> None:
    """Store another address. The operator vouches for it: a confirmed user stays confirmed."""
    from ...actors.commands.moderation import named
    from ...actors.effects.mail import notice
    from ...actors.mail.templates import EMAIL_CHANGED
    from ...storage import registration

    check_account(target.username, email)
    before = await _user(db, target.id)
    try:
        await registration.change_email(db, target.id, spelled(email))
    except registration.Taken:
        raise InvalidAccount(f"the e-mail address {email} is taken") from None
    await act.log("change_email", named(target))
    act.promise(notice(EMAIL_CHANGED, before))


async def _reset_password(db: Connection, act: StaffAct, target: ModeratedRow, new_hash: str) -> None:
    """Store a new password, and end all access by the old password."""
    from ...actors.commands.moderation import named
    from ...actors.effects.mail import notice
    from ...actors.facts.access import EndedAccess
    from ...actors.mail.templates import PASSWORD_CHANGED
    from ...storage import passwords, sessions

    await passwords.replace(db, target.id, new_hash)
    await sessions.delete_others(db, target.id, b"")
    await sessions.revoke_tokens(db, target.id, act.now)
    await act.log("reset_password", named(target))
    act.promise(EndedAccess(target.id).promise(), notice(PASSWORD_CHANGED, await _user(db, target.id)))


async def _disable_two_factor(db: Connection, act: StaffAct, target: ModeratedRow) -> None:
    from ...actors.commands.moderation import named
    from ...actors.effects.mail import notice
    from ...actors.mail.templates import TWO_FACTOR_OFF
    from ...storage import two_factor

    if await two_factor.disable(db, target.id):
        await act.log("disable_2fa", named(target))
        act.promise(notice(TWO_FACTOR_OFF, await _user(db, target.id)))


async def _user(db: Connection, account_id: int) -> User:
    from ...storage import users

    user = await users.find_user(db, account_id)
    if user is None:
        raise InvalidAccount(f"the account {account_id} has no user")
    return user


@accounts.command
@account_argument
@dry_run_option
@yes_option
@setting_options("data", "domain")
def delete(server: ChosenServer, name: str, dry_run: bool, yes: bool) -> None:
    """Delete NAME, as its user would. There is no way back.

    The account is hidden at once, and its user can't sign in any more. The running server erases its posts and files;
    if none runs, the next server does as soon as it starts.
    """

    def delete_it(*, dry: bool) -> JsonObject:
        return server.transact(_delete, name, dry_run=dry)

    def question() -> str:
        return f"Delete {_counted(delete_it(dry=True))} for ever?"

    if not dry_run:
        ask_first(question, yes=yes)
    found = delete_it(dry=dry_run)
    if dry_run:
        click.echo(f"Would delete {_counted(found)}.")
    else:
        click.echo(f"Deleted @{found['account']}. The server erases its data, now or when it starts.")


async def _delete(db: Connection, here: Here, handle: str) -> JsonObject:
    """Delete an account, as its user would. Return the deleted account as JSON."""
    from ...actors.commands.accounts import delete

    account = await find_account(db, here, handle)
    require(await delete(here.act, account.id))
    await notify_servers(db)
    return {
        "account": account.acct,
        "statuses": account.statuses_count,
        "followers": account.followers_count,
        "following": account.following_count,
    }


def _counted(found: JsonObject) -> str:
    posts, followers = number_of(found["statuses"], "posts"), number_of(found["followers"], "followers")
    return f"@{found['account']} with {posts} and {followers}"
