"""A person's own write is seen by their next read, on any node, and by all others who may see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

from troupe.storage import lists
from troupe.storage.lists import List
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.api import SimulatedReply
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

from .hiding import HOME, answers, lists_status
from .requests import Fields, Get, give_tokens, has_published, insist

Shows = Callable[[SimulatedReply], bool]


class Writer:
    """A person, a friend, and the writes that the person makes."""

    def __init__(self, sim: SimulatedCluster, person: Person, friend: Person) -> None:
        self.sim, self.person, self.friend = sim, person, friend
        self.numbers = count(1)
        self.read = has_published(sim, friend)  # a status to read, favourite and bookmark
        made = List(sim.new_id(), person.id, "friends", "list", False, sim.clock.now())
        sim.database.arrange(lists.insert, made, 1)
        self.list = made.id

    async def write(self, method: str, path: str, *, again: int = 200, **fields: object) -> SimulatedReply:
        """Write until there is an answer. A second try may be answered `again`."""
        key = f"{self.person.name}-{next(self.numbers)}"
        reply = await insist(self.sim, self.person, method, path, fields, key)
        assert reply.status in (200, again), f"{method} {path} is answered {reply.status}: {reply.body}"
        return reply

    async def sees(self, path: str, shows: Shows, reader: Person | None = None, fields: Fields | None = None) -> None:
        """The next read shows the write, on the first node that answers."""
        sim, get = self.sim, Get(reader or self.person, path, fields)
        reply = await insist(sim, reader or self.person, "GET", path, fields)
        assert shows(reply), f"{get} does not show what {self.person.name} has written"

    async def publish(self) -> None:
        id = int((await self.write("POST", "/api/v1/statuses", status="hello")).json["id"])
        for reader in (self.person, self.friend):
            await self.sees(HOME, lists_status(id), reader)
        await self.sees(f"/api/v1/accounts/{self.person.id}/statuses", lists_status(id))
        await self.write("PUT", f"/api/v1/statuses/{id}", status="goodbye")
        for reader in (self.person, self.friend):
            await self.sees(f"/api/v1/statuses/{id}", lambda reply: "goodbye" in reply.json["content"], reader)

    async def favourite(self) -> None:
        path = f"/api/v1/statuses/{self.read}"
        await self.write("POST", f"{path}/favourite")
        await self.sees(path, lambda reply: reply.json["favourited"] and reply.json["favourites_count"] == 1)
        await self.write("POST", f"{path}/bookmark")
        await self.sees(path, lambda reply: reply.json["bookmarked"])
        await self.sees("/api/v1/bookmarks", lists_status(self.read))
        await self.write("POST", f"{path}/unfavourite")
        await self.sees(path, lambda reply: not reply.json["favourited"])
        await self.sees("/api/v1/favourites", lambda reply: not lists_status(self.read)(reply))

    async def edit_profile(self) -> None:
        path = "/api/v1/accounts/verify_credentials"
        await self.write(
            "PATCH", "/api/v1/accounts/update_credentials", display_name="Changed", source={"privacy": "unlisted"}
        )
        await self.sees(path, lambda reply: reply.json["source"]["privacy"] == "unlisted")
        for reader in (self.person, self.friend):
            await self.sees(
                f"/api/v1/accounts/{self.person.id}", lambda reply: reply.json["display_name"] == "Changed", reader
            )

    async def filter(self) -> None:
        keyword = {"keyword": "hello", "whole_word": True}
        made = await self.write(
            "POST", "/api/v2/filters", title="mine", context=["home"], keywords_attributes=[keyword]
        )
        await self.sees("/api/v2/filters", lambda reply: made.json["id"] in [one["id"] for one in reply.json])
        await self.sees(HOME, lambda reply: all(one["filtered"] for one in reply.json if one["id"] == str(self.read)))

    async def follow(self) -> None:
        account = f"/api/v1/accounts/{self.friend.id}"
        relation, ids = "/api/v1/accounts/relationships", {"id[]": self.friend.id}
        await self.write("POST", f"{account}/unfollow")
        await self.sees(relation, lambda reply: not reply.json[0]["following"], fields=ids)
        await self.sees(HOME, lambda reply: not lists_status(self.read)(reply))
        await self.write("POST", f"{account}/follow")
        await self.sees(relation, lambda reply: reply.json[0]["following"], fields=ids)
        await self.sees(HOME, lists_status(self.read))

    async def fill_list(self) -> None:
        members = f"/api/v1/lists/{self.list}/accounts"
        page = f"/api/v1/timelines/list/{self.list}"
        await self.sees(page, answers)
        await self.write("POST", members, again=422, account_ids=[str(self.friend.id)])
        await self.sees(page, lists_status(self.read))
        await self.write("DELETE", members, account_ids=[str(self.friend.id)])
        await self.sees(page, lambda reply: not lists_status(self.read)(reply))

    async def read_notifications(self) -> None:
        path = "/api/v1/notifications"
        mention = {"status": f"@{self.person.name} look", "visibility": "direct"}
        sent = await insist(
            self.sim, self.friend, "POST", "/api/v1/statuses", mention, f"mention of {self.person.name}"
        )
        assert sent.status == 200
        await self.sees(path, lambda reply: [one["type"] for one in reply.json] == ["mention"])
        (conversation,) = (await insist(self.sim, self.person, "GET", "/api/v1/conversations")).json
        assert conversation["unread"]
        await self.write("POST", f"/api/v1/conversations/{conversation['id']}/read")
        await self.sees("/api/v1/conversations", lambda reply: not reply.json[0]["unread"])
        moved = {"home": {"last_read_id": str(self.read)}}
        await self.write("POST", "/api/v1/markers", again=409, **moved)
        await self.sees(
            "/api/v1/markers",
            lambda reply: reply.json["home"]["last_read_id"] == str(self.read),
            fields={"timeline[]": "home"},
        )
        await self.write("POST", f"{path}/clear")
        await self.sees(path, lambda reply: reply.json == [])


WRITES = (
    Writer.publish, Writer.favourite, Writer.edit_profile, Writer.filter, Writer.fill_list, Writer.read_notifications,
    Writer.follow,
)  # fmt: skip


@simulation(seeds=4, faults=3, world=partial(cluster, nodes=3))
async def test_a_write_is_seen_by_the_next_read_on_any_node(sim: SimulatedCluster) -> None:
    await write_and_read(sim)


async def write_and_read(sim: SimulatedCluster) -> None:
    """Three people write amid a storm, and read on random nodes after each write."""
    writers = [await _writer(sim, name) for name in ("ada", "eve", "ida")]
    async with sim.run.together() as go:
        go(sim.storm, name="storm")
        for writer in writers:
            go(_work, sim, writer, name=writer.person.name)
    await sim.calm()


async def _writer(sim: SimulatedCluster, name: str) -> Writer:
    person, friend = await sim.people(name, f"{name}_friend")
    give_tokens(sim, person, friend)
    person.has_followed(friend)
    friend.has_followed(person)
    return Writer(sim, person, friend)


async def _work(sim: SimulatedCluster, writer: Writer) -> None:
    for write in sim.run.random.sample(WRITES, 3):
        sim.run.note(f"begins to {write.__name__}", writer.person.name)
        await write(writer)
