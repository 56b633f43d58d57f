"""A domain that staff have suspended, by its own name or that of its parent, or that a closed server does not allow.

Whatever is tried: it is asked for nothing, sent nothing, and nothing of it is stored. `bad` is such a host, `good` one
that may talk to this server and names what the bad one has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext
from troupe.actors.federation.remote_files import digest_of
from troupe.storage import server_blocks
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.blocked_domains import BlockedDomain
from troupe.storage.federation import activities

from ..clients import Person, Stage
from ..rows import create_account
from ..signing import private_key
from .delivering import DOCUMENT, HOME, act, applied, create, deliver, follow, note, take
from .finding import until_done
from .peer import ForeignServer

BAD, GOOD = "host0.peer.test", "other.test"
NAMES = {"suspended": BAD, "part of a suspended domain": "peer.test", "not allowed": None}
STORED = "SELECT uri FROM accounts WHERE domain LIKE 'host0%' UNION ALL SELECT uri FROM statuses WHERE uri LIKE $1"


@pytest.fixture(params=NAMES)
def shunned(request: pytest.FixtureRequest, options: dict[str, Any]) -> str | None:
    """The name that staff have blocked; None where the domain is not allowed."""
    name = NAMES[request.param]
    options["limited_federation"] = name is None
    return name


@dataclass(frozen=True)
class World:
    stage: Stage
    ada: Person
    peer: ForeignServer
    mallory: dict[str, Any]  # of the bad host
    eve: dict[str, Any]  # of the good one
    post: dict[str, Any]  # of mallory's

    async def search(self, query: str) -> list[Any]:
        answer = await self.ada.done("GET", "/api/v2/search", query_string={"q": query, "resolve": "true"})
        return [*answer["accounts"], *answer["statuses"]]

    async def take(self, document: dict[str, Any]) -> None:
        """Take an activity of the good host's."""
        await take(self.stage, document)
        await until_done(self.stage)

    async def follow_eve(self) -> None:
        """Have ada follow her, so that what she posts is for somebody here."""
        (found,) = await self.search(self.eve["id"])
        await self.ada.post(f"/api/v1/accounts/{found['id']}/follow")
        asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": self.eve["id"]}
        await self.take(act(self.eve, "Accept", asked))

    async def known_mallory(self) -> Account:
        """Store the account of the bad host, as if it had been known before."""
        context = self.stage.http_context
        new = NewAccount(
            context.ids.next(), "mallory", self.peer.domain_of(BAD), self.mallory["id"], self.mallory["id"],
            self.mallory["inbox"], followers_url=self.mallory["followers"],
        )  # fmt: skip
        return await context.database.transact(create_account, new, context.clock.now())

    @property
    def was_asked(self) -> list[str]:
        """What the bad host was asked for."""
        host = self.peer.domain_of(BAD)
        return [asked.path for asked in self.peer.peer.asked if asked.headers.get("host") == host]


@pytest.fixture
async def world(shunned: str | None, stage: Stage, ada: Person, peer: ForeignServer) -> World:
    context = stage.http_context
    if shunned is None:
        await stage.sql(f"INSERT INTO allowed_domains (id, domain, created_at) VALUES (1, '{GOOD}', now())")
    else:
        now = context.clock.now()
        block = BlockedDomain(context.ids.next(), shunned, "suspend", False, False, None, None, False, now)
        await context.database.transact(server_blocks.insert, block)
    await context.blocks.reload()
    mallory, eve = peer.person("mallory", BAD), peer.person("eve", GOOD)
    return World(stage, ada, peer, mallory, eve, peer.note(mallory, "/notes/1"))


async def sought_by_its_names(world: World) -> None:
    for query in (world.mallory["id"], world.mallory["url"], world.post["id"], f"@mallory@{world.peer.domain_of(BAD)}"):
        assert await world.search(query) == [], query


async def behind_a_redirect(world: World) -> None:
    there = world.peer.redirect(world.peer.url("/to", GOOD), world.mallory["id"])
    assert await world.search(there) == []


