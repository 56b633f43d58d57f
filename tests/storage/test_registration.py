"""Signing up in two sessions at once, and the links of mails."""

from dataclasses import replace
from datetime import timedelta

import pytest

from troupe.storage import email_changes, oauth, registration, users
from troupe.storage.accounts import NewAccount
from troupe.storage.engine.database import Connection
from troupe.storage.oauth import Application, NewToken
from troupe.storage.registration import Taken
from troupe.storage.users import MailedLink, NewUser

from .conftest import NOW, Stage, new_id
from .racing import Work, race

LATER = NOW + timedelta(days=2)


def signing_up(name: str, email: str) -> Work:
    """The transaction of a sign-up: returns the attribute that was taken, if one was."""

    async def work(db: Connection) -> str | None:
        id = new_id()
        account = NewAccount(id, name, None, f"https://t.example/users/{name}", f"https://t.example/@{name}")
        try:
            await registration.create(db, account, NewUser(id, email, None), None, NOW)
        except Taken as taken:
            await db.execute("ROLLBACK")
            await db.execute("BEGIN")
            return taken.attribute
        return None

    return work


@pytest.mark.parametrize(
    ("second", "lost"),
    [
        (("EVE", "other@example.org"), "username"),
        (("eve", "other@example.org"), "username"),
        (("bob", "EVE@Example.org"), "email"),
        (("bob", "E.ve+2@example.org"), None),
        (("bob", "bob@example.org"), None),
    ],
)
def test_of_two_at_once_the_second_is_told_what_is_taken(
    stage: Stage, second: tuple[str, str], lost: str | None
) -> None:
    assert race(stage, signing_up("eve", "eve@example.org"), signing_up(*second)) == [None, lost]
    made = 1 if lost else 2
    for table in ("accounts", "users", "account_counts"):
        assert stage.value(f"SELECT count(*) FROM {table}") == made


@pytest.mark.parametrize("change", ["unconfirmed", "confirmed"])
def test_a_change_of_address_does_not_take_that_of_a_sign_up_at_the_same_time(stage: Stage, change: str) -> None:
    account = _signed_up(stage)
    new = "BOB@example.org"

    async def changing(db: Connection) -> str | None:
        try:
            if change == "unconfirmed":
                await registration.change_email(db, account.id, new)
            else:
                assert await email_changes.confirm(db, account.id, b"a" * 32, NOW)
        except Taken as taken:
            return taken.attribute
        return None

    if change == "confirmed":
        stage(email_changes.begin, account.id, new)
        stage(registration.insert_confirmation, MailedLink(b"a" * 32, account.id, new, NOW, LATER))
    assert race(stage, signing_up("bob", "Bob@example.org"), changing) == [None, "email"]


def test_users_may_change_the_spelling_of_their_own_address(stage: Stage) -> None:
    account = _signed_up(stage)
    stage(registration.change_email, account.id, "E.v.e+news@example.org")
    assert stage.value("SELECT email FROM users") == "E.v.e+news@example.org"


def test_what_is_taken(stage: Stage) -> None:
    _signed_up(stage)
    assert stage(registration.taken, "Eve", "EVE@example.org") == ["username", "email"]
    assert stage(registration.taken, "bob", "e.ve@example.org") == []
    assert stage(registration.taken, "bob", "eve+art@example.org") == []
    assert stage(registration.taken, "bob", "") == []


def test_a_first_token_is_stored_along(stage: Stage) -> None:
    account, user = _eve()
    app = Application(new_id(), "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW)
    stage(oauth.insert_application, app)
    new = NewToken(new_id(), b"t" * 32, app.id, account.id, ("read",))
    stage(registration.create, account, replace(user, created_by_application_id=app.id), new, NOW)
    token = stage(oauth.find_token, b"t" * 32)
    assert token is not None
    assert (token.account_id, token.confirmed_at) == (account.id, None)


def test_a_link_is_good_for_its_time_and_its_address(stage: Stage) -> None:
    account = _signed_up(stage)
    for hash in (b"a" * 32, b"b" * 32):
        stage(registration.insert_confirmation, MailedLink(hash, account.id, "eve@example.org", NOW, LATER))
    assert stage(registration.find_confirmation, b"a" * 32, NOW) == account.id
    assert stage(registration.find_confirmation, b"a" * 32, LATER) is None
    assert stage(registration.find_confirmation, b"c" * 32, NOW) is None
    stage(registration.change_email, account.id, "eve@new.example")
    assert stage(registration.find_confirmation, b"b" * 32, NOW) is None


def test_a_user_is_confirmed_and_approved_once(stage: Stage) -> None:
    account = _signed_up(stage)
    assert stage(registration.is_unconfirmed, account.id)
    assert [stage(registration.confirm, account.id, NOW) for _ in range(2)] == [True, False]
    assert not stage(registration.is_unconfirmed, account.id)
    assert [stage(registration.approve, account.id, NOW) for _ in range(2)] == [True, False]
    assert not stage(registration.reject, account.id)


def test_who_is_rejected_leaves_nothing(stage: Stage) -> None:
    account = _signed_up(stage)
    stage(registration.insert_confirmation, MailedLink(b"a" * 32, account.id, "eve@example.org", NOW, LATER))
    assert stage(registration.reject, account.id)
    assert stage(users.find_user, account.id) is None
    for table in ("accounts", "users", "account_counts", "confirmations"):
        assert stage.value(f"SELECT count(*) FROM {table}") == 0


def _signed_up(stage: Stage) -> NewAccount:
    account, user = _eve()
    stage(registration.create, account, user, None, NOW)
    return account


def _eve() -> tuple[NewAccount, NewUser]:
    id = new_id()
    account = NewAccount(id, "eve", None, "https://t.example/users/eve", "https://t.example/@eve")
    return account, NewUser(id, "eve@example.org", None)
