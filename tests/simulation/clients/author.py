"""What a client does with posts."""

from collections.abc import Iterable, Mapping

import trio

from troupe.supervision.testing import Broken

from .client import LEAVE, Client, Outcome, Reply
from .facts import Fact, Known, both, either, no
from .model import POLL_SECONDS, Post, View, Visibility

VISIBILITIES: tuple[Visibility, ...] = ("public", "public", "unlisted", "private", "private", "direct")
PINS = 5
QUOTES_AT_HAND = 6
TAGS = ("milk", "salt", "tea")


class Author(Client):
    """A client that writes, and does something with what others wrote."""

    # Posts

    async def publish(self, whom: int, which: int) -> None:
        await self._publish(VISIBILITIES[which % len(VISIBILITIES)], self._named(whom, which))

    async def answer(self, whom: int, which: int) -> None:
        parent = self.post_at_hand(which)
        if parent is not None:
            await self._publish(VISIBILITIES[whom % len(VISIBILITIES)], self._named(whom, which), parent)

    async def ask(self, whom: int, which: int) -> None:
        await self._publish(("public", "private")[which % 2], [], options=2 + which % 3)

    async def tag(self, whom: int, which: int) -> None:
        """A post with one hashtag, or with two of them."""
        tags = frozenset({TAGS[whom % len(TAGS)], TAGS[which % len(TAGS)]})
        await self._publish(("public", "public", "unlisted", "private")[which % 4], [], tags=tags)

    async def tag_answer(self, whom: int, which: int) -> None:
        """A public answer with a hashtag."""
        parent = self.post_at_hand(which)
        if parent is not None:
            await self._publish("public", [], parent, tags=frozenset({TAGS[whom % len(TAGS)]}))

    async def follow_tag(self, whom: int, which: int) -> None:
        await self._change_tag(TAGS[which % len(TAGS)], "follow", followed=True)

    async def unfollow_tag(self, whom: int, which: int) -> None:
        await self._change_tag(TAGS[which % len(TAGS)], "unfollow", followed=False)

    async def _change_tag(self, tag: str, verb: str, *, followed: bool) -> None:
        await self.change("POST", f"/api/v1/tags/{tag}/{verb}", {self.fact("tags", self.number, tag): followed})

    def _named(self, whom: int, which: int) -> list[int]:
        return [self.neighbour(whom + more) for more in range((which // 6) % 3)]

    async def _publish(
        self,
        visibility: Visibility,
        named: list[int],
        parent: Post | None = None,
        options: int = 0,
        tags: frozenset[str] = frozenset(),
        quoted: Post | None = None,
    ) -> None:
        named = sorted(set(named))
        post = self.model.write(self.number, visibility, named, parent, options, tags, quoted)
        fields: dict[str, object] = {"status": text_of(post, 0, named), "visibility": visibility}
        fields["quote_approval_policy"] = "public"
        if parent is not None:
            fields["in_reply_to_id"] = parent.id
        if quoted is not None:
            fields["quoted_status_id"] = quoted.id
        if options:
            fields["poll"] = {"options": [f"o{option}" for option in range(options)], "expires_in": POLL_SECONDS}
        effects: dict[Fact, Known] = {post.there: True}
        effects |= {self.told(one, "mention", post.number): True for one in named}
        if quoted is not None:
            effects |= {post.quote_stands: True} | self._told_of_quote(post, quoted)

        def outcome(view: View) -> Outcome:
            known: dict[Fact, object] = {
                self.told(one, "mention", post.number): self.hears(one, "mention", post, view) for one in named
            }
            if quoted is not None and self._may_block(view, quoted.author) is not False:
                known[post.quote_stands] = None  # a block that was under way may have ended it
            return known

        begun = trio.current_time()
        apart = self.model.clocks_apart
        post.ends = (begun + POLL_SECONDS - apart, float("inf"))
        reply = await self.change(
            "POST", "/api/v1/statuses", effects, fields=fields, key=f"n{post.number}", outcome=outcome,
            allowed=lambda view: both(
                True if parent is None else view.sees(parent), True if quoted is None else view.may_quote(quoted)
            ),
        )  # fmt: skip
        if reply.status == 200:
            post.id = reply.json["id"]
            post.ends = (post.ends[0], trio.current_time() + POLL_SECONDS + apart)
            post.acknowledged = self.model.time.passes()

    # Quotes

    async def quote(self, whom: int, which: int) -> None:
        """A public post that shows another one."""
        quoted = self.post_at_hand(which, lambda post: post.visibility in ("public", "unlisted"))
        if quoted is not None:
            await self._publish("public", [], quoted=quoted)

    async def revoke(self, whom: int, which: int) -> None:
        """Take back a quote of an own post."""
        quotes = [post for post in self.model.posts if post.id and post.quotes and post.quotes.author == self.number]
        if not quotes:
            return
        post = quotes[-1 - which % min(len(quotes), QUOTES_AT_HAND)]
        quoted, before = post.quotes, post.quote_stands.value
        assert quoted is not None
        await self.change(
            "POST", f"/api/v1/statuses/{quoted.id}/quotes/{post.id}/revoke", self.end_of_quote(post),
            allowed=lambda view: both(view.sees(post), view.sees(quoted), True if before else None),
        )  # fmt: skip

    async def change_policy(self, whom: int, which: int) -> None:
        """Let everybody quote an own post, followers only, or nobody."""
        post = self.own_post(which, lambda post: post.visibility in ("public", "unlisted"))
        if post is None:
            return
        policy = ("public", "followers", "nobody", "nobody")[whom % 4]
        await self.change(
            "PUT", f"/api/v1/statuses/{post.id}/interaction_policy",
            {post.open_to_all: policy == "public", post.open_to_followers: policy != "nobody"},
            allowed=lambda view: post.exists(view.since), fields={"quote_approval_policy": policy},
        )  # fmt: skip

    def _may_block(self, view: View, other: int) -> Known:
        if other == self.number:
            return False
        return either(view.says("blocks", self.number, other), view.barred(other))

    def _told_of_quote(self, post: Post, quoted: Post) -> dict[Fact, Known]:
        """The quoted author may be told, and the quoting one of an edit that is in flight: the rows say it at last."""
        if quoted.author == self.number:
            return {}
        told: dict[Fact, Known] = {self.told(quoted.author, "quote", post.number): None}
        if quoted.latest > quoted.least[-1][1]:
            told[self.fact("told", self.number, "quoted_update", quoted.author, post.number)] = None
        return told

    def end_of_quote(self, post: Post) -> dict[Fact, Known]:
        """What ends with a quote; which notifications go with it, the rows say."""
        return {post.quote_stands: False} | dict.fromkeys(self._notes_of_quote(post))

    def _notes_of_quote(self, post: Post) -> list[Fact]:
        kinds = ("quote", "quoted_update")
        keys = [key for key in self.model.facts if key[0] == "told" and key[2] in kinds and key[4] == post.number]
        return [self.model.facts[key] for key in keys]

    async def rename(self, whom: int, which: int) -> None:
        """Another name to be shown by, on every page that shows the account."""
        name = f"C{self.number} r{self.model.time.passes()}"
        self.model.names[self.number].begin(name)
        await self._must("PATCH", "/api/v1/accounts/update_credentials", {"display_name": name})
        self.model.names[self.number].end()

    async def mark(self, whom: int, which: int) -> None:
        """Remember how far the home timeline was read."""
        post = self.post_at_hand(which)
        if post is None:
            return
        self.model.markers[self.number].begin(post.id)
        await self._must("POST", "/api/v1/markers", {"home": {"last_read_id": post.id}})
        self.model.markers[self.number].end()

    async def read_marker(self, whom: int = 0, which: int = 0) -> None:
        reply = await self._must("GET", "/api/v1/markers", {"timeline[]": "home"})
        marker = reply.json["home"]["last_read_id"] if "home" in reply.json else ""
        if marker != self.model.markers[self.number].value:
            raise Broken(f"c{self.number} has read up to {marker}, not {self.model.markers[self.number].value}")

    async def _must(self, method: str, path: str, fields: Mapping[str, object]) -> Reply:
        """A request that is never refused."""
        reply = await self.request(method, path, fields)
        if reply.status != 200:
            raise Broken(f"c{self.number} was refused: {method} {path}: {reply.status} {reply.json}")
        return reply

    async def edit(self, whom: int, which: int) -> None:
        post = self.own_post(which, lambda post: not post.options)
        if post is None:
            return
        named = sorted(set(self._named(whom, which)))
        told = {one: self.told(one, "mention", post.number) for one in named}
        before = {one: (fact.value, one in post.named) for one, fact in told.items()}
        updated = {one: self.told(one, "update", post.number) for one in self._rebloggers(post)}
        effects: dict[Fact, Known] = dict.fromkeys(told.values(), True) | dict.fromkeys(updated.values())
        quotes = [quote for quote in self.model.quotes_of(post) if quote.author != self.number]
        effects |= {
            self.fact("told", quote.author, "quoted_update", self.number, quote.number): None for quote in quotes
        }
        effects |= {post.named.setdefault(one, Fact(self.model.time)): True for one in named}
        post.latest += 1

        def outcome(view: View) -> Outcome:
            known: dict[Fact, object] = {
                fact: self._hears_of_edit(one, post, *before[one], view) for one, fact in told.items()
            }
            for one, fact in updated.items():
                boosted = self.model.boosted(one, post, view.since)
                known[fact] = both(boosted, self.model.welcome(one, self.number, "update", post, view.since))
            return known

        number = post.latest
        reply = await self.change(
            "PUT", f"/api/v1/statuses/{post.id}", effects, fields={"status": text_of(post, number, named)},
            outcome=outcome, allowed=lambda view: post.exists(view.since),
        )  # fmt: skip
        if reply.status == 200:
            post.least.append((self.model.time.passes(), number))

    def _rebloggers(self, post: Post) -> set[int]:
        """Who may have boosted a post, or may have been told of an earlier edit."""
        told = {int(key[1]) for key in self.model.keys("told", 2, "update") if key[4] == post.number}
        return told | {boost.author for boost in self.model.boosts_of(post)}

    def _hears_of_edit(self, to: int, post: Post, was_told: Known, was_named: bool, view: View) -> object:
        """A mention is told once; whether again to who had forgotten the first, nobody promises."""
        if was_told is True:
            return LEAVE
        hears = self.hears(to, "mention", post, view)
        return None if was_named and hears is True else hears

    async def delete(self, whom: int, which: int) -> None:
        post = self.own_post(which)
        if post is not None:
            before = post.there.value
            effects: dict[Fact, Known] = {post.there: False}
            for quote in self.model.quotes_of(post):
                effects |= dict.fromkeys(self._notes_of_quote(quote))
            await self.change(
                "DELETE", f"/api/v1/statuses/{post.id}", effects, always=True, allowed=lambda view: before
            )

    # What one does with posts

    def _may_interact(self, view: View, post: Post) -> Known:
        return both(view.sees(post), no(view.says("blocks", self.number, post.author)), no(view.barred(post.author)))

    async def reblog(self, whom: int, which: int) -> None:
        post = self.post_at_hand(which)
        if post is None:
            return
        boosted = self.model.boosted(self.number, post, self.model.time.now)
        if boosted is None:
            return
        boost = self.model.boosts[self.number, post.number][-1] if boosted else self.model.boost(self.number, post)
        told = self.told(post.author, "reblog", post.number)
        effects: dict[Fact, Known] = {} if boosted else {boost.there: True, told: True}
        if post.latest > post.least[-1][1]:  # an edit is in flight, of which whoever boosts may be told
            effects[self.fact("told", self.number, "update", post.author, post.number)] = None
        open_to_others = post.visibility in ("public", "unlisted")
        reply = await self.change(
            "POST", f"/api/v1/statuses/{post.id}/reblog", effects,
            allowed=lambda view: both(
                self._may_interact(view, post),
                open_to_others or (post.visibility == "private" and view.reader == post.author),
            ),
            outcome=lambda view: {told: self.hears(post.author, "reblog", post, view)},
        )  # fmt: skip
        if reply.status == 200:
            boost.id = reply.json["id"]
            boost.acknowledged = boost.acknowledged or self.model.time.passes()

    async def unreblog(self, whom: int, which: int) -> None:
        boosts = [post for post in self.model.posts if post.boosts and post.author == self.number and post.there.value]
        if boosts:
            boost = boosts[which % len(boosts)]
            post = boost.original
            effects = {boost.there: False, self.told(post.author, "reblog", post.number): False}
            await self._undo("unreblog", post, effects)

    async def favourite(self, whom: int, which: int) -> None:
        post = self.post_at_hand(which)
        if post is None:
            return
        mark, told = self.fact("favourites", self.number, post.number), self.told(post.author, "favourite", post.number)
        before = mark.value

        def outcome(view: View) -> Outcome:
            hears = self.hears(post.author, "favourite", post, view)
            return {told: LEAVE if before else (hears if before is False else None)}

        await self.change(
            "POST", f"/api/v1/statuses/{post.id}/favourite", {mark: True, told: True}, outcome=outcome,
            allowed=lambda view: self._may_interact(view, post),
        )  # fmt: skip

    async def unfavourite(self, whom: int, which: int) -> None:
        if (post := self.marked("favourites", which)) is not None:
            told = self.told(post.author, "favourite", post.number)
            await self._undo(
                "unfavourite", post, {self.fact("favourites", self.number, post.number): False, told: False}
            )

    async def bookmark(self, whom: int, which: int) -> None:
        if (post := self.post_at_hand(which)) is not None:
            effects = {self.fact("bookmarks", self.number, post.number): True}
            await self.change(
                "POST", f"/api/v1/statuses/{post.id}/bookmark", effects, allowed=lambda view: view.sees(post)
            )

    async def unbookmark(self, whom: int, which: int) -> None:
        if (post := self.marked("bookmarks", which)) is not None:
            await self._undo("unbookmark", post, {self.fact("bookmarks", self.number, post.number): False})

    async def pin(self, whom: int, which: int) -> None:
        post = self.own_post(which, lambda post: post.visibility != "direct")
        pinned = self.model.keys("pins", 1, self.number)
        if post is not None and sum(self.fact(*key).value is not False for key in pinned) < PINS:
            effects = {self.fact("pins", self.number, post.number): True}
            await self.change("POST", f"/api/v1/statuses/{post.id}/pin", effects, allowed=lambda view: view.sees(post))

    async def unpin(self, whom: int, which: int) -> None:
        post = self.marked("pins", which)
        if post is not None and post.author == self.number:
            await self._undo("unpin", post, {self.fact("pins", self.number, post.number): False})

    async def _undo(self, verb: str, post: Post, effects: Mapping[Fact, Known]) -> None:
        """Taking back is always let; the answer shows the post to who may still see it."""
        await self.change(
            "POST", f"/api/v1/statuses/{post.id}/{verb}", effects, always=True, allowed=lambda view: view.sees(post)
        )

    async def vote(self, whom: int, which: int) -> None:
        post = self.post_at_hand(which, lambda post: post.options > 0 and post.author != self.number)
        if post is None:
            return
        option, begun = whom % post.options, trio.current_time()
        voted = self.fact("voted", self.number, post.number)
        before = voted.value
        status = await self.request("GET", f"/api/v1/statuses/{post.id}")
        if status.status != 200:
            return

        def allowed(view: View) -> Known:
            over = True if begun >= post.ends[1] else (False if trio.current_time() < post.ends[0] else None)
            return both(self._may_interact(view, post), no(before), no(over))

        effects = {voted: True, self.fact("votes", self.number, post.number, option): True}
        await self.change(
            "POST",
            f"/api/v1/polls/{status.json['poll']['id']}/votes",
            effects,
            allowed=allowed,
            fields={"choices": [option]},
        )


def text_of(post: Post, edit: int, named: Iterable[int]) -> str:
    """What a post says: which it is, the how manieth edit, its hashtags, and whom it names."""
    return " ".join(
        [f"n{post.number}e{edit}", *(f"#{tag}" for tag in sorted(post.tags)), *(f"@c{one}" for one in named)]
    )
