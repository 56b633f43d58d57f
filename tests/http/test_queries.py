"""How often a request asks PostgreSQL: never in proportion to the page, and for what is in memory not at all."""

import re
from math import inf

import pytest
import trio

from troupe.actors.media import queue
from troupe.actors.media.cleaning import Cleaning
from troupe.actors.timelines import timeline

from ..clients import Person, Stage, ids
from ..counting import note_statements
from ..emojis import add_emoji
from ..kept_connections import Loan

FEW, MANY = 2, 5

HOME = "/api/v1/timelines/home"
PUBLIC = "/api/v1/timelines/public"
TAG = "/api/v1/timelines/tag/tea"


def _is_counted(query: str) -> bool:
    # Looking for promises that were left behind happens by the clock, not by request. Accounts have a column of this
    # name, too.
    return not re.search(r"(FROM|INTO|UPDATE) outbox", query) and query not in ("BEGIN", "COMMIT")


@pytest.fixture(autouse=True)
def without_looks_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no media be looked for by the clock. On a busy machine the first round may come in the middle of a test."""

    async def rest(self: Cleaning) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Cleaning, "run", rest)
    monkeypatch.setattr(queue, "LOOK_AGAIN", inf)


@pytest.fixture(autouse=True)
def asked(loan: Loan, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries of every connection that is opened from now on."""
    return note_statements(monkeypatch, _is_counted)


@pytest.fixture
async def bob(bob: Person, stage: Stage, ada: Person, eve: Person) -> Person:
    """Has written to both readers, who follow him and keep all of it."""
    for reader in (ada, eve):
        assert (await reader.post(f"/api/v1/accounts/{bob.id}/follow")).status == 200
    for number in range(MANY):
        made = await bob.publish(f"@ada @eve {number} #tea")
        for reader in (ada, eve):
            for deed in ("favourite", "bookmark"):
                assert (await reader.post(f"/api/v1/statuses/{made['id']}/{deed}")).status == 200
            assert (await reader.post(f"/api/v1/tags/tag{number}/follow")).status == 200
    return bob


@pytest.fixture
async def quoted(bob: Person) -> str:
    """The id of a post of his that he has quoted."""
    post = await bob.publish("quote me")
    for number in range(MANY):
        await bob.publish(f"{number}", quoted_status_id=post["id"])
    return post["id"]


@pytest.mark.parametrize(
    "path",
    [
        HOME,
        PUBLIC,
        TAG,
        "/api/v1/notifications",
        "/api/v2/notifications",
        "/api/v1/favourites",
        "/api/v1/bookmarks",
        "/api/v1/accounts/{bob}/statuses",
        "/api/v1/followed_tags",
        "/api/v1/statuses/{quoted}/quotes",
    ],
)
async def test_a_longer_page_asks_no_more_often(
    stage: Stage, ada: Person, eve: Person, bob: Person, quoted: str, asked: list[str], path: str
) -> None:
    path = path.format(bob=bob.id, quoted=quoted)
    assert (await stage.anybody().get(path)).status in (200, 401)  # wakes the timeline
    counts: list[int] = []
    for reader, limit in ((ada, FEW), (eve, MANY)):
        stage.http_context.statuses.clear()
        stage.http_context.accounts.clear()
        asked.clear()
        answer = await reader.done("GET", f"{path}?limit={limit}")
        assert len(answer) >= FEW
        counts.append(len(asked))
    few, many = counts
    assert many <= few, asked


async def be_discovered(stage: Stage, monkeypatch: pytest.MonkeyPatch, eve: Person) -> None:
    """Let Bob and his posts trend, and Eve be suggested to Ada, who has favourited a post of hers."""
    monkeypatch.setattr("troupe.actors.shown.trends.LEAST_ACCOUNTS", 1)
    monkeypatch.setattr("troupe.actors.rules.trends.LEAST_ACCOUNTS", 1)
    post = await eve.publish()
    await stage.sql("UPDATE accounts SET discoverable = true")
    await stage.sql("UPDATE tags SET trendable = true")
    await stage.sql("INSERT INTO author_reviews SELECT id, true, now() FROM accounts")
    await stage.sql(
        "INSERT INTO favourites (id, account_id, status_id, created_at) SELECT $1, id, $1, now() FROM accounts"
        " WHERE username = 'ada'", int(post["id"]),
    )  # fmt: skip


