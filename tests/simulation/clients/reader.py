"""What a client sees: every page and every frame is held against what the model says may and must be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
import trio

from troupe.actors.kernel import NotAnswered
from troupe.storage.engine.database import StorageError
from troupe.supervision.testing import Broken
from troupe.supervision.testing.stage import Dropped, Person

from .client import POST
from .facts import Known, both, either
from .model import Key, Model, Post, View
from .neighbour import Neighbour
from .world import ServerStream, World

FULL = 40  # posts on a page
MOST_TOLD = 80  # notifications on a page

Rule = Callable[[View, Post], Known]

SAYS = re.compile(r"\bn(\d+)e(\d+)\b")


class Reader(Neighbour):
    """A client that looks. Its streams run in `nursery`."""

    def __init__(
        self, sim: World, model: Model, people: Sequence[Person], number: int, list_id: int, nursery: trio.Nursery
    ) -> None:
        super().__init__(sim, model, people, number, list_id)
        self.nursery = nursery
        self.streams: list[Stream] = []

    @property
    def view(self) -> View:
        return View(self.model, self.number, self.model.time.passes())

    # Pages

    async def read_home(self, whom: int = 0, which: int = 0) -> None:
        await self.read("/api/v1/timelines/home", View.at_home)

    async def read_public(self, whom: int = 0, which: int = 0) -> None:
        await self.read("/api/v1/timelines/public", View.in_public)

    async def read_list(self, whom: int = 0, which: int = 0) -> None:
        await self.read(f"/api/v1/timelines/list/{self.list_id}", View.in_list)

    async def read_profile(self, whom: int, which: int = 0) -> None:
        other = self.number if whom == 0 else self.neighbour(whom)
        await self.read(f"/api/v1/accounts/{self.ids[other]}/statuses", on_profile_of(other))

    async def read(self, path: str, belongs: Rule) -> None:
        """The first page of a timeline."""
        reply = await self.request("GET", path, {"limit": FULL})
        if reply.status != 200:
            raise Broken(f"c{self.number} is answered {reply.status} by {path}")
        view = View(self.model, self.number, reply.since)
        shown = self.look(path, view, reply.json, belongs)
        # A post that goes while the page is made leaves a gap: the page is whole as far as its last post.
        oldest = int(reply.json[-1]["id"]) if len(reply.json) > FULL // 2 else 0
        # Whether a boost is left out for another one is a matter of who was first: see `without_repeats`.
        due = (post for post in self.model.posts if post.id and not post.boosts and int(post.id) > oldest)
        self.miss(path, view, (post for post in due if post not in shown), belongs)

    async def read_thread(self, whom: int, which: int) -> None:
        post = self.post_at_hand(which)
        if post is None:
            return
        path = f"/api/v1/statuses/{post.id}/context"
        reply = await self.request("GET", path)
        view = View(self.model, self.number, reply.since)
        sees = view.sees(post)
        if sees is (reply.status != 200):
            raise Broken(f"c{self.number} is answered {reply.status} by {path}, the thread of {post}")
        if reply.status == 200:
            for side, due in (("ancestors", above(post)), ("descendants", below(self.model, post))):
                shown = self.look(f"{path} {side}", view, reply.json[side], View.in_thread, falling=False)
                if strange := shown - set(due):
                    raise Broken(f"c{self.number} is shown {strange.pop()} among the {side} of {post}")
                self.miss(f"{path} {side}", view, (one for one in due if one.id and one not in shown), View.in_thread)

    def look(self, place: str, view: View, items: list[Any], belongs: Rule, *, falling: bool = True) -> set[Post]:
        """Nothing on a page is there unasked, twice, or other than it may be."""
        shown: dict[Post, int] = {}
        for item in items:
            post = self.recognise(item)
            if belongs(view, post) is False:
                raise Broken(f"c{self.number} is shown {post} by {place}")
            if post in shown:
                raise Broken(f"c{self.number} is shown {post} twice by {place}")
            shown[post] = int(item["id"])
            self.examine(place, view, item)
        if falling and list(shown.values()) != sorted(shown.values(), reverse=True):
            raise Broken(f"c{self.number} is shown posts in disorder by {place}")
        return set(shown)

    def miss(self, place: str, view: View, posts: Iterable[Post], belongs: Rule) -> None:
        for post in posts:
            if belongs(view, post) is True:
                raise Broken(f"c{self.number} is not shown {post} by {place}")

    def recognise(self, item: Any) -> Post:
        """The post that this is; from now on its id is known."""
        inner = item["reblog"] or item
        original = self.model.numbered[said(inner)[0]]
        post = original if item["reblog"] is None else self._boost(item, original)
        if post.id not in ("", item["id"]):
            raise Broken(f"{post} has the ids {post.id} and {item['id']}")
        post.id = item["id"]
        return post

    def _boost(self, item: Any, original: Post) -> Post:
        """The boost with this id, or the latest whose id is not known."""
        boosts = self.model.boosts[self.ids.index(item["account"]["id"]), original.number]
        known = [boost for boost in boosts if boost.id == item["id"]] or [boost for boost in boosts if not boost.id]
        if not known:
            raise Broken(f"c{self.number} is shown a boost of {original} that nobody made")
        return known[-1]

    def examine(self, place: str, view: View, item: Any) -> None:
        """The text, the counts and the reader's own part."""
        inner = item["reblog"] or item
        number, edit = said(inner)
        post = self.model.numbered[number]
        if not post.least_edit(view.since) <= edit <= post.latest:
            raise Broken(f"c{self.number} reads edit {edit} of {post} in {place}")
        for account in (item["account"], inner["account"]):
            names = self.model.names[self.ids.index(account["id"])].over(view.since)
            if account["display_name"] not in names:
                raise Broken(f"c{self.number} sees {account['display_name']} in {place}, who is one of {names}")
        for name, facts in self._counts(post, view).items():
            least, most = sum(one is True for one in facts), sum(one is not False for one in facts)
            if not least <= inner[name] <= most:
                raise Broken(f"{name} of {post} is {inner[name]}, not {least} to {most}, for c{self.number} in {place}")
        self._examine_quote(place, view, post, inner["quote"])
        for name, known in self._flags(post, view).items():
            if inner.get(name, False) is not known and known is not None:
                raise Broken(f"{name} of {post} is {inner.get(name)} for c{self.number} in {place}")

    def _examine_quote(self, place: str, view: View, post: Post, quote: Any) -> None:
        """A quote shows what it quotes exactly when it must."""
        if (quote is not None) is not (post.quotes is not None):
            raise Broken(f"c{self.number} is shown the quote {quote} of {post} by {place}")
        if post.quotes is None:
            return
        shown = quote["state"] == "accepted"
        if shown is not (quote["quoted_status"] is not None):
            raise Broken(f"c{self.number} is shown {post} with a quote that is {quote['state']} by {place}")
        if shown and self.recognise(quote["quoted_status"]) is not post.quotes:
            raise Broken(f"c{self.number} is shown another post as quoted by {post} in {place}")
        known = view.shows_quoted(post, post.quotes)
        if known is not None and known is not shown:
            raise Broken(f"c{self.number} is shown {post} with a quote that is {quote['state']} by {place}")

    def _counts(self, post: Post, view: View) -> dict[str, list[Known]]:
        open_answers = [one for one in self.model.answers[post] if one.visibility in ("public", "unlisted")]
        return {
            "favourites_count": [view.says(*key) for key in self.model.keys("favourites", 2, post.number)],
            "reblogs_count": [boost.there.over(view.since) for boost in self.model.boosts_of(post)],
            "replies_count": [answer.there.over(view.since) for answer in open_answers],
        }

    def _flags(self, post: Post, view: View) -> dict[str, Known]:
        flags = {
            "favourited": view.says("favourites", self.number, post.number),
            "bookmarked": view.says("bookmarks", self.number, post.number),
            "reblogged": self.model.boosted(self.number, post, view.since),
        }
        if post.author == self.number:
            flags["pinned"] = view.says("pins", self.number, post.number)
        return flags

    # Notifications

    async def read_notifications(self, whom: int = 0, which: int = 0) -> None:
        reply = await self.request("GET", "/api/v1/notifications", {"limit": MOST_TOLD})
        view = View(self.model, self.number, reply.since)
        shown = [self.told_of(item) for item in reply.json]
        for key in shown:
            if self._is_told(view, key) is False:
                raise Broken(f"c{self.number} is told {key}")
        if len(set(shown)) < len(shown):
            raise Broken(f"c{self.number} is told something twice: {shown}")
        if len(shown) < MOST_TOLD:
            for key in self.model.keys("told", 1, self.number):
                if key not in shown and self._is_told(view, key) is True:
                    raise Broken(f"c{self.number} is not told {key}")

    def told_of(self, item: Any) -> Key:
        """The fact that a notification tells of."""
        number = POST if item.get("status") is None else said(item["status"])[0]
        return ("told", self.number, item["type"], self.ids.index(item["account"]["id"]), number)

    def _is_told(self, view: View, key: Key) -> Known:
        _, _, kind, by, number = key
        if kind == "poll":
            return self._hears_of_poll(view, self.model.numbered[int(number)], key)
        return view.is_told(str(kind), int(by), int(number))

    def _hears_of_poll(self, view: View, post: Post, key: Key) -> Known:
        """From its end on a poll's author and voters may have been told; when that is, only a calm server says.

        The notification goes with its post, and is not listed while its reader may not see the post.
        """
        if trio.current_time() < post.ends[0]:
            return False
        voted = view.says("voted", self.number, post.number) if post.author != self.number else True
        told = either(view.says(*key), None if voted is not False else False)
        return both(view.sees(post), told)

    # Streams

    async def listen(self, whom: int, which: int) -> None:
        """Open a stream that is not open."""
        name, belongs, parameter = (
            ("user", View.at_home, ""), ("public:local", View.in_public, ""), ("list", View.in_list, str(self.list_id)),
        )[(0, 0, 1, 2)[which % 4]]  # fmt: skip
        if any(stream.name == name and stream.is_open for stream in self.streams):
            return
        session = await self._open(name, parameter)
        stream = Stream(self, name, belongs, session)
        self.streams.append(stream)
        self.nursery.start_soon(stream.run, name=f"c{self.number}'s {name} stream")

    async def _open(self, name: str, parameter: str) -> ServerStream:
        while True:
            await self.sim.running.wait()
            try:
                return await self.sim.api.stream(name, self.token, parameter)
            except (Dropped, NotAnswered, StorageError) as error:
                await self._pause(getattr(error, "retry_after", 1))

    async def hang_up(self, whom: int, which: int) -> None:
        for stream in self.streams:
            stream.close()
        self.streams.clear()


