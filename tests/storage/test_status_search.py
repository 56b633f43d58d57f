"""Which statuses a search reads, stretch by stretch, and in which order."""

import random
from datetime import UTC, datetime

import pytest

from troupe.storage import status_search, statuses
from troupe.storage.accounts import Account
from troupe.storage.engine.database import Connection
from troupe.storage.status_search import Onlooker, StatusSearch, find_newest, mark, words
from troupe.storage.status_words import STRETCHES, author, stretches, stretches_between
from troupe.storage.statuses import NewStatus
from troupe.storage.upkeep import words_to_come

from .conftest import Stage

HIGH = 2**63 - 1
FIRST = int(datetime(2023, 1, 1, tzinfo=UTC).timestamp() * 1000) << 16
THREE_YEARS = 3 * 365 * 86_400_000 << 16


@pytest.mark.parametrize("seed", range(200))
def test_stretches_hold_all_ids_between_two_and_are_few(seed: int) -> None:
    chance = random.Random(seed)
    low = FIRST + chance.randrange(THREE_YEARS)
    high = low + max(1, int(THREE_YEARS * chance.random() ** 8))
    marks = stretches_between(low, high)
    assert len(marks) == len(set(marks)) <= 6 * len(STRETCHES) + (high - low >> STRETCHES[-1])
    for id in (low, high - 1, *(chance.randrange(low, high) for _ in range(50))):
        assert len({*stretches(id)} & {*marks}) == 1
    for id in (low - (1 << STRETCHES[0]), high + (1 << STRETCHES[0])):
        assert not {*stretches(id)} & {*marks}


@pytest.fixture
def posts(stage: Stage) -> dict[int, str]:
    """The texts of 400 statuses of three years by ids. Each has a common word, and some a rare one."""
    ada = stage.account("ada")
    chance = random.Random(7)
    made: dict[int, str] = {}
    for id in sorted({FIRST + int(THREE_YEARS * chance.random() ** 0.3) for _ in range(400)}):
        made[id] = "opal" + " ruby" * (chance.random() < 0.1) + " topaz" * (chance.random() < 0.01)
        publish(stage, ada, id, made[id])
    return made


def publish(stage: Stage, account: Account, id: int, text: str) -> None:
    new = NewStatus(id, account.id, f"https://x.test/{id}", None, "public", content=f"<p>{text}</p>")
    stage(statuses.insert, new, stage.now)


def search(stage: Stage, text: str, *, low: int = 0, high: int = HIGH, **page: int) -> list[int]:
    viewer = stage.value("SELECT id FROM accounts")
    found = stage(find_newest, StatusSearch((words(text),), low, high), Onlooker(viewer), **page)
    return [entry.id for entry in found]


@pytest.mark.parametrize("expected", [1, 10, 1000])
@pytest.mark.parametrize("word", ["opal", "ruby", "topaz", "amber"])
def test_the_newest_are_found_however_long_the_stretches(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, posts: dict[int, str], word: str, expected: int
) -> None:
    monkeypatch.setattr(status_search, "EXPECTED", expected)
    monkeypatch.setattr(status_search, "BOUNDS", status_search.BOUNDS.replace("OFFSET 2000", "OFFSET 5"))
    right = sorted((id for id, text in posts.items() if word in text.split()), reverse=True)
    assert search(stage, word, limit=20) == right[:20]
    assert search(stage, word, limit=7, offset=15) == right[15:22]
    middle = sorted(posts)[200]
    assert search(stage, word, limit=20, high=middle) == [id for id in right if id < middle][:20]
    assert search(stage, word, limit=400, low=middle) == [id for id in right if id >= middle]


def test_a_search_reads_so_many_statuses_and_no_more(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, posts: dict[int, str]
) -> None:
    """Where almost none of those with the word may be shown, a page ends early."""
    monkeypatch.setattr(status_search, "MOST_READ", 50)
    ada = stage.value("SELECT id FROM accounts")
    bob = stage.account("bob").id
    newest = sorted(posts, reverse=True)
    stage.sql("UPDATE statuses SET account_id = $1 WHERE id = ANY($2::bigint[])", bob, [newest[20], newest[60]])
    stage.sql("UPDATE accounts SET indexable = true WHERE id = $1", bob)
    sought = StatusSearch((words("opal"),), 0, HIGH)
    found = stage(find_newest, sought, Onlooker(bob), limit=20)
    assert [entry.id for entry in found] == [newest[20]]
    hidden = stage(find_newest, sought, Onlooker(ada, (bob,)), limit=22)
    assert [entry.id for entry in hidden] == [id for id in newest[:23] if id != newest[20]]


def test_terms_are_all_wanted(stage: Stage, posts: dict[int, str]) -> None:
    viewer = stage.value("SELECT id FROM accounts")

    def count(*terms: str) -> int:
        return len(stage(find_newest, StatusSearch(terms, 0, HIGH), Onlooker(viewer), limit=1000))

    rubies = sum("ruby" in text for text in posts.values())
    assert count() == count(mark(author(viewer))) == len(posts)
    assert count(words("opal"), words("ruby")) == rubies
    assert count(words("opal"), words("ruby", negated=True)) == len(posts) - rubies
    assert count(mark(author(viewer), negated=True)) == 0


async def _empty(db: Connection) -> None:
    await db.execute("TRUNCATE status_words")


def test_a_server_without_words_finds_nothing(stage: Stage, posts: dict[int, str]) -> None:
    stage(_empty)
    assert search(stage, "opal", limit=20) == []


def test_old_statuses_get_no_words_if_they_were_edited_or_deleted_meanwhile(stage: Stage) -> None:
    ada = stage.account("ada")
    edited, deleted, untouched = (stage.status(ada, "tea").id for _ in range(3))
    stage.sql("DELETE FROM status_words WHERE status_id <> $1", edited)
    stage.sql("UPDATE statuses SET deleted_at = now() WHERE id = $1", deleted)
    stage.sql("INSERT INTO words_to_come VALUES ($1)", untouched + 1)
    stage(words_to_come.store, dict.fromkeys((edited, deleted, untouched), "'coffee'"), edited)
    found = stage.sql("SELECT status_id FROM status_words WHERE words @@ 'coffee' ORDER BY status_id")
    assert [row[0] for row in found] == [untouched]
    assert stage.value("SELECT count(*) FROM status_words") == 2
    assert stage(words_to_come.below) == edited
    stage(words_to_come.store, {}, None)
    assert stage(words_to_come.below) is None
