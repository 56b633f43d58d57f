"""The people of the visibility matrix: two authors, their viewers, and posts of every kind."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from troupe.actors.broadcast.broadcast import PUBLIC_PLACES, account_address, home_address, list_address, tag_address
from troupe.actors.facts.conversations import ChangedConversation
from troupe.actors.facts.fact import Fact, promises_with
from troupe.actors.facts.notifications import AddedNotification
from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import NOWHERE
from troupe.storage import (
    conversations,
    edits,
    endorsements,
    featured_tags,
    follows,
    media,
    notifications,
    polls,
    statuses,
    tags,
)
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.edits import Revision
from troupe.storage.engine.database import Connection
from troupe.storage.follows import FollowTerms
from troupe.storage.media import ProcessedMedia
from troupe.storage.notifications import NewNotification
from troupe.storage.polls import NewPoll
from troupe.storage.statuses import NewStatus, Status, StatusTag

from ..clients import Client, Person, Stage
from ..rows import create_account
from ..waiting import until

VISIBILITIES = {"p": "public", "u": "unlisted", "f": "private", "d": "direct"}
KINDS = ("post", "answer", "aside", "shared", "echo")
EVERY = "&".join(f"id[]=<post {letter}>" for letter in VISIBILITIES)

CONVERSATION = """
    INSERT INTO account_conversations (id, account_id, conversation_id, participant_ids, last_status_id)
    VALUES ($1, $2, $3, ARRAY[$4::bigint], $3)
"""
PIN = "INSERT INTO pins (id, account_id, status_id, created_at) VALUES ($1, $2, $3, now())"
# With ids of now, because old interactions do not count.
FAVOURITES = """
    INSERT INTO favourites (id, account_id, status_id, created_at)
    SELECT
        greatest((SELECT max(id) FROM statuses), (SELECT max(id) FROM favourites)) + row_number() OVER (ORDER BY id),
        $1, id, now()
    FROM statuses
    WHERE reblog_of_id IS NULL AND account_id = $2
"""
UNFILTER = "UPDATE notifications SET filtered = false"
NEWS_AS_QUOTES = "UPDATE notifications SET type = 'quote' WHERE type = 'update'"
FILTER = """
    WITH filtered AS (
        UPDATE notifications n SET filtered = true FROM statuses s
        WHERE s.id = n.status_id AND n.type = $1 AND s.visibility = $2 AND n.from_account_id = ANY($3) RETURNING n.*
    )
    INSERT INTO notification_requests (id, account_id, from_account_id, created_at, updated_at)
    SELECT id, account_id, from_account_id, now(), now() FROM filtered
    ON CONFLICT (account_id, from_account_id) DO NOTHING
