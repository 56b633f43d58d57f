"""Accounts and users: found by every handle, unique in any case of letters, imported in bulk."""

import asyncpg
import pytest

from troupe.storage import accounts, users
from troupe.storage.accounts import NewAccount
from troupe.storage.users import NewUser

from ..rows import create_account, create_user
from .conftest import Stage, new_id


def test_an_account_is_found_by_every_handle(stage: Stage) -> None:
    ada, far = stage.account("Ada"), stage.account("ada", domain="far.test")
    assert stage(accounts.find, ada.id) == ada
    assert stage(accounts.find_by_acct, "aDA", None) == ada
    assert stage(accounts.find_by_acct, "ADA", "Far.Test") == far
    assert stage(accounts.find_local_many, ["ADA", "nobody"]) == {"ada": ada}
    assert (ada.local, ada.acct) == (True, "Ada")
    assert (far.local, far.acct) == (False, "ada@far.test")


def test_a_name_is_taken_in_any_case(stage: Stage) -> None:
    stage.account("ada")
    with pytest.raises(asyncpg.UniqueViolationError) as refused:
        stage(create_account, NewAccount(new_id(), "ADA", None, "https://troupe.test/users/ADA", None), stage.now)
    assert "accounts_handle" in str(refused.value)


def test_a_local_name_has_only_letters_digits_and_underscores(stage: Stage) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        stage(create_account, NewAccount(new_id(), "a-b", None, "https://troupe.test/users/a-b", None), stage.now)
    assert stage.account("a.b-c", domain="far.test").username == "a.b-c"


def test_a_user_is_found_by_name_and_by_address(stage: Stage) -> None:
    ada = stage.account("ada", role="owner")
    stage.account("ada", domain="far.test")
    user = stage(users.find_user, ada.id)
    assert user is not None
    assert user.role == "owner"
    for login in ("ada", "ADA", "@ada", "ada@troupe.test", "Ada@Troupe.Test", " ada "):
        assert stage(users.find_user_by_login, login) == user
    assert stage(users.find_user_by_login, "nobody") is None


def test_an_address_is_taken_in_any_case(stage: Stage) -> None:
    ada = stage.account("ada")
    bob = NewAccount(new_id(), "bob", None, "https://troupe.test/users/bob", None)
    stage(create_account, bob, stage.now)
    with pytest.raises(asyncpg.UniqueViolationError) as refused:
        stage(create_user, NewUser(bob.id, "ADA@troupe.test", None), stage.now)
    assert "users_email" in str(refused.value)
    assert stage(users.find_user, ada.id) is not None


def test_a_thousand_accounts_are_made_in_two_statements(stage: Stage) -> None:
    ids = [new_id() for _ in range(1000)]
    stage(
        accounts.create_local_many,
        [NewAccount(id, f"u{id}", None, f"https://troupe.test/users/u{id}", None) for id in ids],
        stage.now,
    )
    stage(users.create_many, [NewUser(id, f"u{id}@troupe.test", None, sign_up_ip="::1") for id in ids], stage.now)
    assert stage.value("SELECT count(*) FROM users JOIN account_counts USING (account_id)") == 1000