class Stream:
    """One open stream and what it has shown."""

    def __init__(self, reader: Reader, name: str, belongs: Rule, session: ServerStream) -> None:
        self.name = name
        self.opened = reader.model.time.passes()
        self.shown: dict[Post, int] = {}  # and which edit last
        self._reader = reader
        self._belongs = belongs
        self._session = session
        self._gone: set[str] = set()
        self._told: dict[str, Key] = {}
        self._newest: dict[int, int] = {}  # by author

    @property
    def is_open(self) -> bool:
        return self._session.ended is None

    def close(self) -> None:
        self._session.close()

    async def run(self) -> None:
        """Take every frame as it comes, until the stream is cut or closed."""
        while frames := await self._session.take():
            for frame in frames:
                self._read(orjson.loads(frame))
        self.close()

    def _read(self, said: Any) -> None:
        payload = said["payload"]
        match said["event"]:
            case "update":
                self._update(orjson.loads(payload))
            case "status.update":
                self._edit(orjson.loads(payload))
            case "delete":
                self._delete(payload)
            case "notification":
                self._notify(orjson.loads(payload))
            case _:
                pass

    def _complain(self, what: str) -> Broken:
        return Broken(f"c{self._reader.number}'s {self.name} stream {what}")

    def _update(self, item: Any) -> None:
        reader, post = self._reader, self._reader.recognise(item)
        if self._belongs(View(reader.model, reader.number, post.begun), post) is False:
            raise self._complain(f"shows {post}")
        if post in self.shown or item["id"] in self._gone:
            raise self._complain(f"shows {post} again")
        if int(item["id"]) < self._newest.get(post.author, 0):
            raise self._complain(f"shows {post} after a later one of its author")
        self._check_quote(post.original, item["reblog"] or item)
        self._newest[post.author] = int(item["id"])
        self.shown[post] = said(item["reblog"] or item)[1]

    def _edit(self, item: Any) -> None:
        reader, post = self._reader, self._reader.recognise(item)
        if View(reader.model, reader.number, post.begun).sees(post) is False:
            raise self._complain(f"shows an edit of {post}")
        if item["id"] in self._gone:
            raise self._complain(f"shows an edit of {post}, which it knows is gone")
        self._check_quote(post, item)
        edit = said(item)[1]
        if edit < self.shown.get(post, 0):
            raise self._complain(f"shows edit {edit} of {post} after edit {self.shown[post]}")
        if post in self.shown:
            self.shown[post] = edit

    def _check_quote(self, post: Post, item: Any) -> None:
        """A quote that was never to be shown since the post began is not shown."""
        if post.quotes is None or item["quote"]["state"] != "accepted":
            return
        reader = self._reader
        if View(reader.model, reader.number, post.begun).shows_quoted(post, post.quotes) is False:
            raise self._complain(f"shows what {post} quotes")

    def _delete(self, id: str) -> None:
        for post in self._reader.model.posts:
            if post.id == id and post.exists(post.begun) is True:
                raise self._complain(f"takes back {post}")
        if id in self._gone:
            raise self._complain(f"takes {id} back again")
        self._gone.add(id)

    def _notify(self, item: Any) -> None:
        reader = self._reader
        key = reader.told_of(item)
        if item["id"] in self._told:
            raise self._complain(f"tells {key} again")
        if key[2] != "poll" and not reader.model.fact(*key).was_possible(self.opened):
            raise self._complain(f"tells {key}")
        self._told[item["id"]] = key

    def check_at_rest(self) -> None:
        """Nothing is missing, when all is told."""
        reader, model = self._reader, self._reader.model
        for post in model.posts:
            if post.begun > self.opened and post not in self.shown and self._was_due(post):
                raise self._complain(f"has not shown {post}")
        for post, edit in self.shown.items():
            view = View(model, reader.number, post.begun)
            if self._was_due(post) and not post.boosts and edit < post.least_edit(view.model.time.now):
                raise self._complain(f"has shown edit {edit} of {post} and not the last")
            if post.there.value is False and post.id not in self._gone and self._has_belonged(post):
                raise self._complain(f"has not taken {post} back")
        told = set(self._told.values())
        for key in model.keys("told", 1, reader.number) if self.name == "user" else ():
            known = model.fact(*key)
            if key not in told and known.value is True and known.was(False, self.opened) and self._stands(key):
                raise self._complain(f"has not told {key}")

    def _stands(self, key: Key) -> bool:
        """Whether its status is there, and could be seen since it was told. A mention is told after a block, too."""
        reader, number = self._reader, int(key[4])
        if number < 0:
            return True
        post = reader.model.numbered[number]
        view = View(reader.model, reader.number, reader.model.fact(*key).possible_since)
        return post.there.value is True and (key[2] == "mention" or view.sees(post) is not False)

    def _was_due(self, post: Post) -> bool:
        """Whether it belonged here all the time from its acknowledgement on, and nothing else stood for it."""
        if post.acknowledged is None or post.exists(post.acknowledged) is not True:
            return False
        model = self._reader.model
        alike = [post.original, *model.boosts_of(post.original)] if post.boosts else [post]
        if any(one is not post and one.begun < post.acknowledged for one in alike):
            return False
        return self._has_belonged(post)

    def _has_belonged(self, post: Post) -> bool:
        """Whether it would have stood here ever since, if only it was there."""
        model = self._reader.model
        return self._belongs(View(model, self._reader.number, post.begun, granted=post), post) is True


def on_profile_of(author: int) -> Rule:
    def belongs(view: View, post: Post) -> Known:
        return False if post.author != author else view.on_profile(post)

    return belongs


def above(post: Post) -> list[Post]:
    """What it answers, and what that answers."""
    chain: list[Post] = []
    while post.answers is not None:
        chain.append(post := post.answers)
    return chain


def below(model: Model, post: Post) -> list[Post]:
    """Every answer, and the answers to those."""
    return [deeper for answer in model.answers[post] for deeper in (answer, *below(model, answer))]


def said(item: Any) -> tuple[int, int]:
    """Which post it is, and the how manieth edit, by its text."""
    found = SAYS.search(item["content"])
    if found is None:
        raise Broken(f"a post says {item['content']!r}")
    return int(found[1]), int(found[2])
