"""The directory's order, and the accounts that are not in it."""

import pytest

from troupe.storage import directory
from troupe.storage.accounts import Account
from troupe.storage.directory import Order

from .conftest import Stage

OFF = {
    "did not opt in": "UPDATE accounts SET discoverable = false WHERE id = $1",
    "suspended": "UPDATE accounts SET suspended_at = now() WHERE id = $1",
    "silenced": "UPDATE accounts SET silenced_at = now() WHERE id = $1",
    "moved": "UPDATE accounts SET moved_to_id = (SELECT min(id) FROM accounts) WHERE id = $1",
    "deleted": "UPDATE accounts SET deleted_at = now() WHERE id = $1",
    "unconfirmed": "UPDATE users SET confirmed_at = NULL WHERE account_id = $1",
    "unapproved": "UPDATE users SET approved_at = NULL WHERE account_id = $1",
}

ORDERS: list[Order] = ["active", "new"]


def listed(stage: Stage, name: str, domain: str | None = None) -> Account:
    stage.later(60)
    account = stage.account(name, domain=domain)
    stage.sql("UPDATE accounts SET discoverable = true WHERE id = $1", account.id)
    return account


def test_active_is_by_the_last_status_and_those_who_never_posted_are_last(stage: Stage) -> None:
    silent, ada, bob, newest = (listed(stage, name) for name in ("silent", "ada", "bob", "newest"))
    far = listed(stage, "far", "far.test")
    for author in (bob, far, ada):
        stage.later(60)
        stage.status(author)
    stage.later(60)
    stage.status(bob, visibility="direct")
    by_activity = [ada.id, far.id, bob.id, newest.id, silent.id]
    assert stage(directory.page, "active", limit=9) == by_activity
    assert stage(directory.page, "active", limit=2, offset=1) == by_activity[1:3]
    assert stage(directory.page, "active", local=True, limit=2, offset=1) == [bob.id, newest.id]


def test_new_is_by_the_time_of_making_and_not_by_the_id(stage: Stage) -> None:
    ada, far, bob = listed(stage, "ada"), listed(stage, "far", "far.test"), listed(stage, "bob")
    stage.sql("UPDATE accounts SET created_at = $2 WHERE id = $1", ada.id, stage.later(60))
    assert stage(directory.page, "new", limit=9) == [ada.id, bob.id, far.id]
    assert stage(directory.page, "new", limit=1, offset=1) == [bob.id]
    assert stage(directory.page, "new", local=True, limit=1, offset=1) == [bob.id]
    assert stage(directory.page, "new", limit=9, offset=3) == []


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("change", OFF.values(), ids=OFF)
def test_who_is_not_listed(stage: Stage, change: str, order: Order, local: bool) -> None:
    ada, bob = listed(stage, "ada"), listed(stage, "bob")
    assert stage(directory.page, order, local=local, limit=9) == [bob.id, ada.id]
    stage.sql(change, bob.id)
    assert stage(directory.page, order, local=local, limit=9) == [ada.id]


@pytest.mark.parametrize("order", ORDERS)
def test_who_is_left_out_takes_no_place_on_a_page(stage: Stage, order: Order) -> None:
    ada, bob = listed(stage, "ada"), listed(stage, "bob")
    near, far = listed(stage, "near", "near.test"), listed(stage, "far", "far.test")
    assert stage(directory.page, order, without=[bob.id], without_domains=["far.test"], limit=2) == [near.id, ada.id]
    assert stage(directory.page, order, without_domains=["far.test", "near.test"], limit=2) == [bob.id, ada.id]
    assert stage(directory.page, order, local=True, without=[bob.id, far.id], limit=2) == [ada.id]