async def behind_a_page(world: World) -> None:
    page = f'<link rel="alternate" type="{DOCUMENT}" href="{world.post["id"]}">'.encode()
    assert await world.search(world.peer.serve(world.peer.url("/page", GOOD), page, "text/html")) == []


async def behind_a_handle(world: World) -> None:
    world.peer.handle("mallory", GOOD, world.mallory["id"])
    assert await world.search(f"@mallory@{world.peer.domain_of(GOOD)}") == []


async def under_a_handle_of_the_bad_domain(world: World) -> None:
    subject = f"eve@{world.peer.domain_of(BAD)}"
    world.peer.handle("eve", GOOD, world.eve["id"], subject)
    world.peer.handle("eve", BAD, world.eve["id"])
    assert await world.search(world.eve["id"]) == []


async def behind_a_template(world: World) -> None:
    template = world.peer.url("/webfinger?resource={uri}", BAD)
    xrd = f'<XRD><Link rel="lrdd" template="{template}"/></XRD>'.encode()
    world.peer.serve(world.peer.url("/.well-known/host-meta", GOOD), xrd, "application/xrd+xml")
    assert await world.search(f"@nobody@{world.peer.domain_of(GOOD)}") == []


async def under_another_id(world: World) -> None:
    there = world.peer.serve(world.peer.url("/copy", GOOD), world.post)
    assert await world.search(there) == []


async def mentioned_here(world: World) -> None:
    handle = f"mallory@{world.peer.domain_of(BAD)}"
    answer = await world.ada.post("/api/v1/statuses", json={"status": f"hello @{handle}"})
    assert answer.json["mentions"] == []
    assert (await world.ada.get("/api/v1/accounts/lookup", query_string={"acct": handle})).status == 404


async def signed_by_it(world: World) -> None:
    for path in ("/inbox", "/users/ada/inbox"):
        assert (await deliver(world.stage, follow(world.mallory, "ada"), path=path)).status == 403
    deleted = act(world.mallory, "Delete", world.mallory["id"])
    assert (await deliver(world.stage, deleted)).status == 403, "also what is answered without a key"


async def with_its_key(world: World) -> None:
    key = f"{world.mallory['id']}#main-key"
    assert (await deliver(world.stage, follow(world.eve, "ada"), key_id=key)).status == 403


async def passed_on(world: World) -> None:
    reply = await deliver(world.stage, create(world.mallory, world.post), signer=world.eve["id"])
    assert reply.status == 403
    answer = note(world.eve, 1, inReplyTo=world.post["id"])
    await world.take(act(world.eve, "Create", world.post["id"], 7))
    await world.take(create(world.eve, answer))


async def boosted_or_favourited(world: World) -> None:
    await world.follow_eve()
    for kind in ("Announce", "Like"):
        for named in (world.post["id"], world.post):
            await world.take(act(world.eve, kind, named, to=["as:Public"]))


async def named_in_a_post(world: World) -> None:
    tag = {"type": "Mention", "href": world.mallory["id"], "name": f"@mallory@{world.peer.domain_of(BAD)}"}
    quoting = {"quote": world.post["id"], "quoteAuthorization": world.peer.url("/stamp", BAD)}
    await world.follow_eve()
    named: tuple[dict[str, Any], ...] = (
        {"inReplyTo": world.post["id"]}, {"tag": [tag]}, quoting, {"quoteUrl": world.post["id"]},
        {"replies": world.peer.url("/replies", BAD)}, {"context": world.peer.url("/context", BAD)},
    )  # fmt: skip
    for number, changes in enumerate(named):
        post = note(world.eve, number, cc=[f"{HOME}/users/ada"], **changes)
        world.peer.serve(post["id"], post)
        await world.take(create(world.eve, post))
        ((id,),) = await world.stage.rows("SELECT id FROM statuses WHERE uri = $1", post["id"])
        assert (await world.ada.get(f"/api/v1/statuses/{id}/context")).status == 200
        await until_done(world.stage)


