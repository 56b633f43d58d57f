"""Trends in the rows: which uses and which responses count."""

import pytest

from troupe.storage import favourites, tags, trends
from troupe.storage.accounts import Account
from troupe.storage.statuses import Status, StatusTag

from .conftest import Stage, new_id

TAG = StatusTag(1, "tea", "Tea")
LEAST = 2


def use(stage: Stage, author: Account) -> Status:
    return stage.status(author, tags=(stage(tags.ensure, TAG, stage.now),))


def used(stage: Stage, *begins: int) -> dict[str, tuple[int, ...]]:
    found = stage(trends.used_tags, begins or [1], LEAST)
    return {one.tag.name: one.accounts for one in found}


def respond(stage: Stage, status: Status, *people: Account) -> None:
    for person in people:
        assert stage(favourites.insert, new_id(), person.id, status.id, stage.now)


def noted(stage: Stage, since: int = 0) -> dict[int, int]:
    return {one.id: one.accounts for one in stage(trends.noted_statuses, since, LEAST)}


@pytest.fixture
def people(stage: Stage) -> list[Account]:
    return [stage.account(name) for name in ("ada", "bob", "cleo")]


def found_by_default(stage: Stage, author: Account) -> None:
    stage.sql("UPDATE accounts SET discoverable = true WHERE id = $1", author.id)


def test_accounts_count_by_days_and_not_by_posts(stage: Stage, people: list[Account]) -> None:
    first = use(stage, people[0])
    use(stage, people[0])
    use(stage, people[1])
    second = use(stage, people[0])
    for person in people:
        use(stage, person)
    assert used(stage, first.id, second.id) == {"tea": (3, 2)}
    assert used(stage, second.id) == {"tea": (3,)}
    third = use(stage, people[0])
    assert used(stage, first.id, second.id, third.id) == {"tea": (1, 3, 2)}


def test_what_fewer_accounts_use_is_left_out(stage: Stage, people: list[Account]) -> None:
    for _ in range(5):
        use(stage, people[0])
    assert used(stage) == {}
    use(stage, people[1])
    assert used(stage) == {"tea": (2,)}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET silenced_at = now() WHERE username = 'bob'",
        "UPDATE accounts SET suspended_at = now() WHERE username = 'bob'",
        "UPDATE accounts SET deleted_at = now() WHERE username = 'bob'",
        "UPDATE statuses SET deleted_at = now()",
        "UPDATE statuses SET visibility = 'unlisted'",
        "UPDATE statuses SET visibility = 'private'",
        "UPDATE tags SET usable = false",
        "UPDATE tags SET listable = false",
        "UPDATE tags SET trendable = false",
    ],
)
def test_uses_that_do_not_count(stage: Stage, people: list[Account], change: str) -> None:
    for person in people[:2]:
        use(stage, person)
    assert used(stage) == {"tea": (2,)}
    stage.sql(change)
    assert used(stage) == {}


def test_the_decision_of_staff(stage: Stage, people: list[Account]) -> None:
    for person in people:
        use(stage, person)
    decided = [one.trendable for one in stage(trends.used_tags, [1], LEAST)]
    assert decided == [None]
    assert stage(tags.review, "tea", stage.now, trendable=True)
    assert [one.trendable for one in stage(trends.used_tags, [1], LEAST)] == [True]
    assert stage(tags.review, "tea", stage.now, trendable=False)
    assert stage(trends.used_tags, [1], LEAST) == []
    assert not stage(tags.review, "coffee", stage.now, trendable=True)


def test_an_account_responds_once_and_authors_to_themselves_not_at_all(stage: Stage, people: list[Account]) -> None:
    ada, bob, cleo = people
    found_by_default(stage, ada)
    post = stage.status(ada)
    respond(stage, post, ada, bob)
    stage.boost(bob, post)
    assert noted(stage) == {post.id: 1}
    stage.boost(cleo, post)
    assert noted(stage) == {post.id: 2}
    stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", cleo.id)
    assert noted(stage) == {post.id: 1}
    assert noted(stage, post.id + 1) == {}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET discoverable = false",
        "UPDATE accounts SET silenced_at = now() WHERE username = 'ada'",
        "UPDATE accounts SET suspended_at = now() WHERE username = 'ada'",
        "UPDATE accounts SET deleted_at = now() WHERE username = 'ada'",
        "UPDATE statuses SET deleted_at = now()",
        "UPDATE statuses SET visibility = 'unlisted'",
        "UPDATE statuses SET sensitive = true",
        "UPDATE statuses SET spoiler_text = 'careful'",
        "UPDATE statuses SET in_reply_to_id = id, in_reply_to_account_id = NULL",
    ],
)
def test_statuses_that_do_not_trend(stage: Stage, people: list[Account], change: str) -> None:
    ada, bob, cleo = people
    found_by_default(stage, ada)
    post = stage.status(ada)
    respond(stage, post, bob, cleo)
    assert noted(stage) == {post.id: 2}
    stage.sql(change)
    assert noted(stage) == {}
