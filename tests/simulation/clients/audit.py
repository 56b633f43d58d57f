"""At rest nothing is uncertain: rows and pages are exactly what the model says."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import trio

from troupe.supervision.testing import Broken

from .client import POST
from .facts import Known, both
from .model import Key, Model, Post, View, without_repeats
from .reader import Reader, Rule, on_profile_of
from .world import World

PAGE = 40

# What the tables hold, as keys of facts.
MARKS = {
    "follows": "SELECT account_id, target_account_id FROM follows",
    "requested": "SELECT account_id, target_account_id FROM follow_requests",
    "blocks": "SELECT account_id, target_account_id FROM blocks",
    "mutes": "SELECT account_id, target_account_id FROM mutes",
    "listed": "SELECT l.account_id, la.account_id FROM lists l JOIN list_accounts la ON la.list_id = l.id",
    "exclusive": "SELECT account_id FROM lists WHERE exclusive",
    "tags": "SELECT f.account_id, t.name FROM followed_tags f JOIN tags t ON t.id = f.tag_id",
    "locked": "SELECT id FROM accounts WHERE locked",
    "favourites": "SELECT account_id, status_id FROM favourites",
    "bookmarks": "SELECT account_id, status_id FROM bookmarks",
    "pins": "SELECT account_id, status_id FROM pins",
    "voted": "SELECT DISTINCT v.account_id, s.id FROM poll_votes v JOIN statuses s ON s.poll_id = v.poll_id",
    "votes": "SELECT v.account_id, s.id, v.position FROM poll_votes v JOIN statuses s ON s.poll_id = v.poll_id",
}
OF_POSTS = ("favourites", "bookmarks", "pins", "voted", "votes")
OF_NAMES = ("tags",)
DIE_WITH_POSTS = ("pins",)

TOLD = "SELECT account_id, type, from_account_id, status_id FROM notifications"

STATUSES = "SELECT id, account_id, reblog_of_id, text FROM statuses WHERE deleted_at IS NULL"

STANDING = "SELECT id FROM statuses WHERE quote_state = 'accepted' AND deleted_at IS NULL"

# The counts that are kept beside what they count.
WRONG_COUNTS = """
    SELECT s.id FROM statuses s JOIN status_counts c ON c.status_id = s.id
    WHERE c.favourites <> (SELECT count(*) FROM favourites f WHERE f.status_id = s.id)
    OR c.reblogs <> (SELECT count(*) FROM statuses b WHERE b.reblog_of_id = s.id AND b.deleted_at IS NULL)
    OR c.replies <> (
        SELECT count(*) FROM statuses r
        WHERE r.in_reply_to_id = s.id AND r.deleted_at IS NULL AND r.visibility IN ('public', 'unlisted')
    )
    OR (s.deleted_at IS NULL AND c.quotes <> (
        SELECT count(*) FROM statuses q
        WHERE q.quote_of_id = s.id AND q.quote_state = 'accepted' AND q.deleted_at IS NULL
    ))
"""
WRONG_POLLS = """
    SELECT p.id FROM polls p
    WHERE p.voters_count <> (SELECT count(DISTINCT v.account_id) FROM poll_votes v WHERE v.poll_id = p.id)
    OR EXISTS (
        SELECT FROM poll_options o WHERE o.poll_id = p.id
        AND o.votes <> (SELECT count(*) FROM poll_votes v WHERE v.poll_id = p.id AND v.position = o.position)
    )