async def pinned_or_moved_to(world: World) -> None:
    there = world.peer.url("/featured", BAD)
    world.peer.collection(there, [world.post])
    fay = world.peer.person("fay", GOOD, featured=there, movedTo=world.mallory["id"])
    world.peer.collection(world.eve["featured"], [world.post, world.post["id"]])
    for person in (fay, world.eve):
        assert len(await world.search(person["id"])) == 1
        await until_done(world.stage)
    await world.take(act(world.eve, "Add", world.post["id"], target=world.eve["featured"]))
    await world.take(act(world.eve, "Move", world.eve["id"], target=world.mallory["id"]))


async def reported(world: World) -> None:
    await world.take(act(world.eve, "Flag", [world.mallory["id"], world.post["id"]], content="bad"))


ATTEMPTS: tuple[Callable[[World], Awaitable[None]], ...] = (
    sought_by_its_names, behind_a_redirect, behind_a_page, behind_a_handle, under_a_handle_of_the_bad_domain,
    behind_a_template, under_another_id, mentioned_here, signed_by_it, with_its_key, passed_on, boosted_or_favourited,
    named_in_a_post, pinned_or_moved_to, reported,
)  # fmt: skip


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
async def test_nothing_is_asked_of_it_nor_stored(world: World, attempt: Callable[[World], Awaitable[None]]) -> None:
    await attempt(world)
    await applied(world.stage)
    await until_done(world.stage)
    assert world.was_asked == []
    assert await world.stage.rows(STORED, f"%{BAD}%") == []
    assert await world.stage.rows("SELECT FROM outbox WHERE kind = 'unverified'") == []
    assert world.stage.failures == []


async def test_it_reads_nothing_and_its_key_is_not_asked_for(world: World) -> None:
    by = SigningKey(f"{world.mallory['id']}#main-key", private_key())
    status = (await world.ada.publish("hello"))["id"]
    paths = ("/users/ada", "/users/ada/outbox?page=true", "/users/ada/followers", "/users/ada/collections/featured",
             f"/users/ada/statuses/{status}", f"/users/ada/statuses/{status}/replies", "/@ada")  # fmt: skip
    for path in paths:
        headers = sign(by, "GET", f"{HOME}{path}", None, world.stage.http_context.clock.now())
        answer = await world.stage.anybody().send("GET", path, headers=headers | {"Accept": DOCUMENT})
        assert answer.status == 403, path
    for path in ("/actor", "/.well-known/nodeinfo", "/.well-known/webfinger?resource=acct:ada@home.test"):
        answer = await world.stage.anybody().send("GET", path, headers={"Accept": DOCUMENT})
        assert answer.status == 200, path
    assert world.was_asked == []


async def test_its_pictures_are_not_fetched(world: World) -> None:
    account, url = await world.known_mallory(), world.peer.url("/face.png", BAD)
    await world.stage.sql("UPDATE accounts SET avatar_remote_url = $2 WHERE id = $1", account.id, url)
    assert (await world.stage.anybody().get(f"/media_proxy/avatar/{account.id}/{digest_of(url)}")).status == 404
    assert world.was_asked == []


async def test_its_accounts_that_are_known_are_sent_nothing(world: World) -> None:
    """A follower from before the block, and what was already promised."""
    context = world.stage.http_context
    world.stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    account = await world.known_mallory()
    await world.stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, uri, from_domain, created_at)"
        " VALUES (1, $1, $2, 'x', $3, now())", account.id, int(world.ada.id), world.peer.domain_of(BAD),
    )  # fmt: skip
    await world.ada.publish("hello")
    known = await context.database.read(activities.inboxes, int(world.ada.id), [], int(world.ada.id))
    assert [one.inbox for one in known] == [world.mallory["inbox"]]
    assert await world.stage.rows("SELECT FROM outbox WHERE queue = $1", DELIVERIES.name) == []