"""
REQUESTS_OF = "SELECT account_id, id FROM notification_requests WHERE from_account_id = ANY($1)"
CARD = "INSERT INTO preview_cards (id, url, found, fetched_at) VALUES (1, 'https://trio.example/', true, now())"
ALLOWED_LINKS = "INSERT INTO publisher_reviews VALUES ('trio.example', true, now())"
ALLOWED_AUTHORS = "INSERT INTO author_reviews SELECT id, true, now() FROM accounts"
CARDS = "INSERT INTO status_cards (status_id, card_id, id) SELECT id, 1, id FROM statuses WHERE reblog_of_id IS NULL"
BOOKMARKS = FAVOURITES.replace("favourites", "bookmarks")


@dataclass(frozen=True)
class Row:
    """A viewer of a table, and the visibilities that they see, by columns."""

    who: str
    cells: dict[str, str]

    @property
    def is_distant(self) -> bool:
        """Whether they look at the author of the other server."""
        return self.who.startswith(("distant", "domain-blocking"))

    def cell(self, column: str) -> str:
        match column:
            case "never":
                return ""
            case "own":
                return "pufd" if self.who == "author" else ""
            case "near":
                return "" if self.is_distant else self.cells["open"]
            case "far":
                return self.cells["open"] if self.is_distant else ""
            case "echoes":
                return self.cells["profile" if self.who == "author" else "tom"]
            case "feed":
                return self.cells["profile"].strip("ufd")
            case "quoted":  # where a post is shown inside of a quote: as in a thread
                return self.cells["thread"]
            case "cited":  # an unlisted post of Ada's that a public one quotes, on streams
                return "" if self.is_distant else "".join(one for one in self.cells["thread"] if one == "u")
            case "sought":  # by name; without a table of its own, where the account is shown
                return self.cells.get("sought", self.cells["account"])
            case "pinned":
                return self.cells["profile"].replace("d", "")
            case _:
                return self.cells[column]


def read(*tables: str) -> list[Row]:
    """The rows of tables that have the same ones, beside each other."""
    found: dict[str, dict[str, str]] = {}
    for table in tables:
        head, *lines = table.strip("\n").splitlines()
        width = len(head) - len(head.lstrip())
        for line in lines:
            cells = (cell.strip("-") for cell in line[width:].split())
            found.setdefault(line[:width].strip(), {}).update(zip(head.split(), cells, strict=True))
    return [Row(who, cells) for who, cells in found.items()]


def marker(author: Account, kind: str, letter: str) -> str:
    """A word that stands in every part of a post, and nowhere else."""
    return f"{author.username}{kind}{VISIBILITIES[letter]}"


@dataclass(frozen=True)
class Viewer:
    """The viewer of a row, and the author of the posts."""

    world: "World"
    row: Row
    client: Client
    author: Account

    @property
    def is_anonymous(self) -> bool:
        return not isinstance(self.client, Person)

    @property
    def id(self) -> int:
        """The viewer's id; 0 without an account."""
        return self.client.account.id if isinstance(self.client, Person) else 0

    def says(self, word: str) -> bool:
        return word in self.row.who.split()

    def fill(self, template: str, letter: str = "p") -> str | None:
        """A path with ids of this visibility, or of the one named; None where there is no such thing for the viewer."""
        text = template.replace("<every>", EVERY)
        for name in re.findall(r"<([\w ]+)>", text):
            kind, _, wanted = name.partition(" ")
            id = self._id(kind, wanted or letter)
            if id is None:
                return None
            text = text.replace(f"<{name}>", str(id))
        return text

    def _id(self, kind: str, letter: str) -> int | None:
        ids = self.world.ids
        places = [(owner, kind, one) for owner in (self.id, self.author.id) for one in (letter, "")]
        return next((ids[place] for place in places if place in ids), None)