async def test_quotes_cost_two_queries_for_a_page_and_none_when_they_are_known(
    stage: Stage, ada: Person, eve: Person, bob: Person, asked: list[str]
) -> None:
    """The quoted statuses, and those that they quote. A page without quotes asks for neither."""
    counts: list[int] = []
    for quotes in (0, 1, MANY):
        for number in range(quotes):
            inner = await eve.publish(str(number))
            outer = await eve.publish(str(number), quoted_status_id=inner["id"])
            await bob.publish(str(number), quoted_status_id=outer["id"])
        path = f"/api/v1/accounts/{bob.id}/statuses?limit={MANY}"
        await ada.get(path)  # her flags are known
        stage.http_context.statuses.clear()
        asked.clear()
        answer = await ada.get(path)
        assert sum(one["quote"] is not None for one in answer.json) == quotes
        counts.append(len(asked))
        asked.clear()
        assert (await ada.get(path)).status == 200
        assert len(asked) == 1, asked
    assert counts == [counts[0], counts[0] + 2, counts[0] + 2], asked


@pytest.mark.parametrize(
    ("path", "queries"),
    [
        (HOME, 0),
        (PUBLIC, 0),
        (TAG, 0),
        ("/api/v1/statuses/{status}", 0),
        ("/api/v1/accounts/{bob}", 0),
        ("/api/v1/accounts/verify_credentials", 0),
        ("/api/v1/notifications", 0),
        ("/api/v1/notifications?types[]=mention", 0),
        ("/api/v1/conversations", 0),
        ("/api/v2/instance", 0),
        ("/api/v1/trends/tags", 1),
        ("/api/v1/trends/statuses", 0),
        ("/api/v1/suggestions", 1),
        ("/api/v2/suggestions", 1),
    ],
)
async def test_a_second_look_asks_for_little_or_nothing(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    ada: Person,
    eve: Person,
    bob: Person,
    asked: list[str],
    path: str,
    queries: int,
) -> None:
    status = await bob.publish("#tea @ada")
    await bob.publish("@ada", visibility="direct")
    await be_discovered(stage, monkeypatch, eve)
    path = path.format(bob=bob.id, status=status["id"])
    first = await ada.get(path)
    asked.clear()
    second = await ada.get(path)
    assert (first.status, second.status) == (200, 200)
    assert second.json, "a look at nothing costs nothing"
    assert len(asked) == queries, asked


async def test_custom_emoji_are_rendered_without_a_query(
    stage: Stage, ada: Person, bob: Person, asked: list[str]
) -> None:
    await add_emoji(stage, "cat")
    status = await bob.publish("a :cat:")
    path = f"/api/v1/statuses/{status['id']}"
    await ada.get(path)
    for shown in (path, "/api/v1/custom_emojis"):
        stage.http_context.rendered.statuses.clear()
        asked.clear()
        assert '"shortcode":"cat"' in (await ada.get(shown)).text
        assert asked == []


@pytest.mark.parametrize("path", ["/api/v1/filters", "/api/v2/filters"])
async def test_more_filters_are_read_by_one_query(ada: Person, asked: list[str], path: str) -> None:
    status = await ada.publish("tea")
    for number in range(FEW):
        keywords = [{"keyword": f"{number} {word}"} for word in ("tea", "coffee")]
        form = {"title": "drinks", "context": ["home"], "keywords_attributes": keywords}
        made = await ada.post("/api/v2/filters", json=form)
        named = await ada.post(f"/api/v2/filters/{made.json['id']}/statuses", {"status_id": status["id"]})
        assert named.status == 200
        asked.clear()
        assert len((await ada.get(path)).json) > number
        assert len(asked) == 1, asked


