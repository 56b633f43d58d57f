"""What a server of this kind owes its people, written from the API's rules and not from the server's code.

Sets of relations and posts, each member of which is a fact: a person follows, a post is there, somebody was told.
People are numbers. A `View` answers what one of them may and must observe over a stretch of time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from .facts import Fact, Known, Register, Time, both, either, no, some

Visibility = Literal["public", "unlisted", "private", "direct"]
POLL_SECONDS = 300.0
REPEATED = 40  # among so many newest at home, a boost of something that stands there is no news


@dataclass(eq=False)
class Post:
    """A status, or a boost of one. Its number is in its text; its id is known when somebody has seen it."""

    number: int
    author: int
    visibility: Visibility
    there: Fact
    begun: int  # when its author pressed the button
    answers: "Post | None" = None
    boosts: "Post | None" = None
    named: dict[int, Fact] = field(default_factory=dict[int, Fact])  # who is, or was, named in its text
    quotes: "Post | None" = None
    quote_stands: Fact = field(init=False)  # whether nothing has ended its quote
    open_to_all: Fact = field(init=False)  # who may quote it
    open_to_followers: Fact = field(init=False)
    tags: frozenset[str] = frozenset()  # the hashtags in its text, which stay through all edits
    options: int = 0
    ends: tuple[float, float] = (0.0, 0.0)  # the earliest and the latest second at which its poll is over
    id: str = ""
    acknowledged: int | None = None
    least: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])  # since when which edit is the least
    latest: int = 0  # the latest edit that may be seen

    def __post_init__(self) -> None:
        time = self.there.time
        self.quote_stands, self.open_to_all, self.open_to_followers = (Fact(time, True) for _ in range(3))

    @property
    def original(self) -> "Post":
        return self.boosts or self

    def exists(self, since: int) -> Known:
        mine = self.there.over(since)
        return mine if self.boosts is None else both(mine, self.boosts.there.over(since))

    def least_edit(self, since: int) -> int:
        return max(edit for tick, edit in self.least if tick <= since or tick == 0)

    def __str__(self) -> str:
        return f"n{self.number}" if self.boosts is None else f"the boost of n{self.boosts.number} by c{self.author}"


Key = tuple[str | int, ...]


class Model:
    """Everything that is so. The clocks of the server's nodes differ by at most so many seconds."""

    def __init__(self, people: int, clocks_apart: float = 0.0) -> None:
        self.time = Time()
        self.clocks_apart = clocks_apart
        self.people = range(people)
        self.posts: list[Post] = []
        self.numbered: dict[int, Post] = {}
        self.boosts: dict[tuple[int, int], list[Post]] = defaultdict(list)  # by booster and number
        self.answers: dict[Post, list[Post]] = defaultdict(list)
        self.facts: dict[Key, Fact] = {}
        self._alike: dict[tuple[str | int, int, object], list[Key]] = defaultdict(list)  # by kind, place and value
        self.names = [Register(self.time, f"C{person}") for person in self.people]  # display names
        self.markers = [Register(self.time, "") for _ in self.people]  # the last post that each has read at home

    def fact(self, *key: str | int) -> Fact:
        """Whether it is so; nothing is unless somebody did it."""
        found = self.facts.get(key)
        if found is None:
            found = self.facts[key] = Fact(self.time)
            for place, value in enumerate(key):
                self._alike[key[0], place, value].append(key)
        return found

    def over(self, since: int, *key: str | int) -> Known:
        found = self.facts.get(key)
        return False if found is None else found.over(since)

    def keys(self, kind: str, place: int, value: object) -> list[Key]:
        """Facts of a kind with this value at a place of their key."""
        return [*self._alike.get((kind, place, value), ())]

    def write(
        self,
        author: int,
        visibility: Visibility,
        named: list[int],
        answers: Post | None = None,
        options: int = 0,
        tags: frozenset[str] = frozenset(),
        quotes: Post | None = None,
    ) -> Post:
        """A post that somebody sets out to publish."""
        post = Post(len(self.posts), author, visibility, Fact(self.time), self.time.passes(), answers, options=options)
        post.tags, post.quotes = tags, quotes
        post.named = {one: Fact(self.time, True) for one in named}
        if answers is not None:
            self.answers[answers].append(post)
        self.posts.append(post)
        self.numbered[post.number] = post
        return post

    def boost(self, booster: int, original: Post) -> Post:
        """A boost that somebody sets out to make; it is as open as what it shows."""
        visibility: Visibility = "private" if original.visibility == "private" else "public"
        post = Post(len(self.posts), booster, visibility, Fact(self.time), self.time.passes(), boosts=original)
        self.posts.append(post)
        self.boosts[booster, original.number].append(post)
        return post

    def boosted(self, booster: int, original: Post, since: int) -> Known:
        return some(post.exists(since) for post in self.boosts.get((booster, original.number), ()))

    def boosts_of(self, original: Post) -> Iterator[Post]:
        for (_, number), posts in self.boosts.items():
            if number == original.number:
                yield from posts

    def quotes_of(self, quoted: Post) -> list[Post]:
        return [post for post in self.posts if post.quotes is quoted]

    def quotes_between(self, one: int, other: int) -> list[Post]:
        """The quotes by which either of two people shows the other."""
        return [post for post in self.posts if post.quotes and {post.author, post.quotes.author} == {one, other}]

    def welcome(self, to: int, by: int, kind: str, post: Post | None, since: int) -> Known:
        """Whether a person wants to be told something. Whom they shun is not heard of, not even in a mention."""
        if to == by:
            return False
        known = View(self, to, since)
        spoken_of = (
            [] if kind != "mention" or post is None else [*post.named, *([post.answers.author] if post.answers else [])]
        )
        return no(some(known.avoids(one) for one in (by, *spoken_of) if one != to))

    def told(self, to: int, kind: str, by: int, number: int, since: int) -> Known:
        """Whether somebody has a notification: of a post that is gone nobody has."""
        known = self.over(since, "told", to, kind, by, number)
        return known if number < 0 else both(known, self.numbered[number].exists(since))


