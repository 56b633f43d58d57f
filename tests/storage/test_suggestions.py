"""Suggestions in the rows: the weights, the order, and who is left out."""

import pytest

from troupe.storage import favourites, suggestions
from troupe.storage.accounts import Account
from troupe.storage.statuses import Status
from troupe.storage.upkeep import expiry

from .conftest import Stage, new_id

HOUR = 3600

OFF = {
    "suspended": "UPDATE accounts SET suspended_at = now() WHERE id = $1",
    "silenced": "UPDATE accounts SET silenced_at = now() WHERE id = $1",
    "moved": "UPDATE accounts SET moved_to_id = (SELECT min(id) FROM accounts) WHERE id = $1",
    "deleted": "UPDATE accounts SET deleted_at = now() WHERE id = $1",
    "locked": "UPDATE accounts SET locked = true WHERE id = $1",
    "unconfirmed": "UPDATE users SET confirmed_at = NULL WHERE account_id = $1",
    "unapproved": "UPDATE users SET approved_at = NULL WHERE account_id = $1",
}


@pytest.fixture
def ada(stage: Stage) -> Account:
    """The viewer."""
    return stage.account("ada")


@pytest.fixture
def bob(stage: Stage) -> Account:
    return stage.account("bob")


@pytest.fixture
def cleo(stage: Stage) -> Account:
    return stage.account("cleo")


def favour(stage: Stage, viewer: Account, status: Status) -> int:
    id = new_id()
    assert stage(favourites.insert, id, viewer.id, status.id, stage.now)
    return id


def listed(stage: Stage, account: Account) -> None:
    stage.sql("UPDATE accounts SET discoverable = true WHERE id = $1", account.id)


def found(
    stage: Stage, viewer: Account, *popular: Account, since: int = 0, without: tuple[int, ...] = (),
    without_domains: tuple[str, ...] = (),
) -> list[int]:  # fmt: skip
    asked = stage(
        suggestions.find, viewer.id, since=since, popular=[one.id for one in popular],
        without=(viewer.id, *without), without_domains=without_domains,
    )  # fmt: skip
    return [one.account_id for one in asked]


def test_a_boost_outweighs_a_favourite_and_nine_replies(
    stage: Stage, ada: Account, bob: Account, cleo: Account
) -> None:
    boosted, favoured = stage.status(bob), stage.status(cleo)
    favour(stage, ada, favoured)
    for _ in range(9):
        stage.reply(ada, favoured)
    assert found(stage, ada) == [cleo.id]
    stage.boost(ada, boosted)
    assert found(stage, ada) == [bob.id, cleo.id]
    stage.reply(ada, favoured)  # now both have 20, and the later post decides
    stage.later(HOUR)
    stage.status(cleo)
    assert found(stage, ada) == [cleo.id, bob.id]


def test_own_posts_deleted_ones_and_old_interactions_suggest_nothing(stage: Stage, ada: Account, bob: Account) -> None:
    own, theirs = stage.status(ada), stage.status(bob)
    stage.reply(ada, own)
    favour(stage, ada, own)
    stage.boost(ada, own)
    assert found(stage, ada) == []
    reply = stage.reply(ada, theirs)
    stage.sql("UPDATE statuses SET deleted_at = now() WHERE id = $1", reply.id)
    assert found(stage, ada) == []
    liked = favour(stage, ada, theirs)
    assert found(stage, ada, since=liked) == [bob.id]
    assert found(stage, ada, since=liked + 1) == []


def test_interactions_come_first_and_popular_accounts_in_their_order(
    stage: Stage, ada: Account, bob: Account, cleo: Account
) -> None:
    dan, eve = stage.account("dan"), stage.account("eve")
    for account in (bob, cleo, eve):
        listed(stage, account)
    stage.reply(ada, stage.status(cleo))
    stage.later(HOUR)
    stage.status(eve)
    assert found(stage, ada, bob, eve, cleo) == [cleo.id, bob.id, eve.id]
    assert found(stage, ada, bob, dan) == [cleo.id, bob.id], "Dan did not opt in to be found"
    both = stage(suggestions.find, ada.id, since=0, popular=[bob.id, cleo.id], without=[ada.id], without_domains=[])
    assert [(one.interacted, one.popular) for one in both] == [(True, True), (False, True)]
    stage.reply(ada, stage.status(dan))
    assert found(stage, ada) == [dan.id, cleo.id], "interactions need no opt-in"


