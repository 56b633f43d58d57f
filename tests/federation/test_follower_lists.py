"""What the server of an account says of its followers here: believed of its own account, and of nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from troupe.actors.activitypub.follower_lists import HEADER, FollowerList, digest_of
from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext
from troupe.actors.federation import follower_lists

from ..clients import Person, Stage
from ..waiting import until_found
from .delivering import HOME, act, create, follow, note, take
from .finding import followed, until_done
from .peer import ForeignServer

ADA, BOB = f"{HOME}/users/ada", f"{HOME}/users/bob"
FOLLOWERS = "SELECT a.username FROM follows f JOIN accounts a ON a.id = f.account_id ORDER BY 1"
ENDED = "SELECT body FROM activities WHERE body LIKE '%Undo%'"


class Author:
    """Eve, whom some people here follow since an hour ago."""

    def __init__(self, stage: Stage, peer: ForeignServer) -> None:
        self.stage = stage
        self.peer = peer
        self.eve = peer.person("eve")
        self.url = f"{self.eve['id']}/followers_synchronization"
        self._number = 0

    async def has(self, *people: Person) -> None:
        for person in people:
            await followed(person, self.peer)
            asked = {"type": "Follow", "actor": f"{HOME}/users/{person.account.username}", "object": self.eve["id"]}
            await take(self.stage, act(self.eve, "Accept", asked, person.account.username))
        await self.stage.sql("UPDATE follows SET created_at = created_at - interval '1 hour'")

    def lists(self, *uris: str) -> None:
        self.peer.collection(self.url, list(uris))

    async def posts(self, *followers: str, **changes: str) -> None:
        """Post, and say that these are the followers here."""
        self._number += 1
        told = {"collection": self.eve["followers"], "url": self.url, "digest": digest_of(followers)} | changes
        post = create(self.eve, note(self.eve, self._number, to=[self.eve["followers"]], cc=None))
        await take(self.stage, post, headers={HEADER: FollowerList(**told).header})

    async def followers(self) -> list[str]:
        return [name for (name,) in await self.stage.rows(FOLLOWERS)]

    async def until(self, *names: str) -> None:
        async def agree() -> bool:
            return await self.followers() == list(names)

        await until_found(agree)


async def followed_by_request(author: Author) -> None:
    """Have the author be known here."""
    await take(author.stage, follow(author.eve, "ada"))


@pytest.fixture
async def author(stage: Stage, peer: ForeignServer, ada: Person, bob: Person) -> Author:
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    for person in (ada, bob):  # those without a key can't have followed anybody
        await stage.http_context.federation.keys.public_key_of(person.account.id)
    return Author(stage, peer)


async def test_a_follow_that_is_not_listed_ends(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    author.lists(ADA)
    await author.posts(ADA)
    await author.until("ada")
    relation = (await bob.get(f"/api/v1/accounts/relationships?id={await eves_id(bob, author)}")).json[0]
    assert (relation["following"], relation["requested"]) == (False, False)
    assert not await author.stage.rows(ENDED), "the other server knows"


async def test_a_list_may_have_pages(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    second = author.peer.collection(f"{author.url}?page=2", [])
    author.peer.collection(author.url, first={"type": "OrderedCollectionPage", "orderedItems": [ADA], "next": second})
    await author.posts(ADA)
    await author.until("ada")


async def test_nothing_is_asked_when_both_agree(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    await author.posts(ADA, BOB)
    await until_done(author.stage)
    assert not author.peer.asked(author.url)


async def test_a_list_is_asked_for_once_in_a_while(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    author.lists(BOB)
    for _ in range(3):
        await author.posts(ADA)
    await until_done(author.stage)
    assert len(author.peer.asked(author.url)) == 1


async def test_the_lists_of_one_domain_are_counted(
    author: Author, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_lists, "LISTS", 1)
    await author.has(ada)
    author.lists(ADA)
    await author.posts(BOB)
    await author.peer.was_asked(author.url)
    sub = Author(author.stage, author.peer)
    sub.eve = author.peer.person("sub", "host1.peer.test")
    sub.url = f"{sub.eve['id']}/followers_synchronization"
    await followed_by_request(sub)
    await sub.posts(ADA)
    assert not author.peer.asked(sub.url)


async def test_a_follow_that_nobody_made_here_is_undone_there(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    await bob.post(f"/api/v1/accounts/{await eves_id(bob, author)}/unfollow")
    await author.stage.sql("DELETE FROM outbox WHERE queue = 'deliveries'")
    await author.stage.sql("DELETE FROM activities")
    author.lists(ADA, BOB, f"{HOME}/users/nobody")
    await author.posts(ADA, BOB)
    asked = await until_found(lambda: author.stage.rows(ENDED))
    assert len(asked) == 1
    assert f'"actor":"{BOB}"' in asked[0][0]
    assert f'"object":"{author.eve["id"]}"' in asked[0][0]


async def test_a_request_is_neither_ended_nor_undone(author: Author, ada: Person, bob: Person) -> None:
    """Its answer may be on the way."""
    await author.has(ada)
    await followed(bob, author.peer)
    author.lists(ADA, BOB)
    await author.posts(ADA, BOB)
    await author.peer.was_asked(author.url)
    author.lists()
    await until_done(author.stage)
    assert len(await author.stage.rows("SELECT FROM follow_requests WHERE account_id = $1", bob.account.id)) == 1
    assert not await author.stage.rows(ENDED)


async def test_a_request_is_not_ended_by_a_list_without_it(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada)
    await followed(bob, author.peer)
    author.lists()
    await author.posts()
    await author.until()
    assert len(await author.stage.rows("SELECT FROM follow_requests WHERE account_id = $1", bob.account.id)) == 1


async def test_a_follow_that_began_after_the_activity_stays(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    await author.stage.sql("UPDATE follows SET created_at = now() WHERE account_id = $1", bob.account.id)
    author.lists()
    await author.posts()
    await author.until("bob")


async def test_a_list_that_the_activity_did_not_tell_of_ends_nothing(author: Author, ada: Person, bob: Person) -> None:
    await author.has(ada, bob)
    author.lists()
    await author.posts(ADA)
    await author.peer.was_asked(author.url)
    await until_done(author.stage)
    assert await author.followers() == ["ada", "bob"]


@pytest.mark.parametrize("wrong", ["url", "collection"])
async def test_a_list_of_another_host_is_not_asked_for(author: Author, ada: Person, wrong: str) -> None:
    await author.has(ada)
    mallory = author.peer.person("mallory", "other.test")
    listed = author.peer.collection(f"{mallory['id']}/list", [])
    await author.posts(**{wrong: listed if wrong == "url" else mallory["followers"]})
    await until_done(author.stage)
    assert not author.peer.asked(listed)
    assert not author.peer.asked(author.url)
    assert await author.followers() == ["ada"]


async def test_another_collection_of_the_host_is_not_that_of_the_followers(author: Author, ada: Person) -> None:
    await author.has(ada)
    mallory = author.peer.person("mallory")
    await author.posts(collection=mallory["followers"])
    await until_done(author.stage)
    assert not author.peer.asked(author.url)


async def test_a_list_says_nothing_of_the_followers_of_others(author: Author, ada: Person, bob: Person) -> None:
    """Mallory, of the same host, has nobody here, and says so: eve keeps her followers."""
    await author.has(ada, bob)
    mallory = Author(author.stage, author.peer)
    mallory.eve = author.peer.person("mallory")
    mallory.url = f"{mallory.eve['id']}/followers_synchronization"
    mallory.lists()
    await followed_by_request(mallory)
    await mallory.posts()
    await until_done(author.stage)
    assert await author.followers() == ["ada", "bob", "mallory"]


NAMES = [f"{HOME}/users/nobody{number}" for number in range(60)]
ELSEWHERE = "/second"


@pytest.mark.parametrize(
    ("items", "more"),
    [
        (["https://c.example/users/cyd"], {}),
        ([7, None], {}),
        ([f"{HOME}/users/ada", "https://c.example/users/cyd"], {}),
        (NAMES, {}),
        (None, {"first": {"orderedItems": [], "next": ELSEWHERE}}),
        (None, {"first": ELSEWHERE}),
        ([], {"next": "itself"}),
    ],
    ids=[
        "others' people", "no names", "others' people too", "too many names", "pages of another host",
        "a first page of another host", "pages without end",
    ],
)  # fmt: skip
async def test_a_hostile_list_changes_nothing(
    author: Author, ada: Person, items: list[Any] | None, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest is that of the activity, and it says that nobody here follows, or very many."""
    monkeypatch.setattr(follower_lists, "MOST_LISTED", 50)
    await author.has(ada)
    second = author.peer.collection(author.peer.url(ELSEWHERE, "other.test"), [])
    written = json.dumps(more).replace(f'"{ELSEWHERE}"', f'"{second}"').replace('"itself"', f'"{author.url}"')
    author.peer.collection(author.url, items, **json.loads(written))
    await author.posts(*(item for item in items or [] if isinstance(item, str)))
    await author.peer.was_asked(author.url)
    await until_done(author.stage)
    assert await author.followers() == ["ada"]
    assert not author.peer.asked(second)
    assert not await author.stage.rows(ENDED)


async def test_a_list_that_leads_to_another_host_is_not_believed(author: Author, ada: Person) -> None:
    await author.has(ada)
    listed = author.peer.collection(author.peer.url("/list", "other.test"), [])
    author.peer.redirect(author.url, listed)
    await author.posts()
    await author.peer.was_asked(listed)
    await until_done(author.stage)
    assert "ada" in await author.followers()


async def test_only_so_many_follows_are_undone_for_one_list(
    author: Author, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_lists, "MOST_UNDONE", 1)
    await followed_by_request(author)
    author.lists(ADA, BOB)
    await author.posts(ADA, BOB)
    await until_found(lambda: author.stage.rows(ENDED))
    await until_done(author.stage)
    assert len(await author.stage.rows(ENDED)) == 1


async def eves_id(person: Person, author: Author) -> str:
    found = await person.get("/api/v2/search", query_string={"q": author.eve["id"], "resolve": "true"})
    return found.json["accounts"][0]["id"]