@dataclass(frozen=True)
class View:
    """One person's world from a moment on until now; without a person, everybody's."""

    model: Model
    reader: int
    since: int
    granted: Post | None = None  # which is there, whatever else may change

    def says(self, *key: str | int) -> Known:
        return self.model.over(self.since, *key)

    def avoids(self, other: int) -> Known:
        """Whether the reader wants to hear nothing of somebody."""
        return either(self.says("blocks", self.reader, other), self.says("mutes", self.reader, other))

    def barred(self, other: int) -> Known:
        """Whether somebody has blocked the reader."""
        return self.says("blocks", other, self.reader)

    def follows(self, other: int) -> Known:
        return self.says("follows", self.reader, other)

    def names(self, post: Post) -> Known:
        named = post.original.named.get(self.reader)
        return False if named is None else named.over(self.since)

    # What may be seen at all

    def sees(self, post: Post) -> Known:
        """Whether the post can be seen, on whatever page."""
        there = True if post is self.granted else post.there.over(self.since)
        seen = both(there, self._may_see(post))
        return seen if post.boosts is None else both(seen, self.sees(post.boosts))

    def _may_see(self, post: Post) -> Known:
        if post.author == self.reader:
            return True
        if post.visibility in ("public", "unlisted"):
            return no(self.barred(post.author))
        named = False if post.boosts else self.names(post)
        if post.visibility == "direct":
            return named
        return either(named, both(self.follows(post.author), no(self.barred(post.author))))

    # What belongs on which page

    def hidden(self, post: Post) -> Known:
        """Whether blocks and mutes keep a post from timelines: by its author, whom it boosts, or whom it names."""
        if post.author == self.reader:
            return False
        spoken_of = [both(fact.over(self.since), self.avoids(one)) for one, fact in post.original.named.items()]
        shunned = [self._shuns(one) for one in {post.author, post.original.author}]
        return some([*shunned, *spoken_of])

    def _shuns(self, other: int) -> Known:
        return False if other == self.reader else either(self.avoids(other), self.barred(other))

    def at_home(self, post: Post) -> Known:
        exclusive = both(self.says("exclusive", self.reader), self.says("listed", self.reader, post.author))
        return both(either(self._of_interest_at_home(post), self._has_followed_tag(post)), no(exclusive))

    def _of_interest_at_home(self, post: Post) -> Known:
        """Whether it belongs into the home timeline of a reader without an exclusive list."""
        if post.author == self.reader:
            return both(self.sees(post), no(self._boosts_shunned(post)))
        return both(self.follows(post.author), self.sees(post), no(self.hidden(post)), self._is_of_interest(post))

    def _has_followed_tag(self, post: Post) -> Known:
        """Whether it belongs into the home timeline because of a hashtag, whoever wrote it."""
        if post.visibility != "public" or post.boosts is not None:
            return False
        followed = some(self.says("tags", self.reader, tag) for tag in post.tags)
        return both(followed, self.sees(post), no(self.hidden(post)), self._is_of_interest(post))

    def _is_of_interest(self, post: Post) -> Known:
        """Answers are, to people one knows."""
        if post.answers is None or post.answers.author in (self.reader, post.author):
            return True
        return self.follows(post.answers.author)

    def in_list(self, post: Post) -> Known:
        """Whether it belongs into the reader's list, which takes answers among its members."""
        listed = self.says("listed", self.reader, post.author)
        if post.answers is None or post.answers.author in (self.reader, post.author):
            return both(listed, self._of_interest_at_home(post))
        answered = self.says("listed", self.reader, post.answers.author)
        return both(listed, answered, self._of_interest_at_home(post))

    def in_public(self, post: Post) -> Known:
        if post.visibility != "public" or post.boosts is not None:
            return False
        if post.answers is not None and post.answers.author != post.author:
            return False
        return both(self.sees(post), no(self.hidden(post)))

    def on_profile(self, post: Post) -> Known:
        """Whether it stands on its author's profile: not for whom the author blocked, no boosts of whom one shuns."""
        barred = post.author != self.reader and self.barred(post.author)
        return both(self.sees(post), no(barred), no(self._boosts_shunned(post)))

    def _boosts_shunned(self, post: Post) -> Known:
        return False if post.boosts is None else self._shuns(post.boosts.author)

    def in_thread(self, post: Post) -> Known:
        """Whether it stands in a thread, where it is the author who counts."""
        return both(self.sees(post), no(self._shuns(post.author)))

    def may_quote(self, post: Post) -> Known:
        """Whether the reader may quote a public or unlisted post."""
        if post.author == self.reader:
            return self.sees(post)
        open_to_reader = both(post.open_to_followers.over(self.since), self.follows(post.author))
        return both(
            self.sees(post), no(self.says("blocks", self.reader, post.author)), no(self.barred(post.author)),
            either(post.open_to_all.over(self.since), open_to_reader),
        )  # fmt: skip

    def shows_quoted(self, post: Post, quoted: Post) -> Known:
        """Whether a post shows what it quotes: while nothing has ended the quote, where a thread would show it."""
        return both(post.quote_stands.over(self.since), self.in_thread(quoted))

    def is_told(self, kind: str, by: int, number: int) -> Known:
        """Whether a notification is listed: with a post that may be seen, save that one is always told of a mention."""
        told = self.model.told(self.reader, kind, by, number, self.since)
        if number < 0 or kind == "mention":
            return told
        return both(told, self.sees(self.model.numbered[number]))


Belongs = Callable[[View, Post], Known]


def without_repeats(posts: list[Post]) -> list[Post]:
    """A home timeline, newest first, without boosts of what stands among the nearest before them."""
    kept: list[Post] = []
    for post in reversed(posts):
        near = kept[-REPEATED:]
        if post.boosts is None or not any(post.boosts is one.original for one in near):
            kept.append(post)
    return kept[::-1]