"""


class Audit:
    """Looks at everything once the server is calm."""

    def __init__(self, sim: World, model: Model, readers: list[Reader]) -> None:
        self._sim = sim
        self._model = model
        self._readers = readers
        self._ended: set[Post] = set()  # polls whose end everybody was told of
        self._person = {int(id): number for number, id in enumerate(readers[0].ids)}

    async def run(self) -> None:
        await self._let_polls_end()
        await self._sim.calm()
        self._check_posts()
        self._check_marks()
        self._check_quotes()
        self._end_polls()
        self._check_told()
        for query in (WRONG_COUNTS, WRONG_POLLS):
            if wrong := self._rows(query):
                raise Broken(f"counts of {wrong[0][0]} are not what the rows say")
        async with trio.open_nursery() as nursery:
            for reader in self._readers:
                nursery.start_soon(self._check_pages, reader, name=f"c{reader.number}")
        for reader in self._readers:
            for stream in reader.streams:
                if stream.is_open:
                    stream.check_at_rest()

    async def _let_polls_end(self) -> None:
        now = trio.current_time()
        ends = [post.ends[1] for post in self._model.posts if post.options and now <= post.ends[1] < float("inf")]
        if ends:
            await trio.sleep(max(ends) - now + 1)

    # Rows against facts; what nobody could know is known from now on

    def _check_posts(self) -> None:
        alive: dict[Post, str] = {}
        rows = self._rows(STATUSES)
        numbers = {row[0]: int(row[3][1:].partition("e")[0]) for row in rows if row[2] is None}
        for id, author, boosted, _ in rows:
            post = self._model.numbered[numbers[id]] if boosted is None else self._boost(id, author, numbers[boosted])
            if post in alive:
                raise Broken(f"{post} is there twice")
            alive[post] = str(id)
        for post in self._model.posts:
            self._settle(f"{post}", post.exists(self._model.time.now), post in alive)
            post.there.set(post in alive)
            if post in alive:
                post.id = alive[post]
                post.acknowledged = post.acknowledged or self._model.time.passes()

    def _check_quotes(self) -> None:
        """A quote that stands in the rows shows what it quotes, if that is there."""
        standing = {str(row[0]) for row in self._rows(STANDING)}
        for post in self._model.posts:
            if post.quotes is not None and post.there.value and post.quotes.there.value:
                self._settle(f"the quote of {post}", post.quote_stands.value, post.id in standing)
                post.quote_stands.set(post.id in standing)

    def _boost(self, id: int, author: int, number: int) -> Post:
        boosts = self._model.boosts[self._person[author], number]
        known = [boost for boost in boosts if boost.id == str(id)]
        likely = known or [boost for boost in boosts if not boost.id and boost.there.value is not False]
        if not likely:
            raise Broken(f"c{self._person[author]} has a boost of n{number} that nobody made")
        return likely[-1]

    def _check_marks(self) -> None:
        by_id = {post.id: post.number for post in self._model.posts if post.id and not post.boosts}
        for kind, query in MARKS.items():
            there: set[Key] = set()
            for person, *rest in self._rows(query):
                if kind in OF_POSTS:
                    if str(rest[0]) not in by_id:
                        continue  # a mark on a post that nobody has ever seen: its author never got an answer
                    rest[0] = by_id[str(rest[0])]
                elif rest and kind not in OF_NAMES:
                    rest[0] = self._person[rest[0]]
                there.add((kind, self._person[person], *rest))
            self._agree([key for key in self._model.facts if key[0] == kind], there)

    def _agree(self, keys: Iterable[Key], there: set[Key]) -> None:
        for key in keys:
            fact, known = self._model.fact(*key), self._model.fact(*key).value
            if key[0] in DIE_WITH_POSTS and not self._model.numbered[int(key[2])].there.value:
                known = False
            self._settle(f"{key}", known, key in there)
            fact.set(key in there)
        if more := there - set(self._model.facts):
            raise Broken(f"{more.pop()} is so, and nobody made it so")

    def _settle(self, what: str, known: Known, actual: bool) -> None:
        if known is not None and known is not actual:
            raise Broken(f"{what} is {'there' if actual else 'not there'}, and everybody was told otherwise")

    def _end_polls(self) -> None:
        """Author and voters are told of the end, once; for whom that depended on a moment, the rows say."""
        model = self._model
        for post in model.posts:
            if not post.options or post in self._ended or not post.there.value:
                continue
            for person in model.people:
                fact = model.fact("told", person, "poll", post.author, post.number)
                concerned = person == post.author or model.fact("voted", person, post.number).value
                welcome = person == post.author or model.welcome(person, post.author, "poll", post, post.begun)
                fact.set(both(bool(concerned), welcome))
            self._ended.add(post)

    def _check_told(self) -> None:
        by_id = {post.id: post.number for post in self._model.posts if post.id and not post.boosts}
        there: set[Key] = set()
        for to, kind, by, status in self._rows(TOLD):
            number = POST if status is None else by_id[str(status)]
            there.add(("told", self._person[to], kind, self._person[by], number))
        for key in [key for key in self._model.facts if key[0] == "told"]:
            number = int(key[4])
            if number >= 0 and not self._model.numbered[number].there.value:
                self._model.fact(*key).set(False)
            self._settle(f"{key}", self._model.fact(*key).value, key in there)
            self._model.fact(*key).set(key in there)
        if more := there - set(self._model.facts):
            raise Broken(f"{more.pop()} is so, and nobody made it so")

    def _rows(self, query: str) -> list[list[Any]]:
        return [list(row.values()) for row in self._sim.database.rows(query)]

    # Pages

    async def _check_pages(self, reader: Reader) -> None:
        other = reader.neighbour(reader.number % 7)
        await self._same(reader, "/api/v1/timelines/home", View.at_home, without_repeats)
        await self._same(reader, "/api/v1/timelines/public", View.in_public)
        await self._same(reader, f"/api/v1/accounts/{reader.ids[other]}/statuses", on_profile_of(other))
        await self._same(reader, f"/api/v1/timelines/list/{reader.list_id}", View.in_list, without_repeats)
        await reader.read_notifications()
        await reader.read_marker()

    async def _same(
        self, reader: Reader, path: str, belongs: Rule, then: Callable[[list[Post]], list[Post]] = list
    ) -> None:
        """All pages of a timeline are what belongs there, and nothing else."""
        view = reader.view
        due = [post for post in self._model.posts if belongs(view, post)]
        expected = then(sorted(due, key=lambda post: int(post.id), reverse=True))
        shown = [reader.recognise(item) async for item in self._all_of(reader, path, view, belongs)]
        if shown != expected:
            told = [" ".join(map(str, posts)) for posts in (shown, expected)]
            raise Broken(f"c{reader.number} is shown [{told[0]}] by {path}, and not [{told[1]}]")

    async def _all_of(self, reader: Reader, path: str, view: View, belongs: Rule) -> AsyncIterator[Any]:
        fields: dict[str, object] = {"limit": PAGE}
        while items := (await reader.request("GET", path, fields)).json:
            reader.look(path, view, items, belongs)
            for item in items:
                yield item
            fields["max_id"] = items[-1]["id"]
