"""Making accounts and tokens directly in the rows, for the commands and the import."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.effects.mail import mail
from ...actors.kernel.ids import Ids
from ...actors.mail.templates import CONFIRMATION
from ...actors.outbox import new_effect
from ...actors.rules.identity import USERNAME, local_account
from ...actors.rules.mailboxes import is_mailbox, spelled
from ...http.access import scopes as scope_tree
from ...storage import accounts, oauth, outbox, users
from ...storage.accounts import Account
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.oauth import Application, NewToken
from ...storage.secrets import hash_of
from ...storage.users import NewUser
from ..configuration import Settings
from ..domain import base_url, require_domain
from .finding import InvalidAccount, WrongAccount

ROLES = ("user", "moderator", "admin", "owner")
CLIENT_ID = "troupe-command-line"
CLIENT_NAME = "troupe command line"
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"


@dataclass(frozen=True, slots=True)
class RequestedAccount:
    """One account to make. With `password_hash` None no password works."""

    username: str
    email: str
    password_hash: str | None
    role: str = "user"
    confirmed: bool = True
    approved: bool = True
    where: str = ""  # "line 3: " in an import


@dataclass(frozen=True, slots=True)
class CreatedAccount:
    """An account that was made. It has a token if scopes were given."""

    id: int
    username: str
    token: str


def check_account(username: object, email: object, role: object = "user") -> None:
    """Refuse values that no row takes, and addresses to which no mail can be sent.

    Otherwise operators are free: `admin@localhost` is a valid address here.
    """
    if not isinstance(username, str) or not USERNAME.fullmatch(username):
        raise WrongAccount(f"the name {username!r} is not 1 to 30 of the letters a to z, digits and underscores")
    if not isinstance(email, str) or not is_mailbox(spelled(email)):
        raise WrongAccount(f"the e-mail address {email!r} is none")
    if role not in ROLES:
        raise WrongAccount(f"the role {role!r} is none of {', '.join(ROLES)}")


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes of a text with spaces between."""
    parsed = scope_tree.parse(text)
    unknown = [scope for scope in parsed if not scope_tree.known([scope])]
    if unknown or not parsed:
        raise WrongAccount(f"no such scope: {', '.join(unknown) or '(none given)'}")
    return parsed


async def make_accounts(
    db: Connection,
    settings: Settings,
    wanted: Sequence[RequestedAccount],
    scopes: tuple[str, ...],
    ids: Ids,
    now: datetime,
) -> list[CreatedAccount]:
    """Make accounts, users and, when there are scopes, a token for each: all or none."""
    url = base_url(settings)
    await require_domain(db, settings, url)
    await _refuse_taken(db, wanted)
    made = [CreatedAccount(ids.next(), one.username, secrets.token_urlsafe(32)) for one in wanted]
    await accounts.create_local_many(db, [local_account(one.id, one.username, url) for one in made], now)
    await users.create_many(db, [_user(one.id, want, now) for one, want in zip(made, wanted, strict=True)], now)
    unconfirmed = [one.id for one, want in zip(made, wanted, strict=True) if not want.confirmed]
    await outbox.insert_many(db, [new_effect(ids.next(), mail(CONFIRMATION, id)) for id in unconfirmed], now)
    if scopes:
        application = await _application(db, ids, now)
        for one in made:
            await oauth.insert_token(db, NewToken(ids.next(), hash_of(one.token), application, one.id, scopes), now)
    await notices.announce(db, "accounts")
    return made


async def make_token(db: Connection, username: str, scopes: tuple[str, ...], ids: Ids, now: datetime) -> str:
    """Make a token of a local account."""
    token, account = secrets.token_urlsafe(32), await _local(db, username)
    application = await _application(db, ids, now)
    await oauth.insert_token(db, NewToken(ids.next(), hash_of(token), application, account.id, scopes), now)
    return token


async def _local(db: Connection, username: str) -> Account:
    found = await accounts.find_local_many(db, [username])
    if not found:
        raise InvalidAccount(f"there is no local account {username}")
    return found[username.lower()]


async def _refuse_taken(db: Connection, wanted: Sequence[RequestedAccount]) -> None:
    names = await accounts.find_local_many(db, [one.username for one in wanted])
    emails = await users.taken_emails(db, [spelled(one.email) for one in wanted])
    for one in wanted:
        if one.username.lower() in names:
            raise InvalidAccount(f"{one.where}the name {one.username} is taken")
        if spelled(one.email).lower() in emails:
            raise InvalidAccount(f"{one.where}the e-mail address {one.email} is taken")


def _user(account_id: int, wanted: RequestedAccount, now: datetime) -> NewUser:
    return NewUser(
        account_id=account_id,
        email=spelled(wanted.email),
        password_hash=wanted.password_hash,
        role=wanted.role,
        confirmed_at=now if wanted.confirmed else None,
        approved_at=now if wanted.approved else None,
    )


async def _application(db: Connection, ids: Ids, now: datetime) -> int:
    """Return the application of all tokens from the command line. The first token makes it."""
    found = await oauth.find_client(db, CLIENT_ID)
    if found:
        return found.id
    new = Application(
        id=ids.next(),
        client_id=CLIENT_ID,
        secret_hash=hash_of(secrets.token_urlsafe(32)),
        name=CLIENT_NAME,
        website=None,
        redirect_uris=(OUT_OF_BAND,),
        scopes=tuple(sorted(scope_tree.ALL)),
        created_at=now,
    )
    await oauth.insert_application(db, new)
    return new.id