class World:
    """The people, their posts, and the blocks made after them. `ids` are by author, kind and visibility."""

    def __init__(self, stage: Stage, tom: Person, sam: Person, quin: Person, ada: Person, zoe: Account) -> None:
        self.stage = stage
        self.tom, self.sam, self.quin, self.ada, self.zoe = tom, sam, quin, ada, zoe
        self.ids: dict[tuple[int, str, str], int] = {}
        self.viewers: list[Viewer] = []

    @property
    def authors(self) -> tuple[Account, Account]:
        return self.ada.account, self.zoe

    def next(self) -> int:
        return self.stage.http_context.ids.next()

    def of(self, author: Account) -> list[Viewer]:
        """Those with an account who look at this author's posts."""
        return [one for one in self.viewers if one.author.id == author.id and not one.is_anonymous]

    def named(self, author: Account) -> list[Viewer]:
        """The people whom all posts of the author mention."""
        return [viewer for viewer in self.of(author) if viewer.says("mentioned")]

    # -- people

    async def invite(self, row: Row) -> None:
        """All follow Tom, some the author, and have both on a list."""
        viewer = Viewer(self, row, await self._client(row), self.zoe if row.is_distant else self.ada.account)
        self.viewers.append(viewer)
        if viewer.is_anonymous:
            return
        listed = [self.tom.account.id]
        if viewer.says("follower"):
            await self._follow(viewer)
        await done(viewer.client, f"/api/v1/accounts/{self.tom.id}/follow")
        if viewer.says("follower") or viewer.says("author"):
            listed.append(viewer.author.id)
        made = await done(viewer.client, "/api/v1/lists", title="both")
        await done(viewer.client, f"/api/v1/lists/{made['id']}/accounts", account_ids=[str(id) for id in listed])
        self.ids |= {(viewer.id, "list", ""): int(made["id"]), (viewer.id, "self", ""): viewer.id}

    async def _follow(self, viewer: Viewer) -> None:
        http_context, follow = self.stage.http_context, FollowTerms(self.next(), viewer.id, viewer.author.id)
        await http_context.database.transact(follows.insert_follow, follow, http_context.clock.now())

    async def _client(self, row: Row) -> Client:
        if row.who == "author":
            return self.ada
        if row.who == "anonymous":
            return self.stage.anybody()
        role = "admin" if row.who == "staff" else "user"
        return await self.stage.person(handle(row.who), role=role)

    async def fall_out(self) -> None:
        """Blocks and mutes, when everything was posted and read."""
        for viewer in self.viewers:
            if viewer.says("blocked"):
                await done(self.ada, f"/api/v1/accounts/{viewer.id}/block")
                await self._follow_in_spite(viewer)
            if viewer.says("blocking"):
                await done(viewer.client, f"/api/v1/accounts/{viewer.author.id}/block")
            if viewer.says("muting"):
                await done(viewer.client, f"/api/v1/accounts/{viewer.author.id}/mute")
            if viewer.says("domain-blocking"):
                await done(viewer.client, "/api/v1/domain_blocks", domain="far.example")

    async def _follow_in_spite(self, viewer: Viewer) -> None:
        """A block ends the follow. Should there be one all the same, it opens nothing."""
        if viewer.says("follower"):
            await self._follow(viewer)
            self.stage.http_context.runtime.resync(account_address(viewer.id))
            self.stage.http_context.runtime.resync(home_address(viewer.id))

    # -- what was posted, as rows: each post has everything that one can have

    async def begin(self) -> None:
        """What Ada's and Zoe's posts answer."""
        for name, by in (("root", self.tom), ("elsewhere", self.sam)):
            id = int((await by.publish(name))["id"])
            self.ids |= {(author.id, name, ""): id for author in self.authors}
        for author in self.authors:
            people = {"author": author.id, "tom": self.tom.account.id, "quin": self.quin.account.id}
            self.ids |= {(author.id, name, ""): id for name, id in people.items()}

    async def write(self, db: Connection) -> None:
        for author in self.authors:
            await self._introduce(db, author)
            for letter in VISIBILITIES:
                await self._revise(db, author, letter)
                for kind in KINDS:
                    await self.post(db, author, kind, letter)
                await self._surround(db, author, letter)

    async def _introduce(self, db: Connection, author: Account) -> None:
        """Tom follows both authors, who follow and recommend Sam and feature a hashtag."""
        now, tom, sam = self.stage.http_context.clock.now(), self.tom.account.id, self.sam.account.id
        assert await follows.insert_follow(db, FollowTerms(self.next(), tom, author.id), now)
        assert await follows.insert_follow(db, FollowTerms(self.next(), author.id, sam), now)
        assert await endorsements.insert(db, self.next(), author.id, sam, now)
        tag = await tags.ensure(db, StatusTag(self.next(), "matrix", "matrix"), now)
        await featured_tags.insert(db, self.next(), author.id, tag.id, "matrix", now)

    async def _revise(self, db: Connection, author: Account, letter: str) -> None:
        """A post that said something else before it named anybody."""
        now, before, after = (
            self.stage.http_context.clock.now(), marker(author, "earlier", letter), marker(author, "revised", letter)
        )  # fmt: skip
        id = await self._store(db, author, VISIBILITIES[letter], text=before, content=before)
        await edits.keep_first(db, self.next(), id)
        named = tuple(viewer.id for viewer in self.named(author))
        revision = Revision(id, text=after, content=after, mentioned_ids=named)
        await edits.revise(db, self.next(), revision, now)
        self.ids[author.id, "revised", letter] = id

    async def _surround(self, db: Connection, author: Account, letter: str) -> None:
        """What others have to do with the posts."""
        post, answer, shared, echo = (
            self.ids[author.id, kind, letter] for kind in ("post", "answer", "shared", "echo")
        )
        self.ids[author.id, "leaf", letter] = await self._store(
            db, self.tom.account, "public", in_reply_to_id=answer, in_reply_to_account_id=author.id
        )
        self.ids[author.id, "quoting", letter] = await self._store(
            db, self.quin.account, "unlisted", quote_of_id=post, quote_state="accepted"
        )
        if letter != "d":
            by = author if letter == "f" else self.tom.account
            self.ids[author.id, "boost", letter] = await self._store(db, by, VISIBILITIES[letter], reblog_of_id=shared)
            await db.execute(PIN, self.next(), author.id, post)
        for viewer in self.of(author):
            if letter in "pu" and viewer.id != author.id:
                await self._store(db, account_of(viewer), VISIBILITIES[letter], reblog_of_id=echo)
            if viewer.says("mentioned"):
                await self._notify(db, viewer, "mention", echo)
            await self._tell(db, viewer, post, letter)

    async def _tell(self, db: Connection, viewer: Viewer, post: int, letter: str) -> None:
        """That it was edited and maybe names them; and a conversation, though only a direct one would begin one."""
        author = viewer.author.id
        for name, type in (("news", "update"), ("mention", "mention")):
            if viewer.id != author and (name == "news" or viewer.says("mentioned")):
                self.ids[viewer.id, name, letter] = await self._notify(db, viewer, type, post)
        self.ids[viewer.id, "letter", letter] = id = self.next()
        other = self.tom.account.id if viewer.id == author else author
        await db.execute(CONVERSATION, id, viewer.id, post, other)

    async def _notify(self, db: Connection, viewer: Viewer, type: str, status_id: int) -> int:
        """Return the id of a new notification."""
        new = NewNotification(self.next(), viewer.id, viewer.author.id, type, status_id)
        assert await notifications.insert_many(db, [new], self.stage.http_context.clock.now())
        return new.id

    async def post(self, db: Connection, author: Account, kind: str, letter: str) -> Status:
        now, words = self.stage.http_context.clock.now(), marker(author, kind, letter)
        poll, medium = self.next(), self.next()
        await polls.insert(db, NewPoll(poll, author.id, (words, "b"), False, False, now + timedelta(hours=1)), now)
        made = ProcessedMedia("image", f"{medium}.png", "image/png", 1, None, None, {})
        await media.insert(db, medium, author.id, made, words, None, now)
        name, answered = {"answer": ("root", self.tom), "aside": ("elsewhere", self.sam)}.get(kind, ("", None))
        id = await self._store(
            db, author, VISIBILITIES[letter], text=words, content=f"<p>needle {words}</p>", spoiler_text=words,
            media_ids=(medium,), poll_id=poll, tags=(StatusTag(self.next(), "matrix", "matrix"),),
            mentioned_ids=tuple(viewer.id for viewer in self.named(author)),
            in_reply_to_id=self.ids.get((author.id, name, "")),
            in_reply_to_account_id=answered.account.id if answered else None,
        )  # fmt: skip
        self.ids[author.id, kind, letter] = id
        if kind == "post":
            self.ids |= {(author.id, "poll", letter): poll, (author.id, "medium", letter): medium}
        status = await statuses.find(db, id)
        assert status is not None
        return status

    async def _store(self, db: Connection, by: Account, visibility: str, **more: Any) -> int:
        id = self.next()
        uri = f"https://some.example/{id}"
        new = NewStatus(id, by.id, uri, uri, visibility, local=by.domain is None, **more)
        await statuses.insert(db, new, self.stage.http_context.clock.now())
        return id

    async def keep(self) -> None:
        """Give all viewers favourites and bookmarks of all posts, also of those that they can't see any more."""
        for viewer in self.viewers:
            await self.stage.sql(FAVOURITES, viewer.id or self.sam.account.id, viewer.author.id)
            await self.stage.sql(BOOKMARKS, viewer.id or self.sam.account.id, viewer.author.id)

    async def trend(self) -> None:
        """Let everything trend: without warnings, with the responses of all viewers, who have favourited it, and with
        one link that five others have shared too.
        """
        await self.stage.sql("UPDATE statuses SET spoiler_text = '', sensitive = false")
        await self.stage.sql("UPDATE status_counts SET favourites = 9")
        for number in range(5):
            fan = await self.stage.account(f"fan{number}")
            await self.stage.http_context.database.transact(self._store, fan, "public")
        await self.stage.sql(CARD)
        await self.stage.sql(CARDS)
        await self.stage.sql(ALLOWED_LINKS)
        await self.stage.sql(ALLOWED_AUTHORS)
        self.stage.http_context.statuses.clear()
        self.stage.http_context.trends.forget()

    async def follow_tag(self) -> None:
        """Let all viewers follow the hashtag that all posts have."""
        for viewer in self.viewers:
            if not viewer.is_anonymous:
                await done(viewer.client, "/api/v1/tags/matrix/follow")

    async def filter(self, type: str, letter: str) -> None:
        """Filter all mentions in posts of one visibility, or the news of these posts as quotes. They make requests."""
        author_ids = [author.id for author in self.authors]
        await self.stage.sql(UNFILTER)
        if type == "quote":
            await self.stage.sql(NEWS_AS_QUOTES)
        await self.stage.sql(FILTER, type, VISIBILITIES[letter], author_ids)
        for account_id, id in await self.stage.rows(REQUESTS_OF, author_ids):
            self.ids[account_id, "request", ""] = id

    # -- timelines

    async def wake(self) -> None:
        """Let all viewers read every timeline."""
        for viewer in self.viewers:
            for place in ("home", "list/<list>", "public", "public?local=true", "public?remote=true", "tag/matrix"):
                path = viewer.fill(f"/api/v1/timelines/{place}")
                if path is not None:
                    await viewer.client.get(path)

    async def read_anew(self) -> None:
        """Every timeline forgets what it has in memory."""
        places = [*PUBLIC_PLACES, tag_address("matrix"), tag_address("else")]
        for viewer in self.viewers:
            if not viewer.is_anonymous:
                places += [home_address(viewer.id), list_address(self.ids[viewer.id, "list", ""])]
        for place in places:
            self.stage.http_context.runtime.resync(place)

    # -- events; when these return, all streams have received everything

    async def publish(self) -> None:
        """Ada posts, and some of it is boosted."""
        names = " ".join(f"@{handle(viewer.row.who)}" for viewer in self.named(self.ada.account))
        for letter, visibility in VISIBILITIES.items():
            for kind, parent in (("post", ""), ("answer", "root"), ("aside", "elsewhere"), ("shared", "")):
                text = f"{marker(self.ada.account, kind, letter)} #matrix {names}"
                more = {"in_reply_to_id": self.ids[self.ada.account.id, parent, ""]} if parent else {}
                made = await self.ada.publish(text, visibility=visibility, **more)
                self.ids[self.ada.account.id, kind, letter] = int(made["id"])
            if letter == "u":
                cited = await self.ada.publish(marker(self.ada.account, "cited", letter), visibility=visibility)
                await self.quin.publish("look #matrix", quoted_status_id=cited["id"])
            if letter != "d":
                await self._boost(self.ada if letter == "f" else self.tom, self.ada.account, letter)
        await self.wake()

    async def receive(self) -> None:
        """Zoe's posts come in, and Tom boosts some."""
        outbox, late = self.stage.outbox, self.stage.outbox.late
        promised = await self.stage.http_context.database.transact(self._arrive)
        outbox.wake()
        await until(lambda: outbox.late >= late + promised, patience=10)
        for letter in "pu":
            await self._boost(self.tom, self.zoe, letter)
        await self.wake()

    async def _boost(self, by: Person, author: Account, letter: str) -> None:
        await done(by, f"/api/v1/statuses/{self.ids[author.id, 'shared', letter]}/reblog")

    async def _arrive(self, db: Connection) -> int:
        """How many promises there are to keep."""
        promised = 0
        for letter in VISIBILITIES:
            for kind in ("post", "answer", "aside", "shared"):
                promised += await self._deliver(db, await self.post(db, self.zoe, kind, letter))
        return promised

    async def _deliver(self, db: Connection, status: Status) -> int:
        outbox, now = self.stage.outbox, self.stage.http_context.clock.now()
        news = [NewNotification(self.next(), id, self.zoe.id, "mention", status.id) for id in status.mentioned_ids]
        told = await notifications.insert_many(db, news, now)
        facts: list[Fact] = [PublishedStatus(status.id, self.zoe.id), *map(AddedNotification.of, told)]
        if status.visibility == "direct" and told:
            concerned = [one.account_id for one in told]
            letters = await conversations.put(db, status.id, concerned, [self.next() for _ in concerned])
            facts += [ChangedConversation.of(one) for one in letters]
        promises = [*promises_with(facts, account_address(self.zoe.id))]
        await outbox.promise(db, promises, NOWHERE)
        return len(promises)

    async def edit(self) -> None:
        """Let Ada edit her new posts, and those boosted by accounts that she has blocked since."""
        for letter in VISIBILITIES:
            for kind in ("post", "echo"):
                path = f"/api/v1/statuses/{self.ids[self.ada.account.id, kind, letter]}"
                text = f"{marker(self.ada.account, kind, letter)} #matrix, edited"
                answer = await self.ada.put(path, {"status": text})
                assert answer.status == 200, answer.text
        await self.wake()

    async def delete(self) -> None:
        for letter in VISIBILITIES:
            for kind in ("post", "answer", "aside"):
                answer = await self.ada.delete(f"/api/v1/statuses/{self.ids[self.ada.account.id, kind, letter]}")
                assert answer.status == 200, answer.text
        await self.wake()


def handle(who: str) -> str:
    return re.sub(r"\W", "_", who)


def account_of(viewer: Viewer) -> Account:
    assert isinstance(viewer.client, Person)
    return viewer.client.account


async def done(client: Client, path: str, **form: Any) -> Any:
    answer = await client.post(path, json=form)
    assert answer.status == 200, f"{path}: {answer.text}"
    return answer.json


async def world_of(stage: Stage, rows: Iterable[Row]) -> World:
    """Let all viewers read everything before the blocks are made: the caches must forget it then."""
    http_context = stage.http_context
    uri = "https://far.example/users/zoe"
    new = NewAccount(http_context.ids.next(), "zoe", "far.example", uri, uri)
    zoe = await http_context.database.transact(create_account, new, http_context.clock.now())
    tom, sam, quin, ada = [await stage.person(name) for name in ("tom", "sam", "quin", "ada")]
    world = World(stage, tom, sam, quin, ada, zoe)
    for row in rows:
        await world.invite(row)
    await world.begin()
    await stage.sql("UPDATE accounts SET indexable = true, discoverable = true, note = 'me'")
    await http_context.database.transact(world.write)
    await world.read_anew()  # lists are awake since they were made, and were told of no row
    await world.wake()
    await world.fall_out()
    return world