@pytest.mark.parametrize("change", OFF.values(), ids=OFF)
def test_accounts_that_are_not_suggested(stage: Stage, ada: Account, bob: Account, cleo: Account, change: str) -> None:
    listed(stage, cleo)
    stage.reply(ada, stage.status(bob))
    assert found(stage, ada, cleo) == [bob.id, cleo.id]
    stage.sql(change, bob.id)
    stage.sql(change, cleo.id)
    assert found(stage, ada, cleo) == []


def test_the_reader_leaves_out_accounts_and_domains(stage: Stage, ada: Account, bob: Account) -> None:
    far = stage.account("far", domain="far.test")
    stage.reply(ada, stage.status(bob))
    stage.reply(ada, stage.status(far))
    assert sorted(found(stage, ada)) == sorted([bob.id, far.id])
    assert found(stage, ada, without=(bob.id,)) == [far.id]
    assert found(stage, ada, without_domains=("far.test",)) == [bob.id]


def test_after_an_end_only_newer_interactions_count(stage: Stage, ada: Account, bob: Account) -> None:
    listed(stage, bob)
    liked = favour(stage, ada, stage.status(bob))
    stage(suggestions.end, ada.id, bob.id, liked - 1)
    assert found(stage, ada) == [bob.id]
    stage(suggestions.end, ada.id, bob.id, liked)
    assert found(stage, ada, bob) == []
    stage.reply(ada, stage.status(bob))
    assert found(stage, ada, bob) == [bob.id]
    stage(suggestions.end, ada.id, bob.id, new_id())
    assert found(stage, ada, bob) == []
    assert found(stage, bob, ada) == [], "Ada has not opted in"
    listed(stage, ada)
    assert found(stage, bob, ada) == [ada.id]


def test_what_was_dismissed_stays_dismissed(stage: Stage, ada: Account, bob: Account) -> None:
    listed(stage, bob)
    stage(suggestions.end, ada.id, bob.id, new_id())
    stage(suggestions.dismiss, ada.id, bob.id)
    stage(suggestions.end, ada.id, bob.id, new_id())
    stage(suggestions.dismiss, ada.id, bob.id)
    stage.reply(ada, stage.status(bob))
    assert found(stage, ada, bob) == []
    for nothing in (ada.id, 77):
        stage(suggestions.dismiss, ada.id, nothing)
    assert len(stage.sql("SELECT FROM ended_suggestions")) == 1


def test_ends_expire_and_dismissals_do_not(stage: Stage, ada: Account, bob: Account, cleo: Account) -> None:
    stage(suggestions.end, ada.id, bob.id, 100)
    stage(suggestions.end, bob.id, ada.id, 101)
    stage(suggestions.dismiss, ada.id, cleo.id)
    assert stage(expiry.ENDED_SUGGESTIONS.run, 100, 10) == [ada.id]
    left = stage.sql("SELECT account_id FROM ended_suggestions ORDER BY up_to")
    assert [row[0] for row in left] == [bob.id, ada.id]


def test_eighty_at_most(stage: Stage, ada: Account, bob: Account) -> None:
    stage.reply(ada, stage.status(bob))
    crowd = [stage.account(f"one{number}") for number in range(85)]
    stage.sql("UPDATE accounts SET discoverable = true")
    assert found(stage, ada, *crowd) == [bob.id, *(one.id for one in crowd[:79])]


def test_popular_accounts_are_listed_local_active_and_followed(
    stage: Stage, ada: Account, bob: Account, cleo: Account
) -> None:
    far = stage.account("far", domain="far.test")
    for follower, followed in ((ada, bob), (ada, cleo), (bob, cleo), (bob, far), (cleo, ada)):
        stage.follow(follower, followed)
    stage.sql("UPDATE accounts SET discoverable = true")
    for author in (bob, cleo, far):
        stage.status(author)
    before = stage.now
    assert stage(suggestions.popular, before, 9) == []
    stage.later(HOUR)
    for author in (bob, cleo, far):
        stage.status(author)
    assert stage(suggestions.popular, before, 9) == [cleo.id, bob.id]
    assert stage(suggestions.popular, before, 1) == [cleo.id]
    for change in OFF.values():
        stage.sql(change, cleo.id)
        assert stage(suggestions.popular, before, 9) == [bob.id], change
        stage.sql(
            "UPDATE accounts SET suspended_at = NULL, silenced_at = NULL, moved_to_id = NULL, deleted_at = NULL,"
            " locked = false"
        )
        stage.sql("UPDATE users SET confirmed_at = now(), approved_at = now()")
    stage.sql("UPDATE accounts SET discoverable = false WHERE id = $1", bob.id)
    assert stage(suggestions.popular, before, 9) == [cleo.id]