async def test_a_home_with_followed_hashtags_asks_nothing(ada: Person, bob: Person, asked: list[str]) -> None:
    assert (await ada.post("/api/v1/tags/coffee/follow")).status == 200
    await ada.post(f"/api/v1/accounts/{bob.id}/unfollow")
    posts = [(await bob.publish(f"{number} #coffee"))["id"] for number in range(MANY)]
    await ada.get(HOME)
    asked.clear()
    home = await ada.get(HOME)
    assert [one["id"] for one in home.json][:MANY] == posts[::-1]
    assert asked == []


async def test_filters_in_memory_cost_no_query(ada: Person, bob: Person, asked: list[str]) -> None:
    for action in ("warn", "hide"):
        keywords = [{"keyword": f"{action} {number}"} for number in range(20)] + [{"keyword": action}]
        form = {"title": action, "context": ["home"], "filter_action": action, "keywords_attributes": keywords}
        assert (await ada.post("/api/v2/filters", json=form)).status == 200
    await bob.publish("I warn you")
    await ada.get(HOME)
    asked.clear()
    home = await ada.get(HOME)
    assert home.json[0]["filtered"] != []
    assert asked == []


@pytest.mark.parametrize(
    ("path", "first", "again"),
    [
        ("/", 3, 0),
        ("/tags/tea", 3, 0),
        ("/tags/tea.rss", 3, 0),
        # Each of these reads the account by its name.
        ("/@bob", 5, 3),  # posts, and those that are pinned
        ("/@bob.rss", 4, 2),
        ("/@bob/{status}", 7, 3),  # the thread in both directions
        ("/about", 2, 1),  # the contact account
    ],
)
async def test_a_page_asks_a_bounded_number_of_times(
    stage: Stage, ada: Person, bob: Person, eve: Person, asked: list[str], path: str, first: int, again: int
) -> None:
    status = (await bob.get(f"/api/v1/accounts/{bob.id}/statuses")).json[0]["id"]
    for reader in (ada, eve):
        for number in range(MANY):
            await reader.publish(f"{number} #tea", in_reply_to_id=status)
    counts: list[int] = []
    stage.http_context.statuses.clear()
    stage.http_context.accounts.clear()
    for _ in range(2):
        asked.clear()
        assert (await stage.anybody().get(path.format(status=status))).status == 200
        counts.append(len(asked))
    assert (counts[0] <= first, counts[1]) == (True, again), (counts, asked)


async def test_a_home_reads_its_newest_entries_first_and_all_others_once_somebody_reads_on(
    monkeypatch: pytest.MonkeyPatch, ada: Person, asked: list[str]
) -> None:
    monkeypatch.setattr(timeline, "FIRST", 4)
    made = [(await ada.publish(str(number)))["id"] for number in range(9)][::-1]
    assert ids(await ada.get(f"{HOME}?limit=1")) == made[:1]
    asked.clear()
    assert ids(await ada.get(f"{HOME}?limit=2")) == made[:2]
    assert not asked
    assert ids(await ada.get(f"{HOME}?limit=2&max_id={made[3]}")) == made[4:6]
    assert len(asked) == 1, asked
    asked.clear()
    assert ids(await ada.get(f"{HOME}?limit=4&max_id={made[5]}")) == made[6:]
    assert not asked


async def test_a_boost_is_hidden_because_of_a_status_beyond_the_entries_that_are_read_first(
    monkeypatch: pytest.MonkeyPatch, ada: Person
) -> None:
    monkeypatch.setattr(timeline, "FIRST", 4)
    made = [(await ada.publish(str(number)))["id"] for number in range(6)][::-1]
    await ada.post(f"/api/v1/statuses/{made[-1]}/reblog")
    assert ids(await ada.get(f"{HOME}?limit=2")) == made[:2]
