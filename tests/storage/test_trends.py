"""Trends in the rows: which uses and which responses count."""

import re
from datetime import timedelta
from typing import Any

import pytest

from troupe.storage import favourites, preview_cards, tags, trends
from troupe.storage.accounts import Account
from troupe.storage.preview_cards import CardFacts
from troupe.storage.statuses import Status, StatusTag

from .conftest import NOW, Stage, new_id

TAG = StatusTag(1, "tea", "Tea")
LEAST = 2
BEGAN = NOW - timedelta(days=7)


def use(stage: Stage, author: Account) -> Status:
    return stage.status(author, tags=(stage(tags.ensure, TAG, stage.now),))


def used(stage: Stage, *begins: int) -> dict[str, tuple[int, ...]]:
    found = stage(trends.used_tags, begins or [1], LEAST, BEGAN)
    return {one.tag.name: one.accounts for one in found}


def shared(stage: Stage) -> dict[str, tuple[int, ...]]:
    """The uses and accounts of each link."""
    found = stage(trends.used_links, [1], LEAST, BEGAN)
    return {one.card.url: (*one.uses, *one.accounts) for one in found}


def share(stage: Stage, author: Account, url: str, **more: Any) -> None:
    card = stage(preview_cards.store, new_id(), url, CardFacts(), stage.now)
    assert stage(preview_cards.attach, stage.status(author, **more).id, card.id, new_id())


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
    decided = [one.trendable for one in stage(trends.used_tags, [1], LEAST, BEGAN)]
    assert decided == [None]
    assert stage(tags.review, "tea", stage.now, trendable=True)
    assert [one.trendable for one in stage(trends.used_tags, [1], LEAST, BEGAN)] == [True]
    assert stage(tags.review, "tea", stage.now, trendable=False)
    assert stage(trends.used_tags, [1], LEAST, BEGAN) == []
    assert not stage(tags.review, "coffee", stage.now, trendable=True)


def limit(monkeypatch: pytest.MonkeyPatch, query: str, before: int, limit: int) -> None:
    """Give a query of trends another limit."""
    text = getattr(trends, query)
    bound = re.compile(rf"(LIMIT|place <=) {before}\b")
    assert bound.search(text)
    monkeypatch.setattr(trends, query, bound.sub(rf"\g<1> {limit}", text))


def test_a_flood_of_hashtags_by_one_account_displaces_no_other(
    stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "TAGS", trends.MOST_USES, 3)
    for author in people[:2]:
        use(stage, author)
    flood(stage, people[2], posts=9)
    assert used(stage) == {"tea": (2,)}
    assert len(stage(trends.used_tags, [1], 1, BEGAN)) == 1 + 3


def test_boosts_take_no_place(stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, "TAGS", trends.MOST_POSTS, 2)
    posts = [stage.status(people[2]) for _ in range(2)]
    for author in people[:2]:
        use(stage, author)
        for post in posts:
            stage.boost(author, post)
    assert used(stage) == {"tea": (2,)}


@pytest.mark.parametrize("visibility", ["unlisted", "private", "direct"])
def test_posts_that_do_not_count_take_no_place(
    stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch, visibility: str
) -> None:
    limit(monkeypatch, "TAGS", trends.MOST_USES, 3)
    limit(monkeypatch, "TAGS", trends.MOST_POSTS, 2)
    for author in people[:2]:
        use(stage, author)
        flood(stage, author, posts=2, visibility=visibility)
    assert used(stage) == {"tea": (2,)}


def test_posts_of_one_day_leave_other_days_alone(
    stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "TAGS", trends.MOST_POSTS, 2)
    first, *_ = (use(stage, author) for author in people)
    second = stage.status(people[0])
    for _ in range(4):
        stage.status(people[0])
    use(stage, people[1])
    assert used(stage, first.id, second.id) == {"tea": (1, 3)}
    assert used(stage, first.id) == {"tea": (2,)}


@pytest.mark.parametrize("change", ["silenced_at = now()", "suspended_at = now()", "deleted_at = now()"])
def test_accounts_that_do_not_count_take_no_place(
    stage: Stage, people: list[Account], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "TAGS", trends.MOST_AUTHORS, 2)
    for author in people[:2]:
        use(stage, author)
    stage.now = NOW + timedelta(seconds=1)
    use(stage, people[2])
    assert used(stage) == {"tea": (2,)}
    stage.sql(f"UPDATE accounts SET {change} WHERE username = 'cleo'")
    assert used(stage) == {"tea": (2,)}
    stage.sql(f"UPDATE accounts SET {change} WHERE username = 'bob'")
    assert used(stage) == {}


def test_accounts_that_were_silent_in_these_days_are_not_looked_at(stage: Stage, people: list[Account]) -> None:
    for author in people:
        use(stage, author)
    assert stage(trends.used_tags, [1], LEAST, NOW + timedelta(seconds=1)) == []


def test_a_flood_of_links_and_of_responses_displaces_no_other(
    stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "LINKS", trends.MOST_POSTS, 3)
    for author in people[:2]:
        share(stage, author, "https://tea.test/")
    for number in range(9):
        share(stage, people[2], "https://tea.test/")
        share(stage, people[2], f"https://flood.test/{number}")
        share(stage, people[0], "https://tea.test/", visibility="private")
    assert shared(stage) == {"https://tea.test/": (3, 3)}


def test_one_author_has_few_of_the_statuses_with_most_responses(
    stage: Stage, people: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "STATUSES", trends.MOST_RESPONDED, 2)
    limit(monkeypatch, "STATUSES", trends.MOST_CANDIDATES, 3)
    ada, bob, cleo = people
    eve = stage.account("eve")
    stage.sql("UPDATE accounts SET discoverable = true")
    seldom = stage.status(ada)
    respond(stage, seldom, bob, cleo)
    flood = [stage.status(bob) for _ in range(4)]
    for status in flood:
        respond(stage, status, ada, cleo, eve)
    assert noted(stage) == {seldom.id: 2, flood[3].id: 3, flood[2].id: 3}


def flood(stage: Stage, author: Account, posts: int, **more: Any) -> None:
    """Publish posts with eight new hashtags each."""
    for _ in range(posts):
        names = [f"x{new_id()}" for _ in range(8)]
        made = tuple(stage(tags.ensure, StatusTag(new_id(), name, name), stage.now) for name in names)
        stage.status(author, tags=made, **more)


def test_an_account_responds_once_and_authors_to_themselves_not_at_all(stage: Stage, people: list[Account]) -> None:
    ada, bob, cleo = people
    found_by_default(stage, ada)
    post = stage.status(ada)
    respond(stage, post, ada, bob)
    stage.boost(bob, post)
    assert noted(stage) == {post.id: 1}
    stage.boost(cleo, post)
    assert noted(stage) == {post.id: 2}
    for change in ("silenced_at", "suspended_at"):
        stage.sql(f"UPDATE accounts SET {change} = now() WHERE id = $1", cleo.id)
        assert noted(stage) == {post.id: 1}, change
        stage.sql(f"UPDATE accounts SET {change} = NULL WHERE id = $1", cleo.id)
    assert noted(stage) == {post.id: 2}
    assert noted(stage, post.id + 1) == {}
    stage.sql("UPDATE statuses SET deleted_at = now() WHERE reblog_of_id IS NOT NULL")
    assert noted(stage) == {post.id: 1}


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
