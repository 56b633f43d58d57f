"""One of many clients: does what its script says over the API, and tells the model what is known of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from troupe.supervision.testing import Broken
from troupe.supervision.testing.stage import Dropped, Person, token_of

from .facts import Fact, Known
from .model import Model, Post, View
from .script import Step
from .world import World

NEARBY = 8  # people know those who stand next to them
AT_HAND = 12  # and what these said lately
POST = -1  # in the place of a post's number: a notification without one

LEAVE = object()  # an operation did not touch this fact
Outcome = Mapping[Fact, object]


@dataclass(frozen=True)
class Reply:
    """An answer. It is `uncertain` when an earlier attempt may have taken effect; `since` is when the last began."""

    status: int
    json: Any
    uncertain: bool
    since: int


class Change:
    """An operation in flight, and everything that it may make so."""

    def __init__(self, effects: Mapping[Fact, Known]) -> None:
        self._effects = effects
        for fact, value in effects.items():
            fact.begin(value)

    def happened(self, outcome: Outcome) -> None:
        for fact, value in self._effects.items():
            known: Any = outcome.get(fact, value)
            fact.leave() if known is LEAVE else fact.end(known)

    def failed(self) -> None:
        for fact in self._effects:
            fact.leave()

    def is_unknown(self) -> None:
        for fact in self._effects:
            fact.end(None)


class Client:
    """Somebody with a token."""

    def __init__(self, sim: World, model: Model, people: Sequence[Person], number: int, list_id: int) -> None:
        self.sim = sim
        self.model = model
        self.number = number
        self.list_id = list_id
        self.ids = [str(person.id) for person in people]
        self.token = token_of(people[number])

    # Requests

    async def request(
        self, method: str, path: str, fields: Mapping[str, object] | None = None, key: str | None = None
    ) -> Reply:
        """Ask until there is an answer, and be it a refusal."""
        headers = {"idempotency-key": key} if key else None
        uncertain = False
        while True:
            await self.sim.running.wait()
            since = self.model.time.passes()
            try:
                reply = await self.sim.api.send(method, path, self.token, fields, headers)
            except Dropped:
                uncertain = True
                continue
            if reply.status == 503:
                uncertain = True
                await self._pause(float(reply.headers["Retry-After"]))
                continue
            self.sim.run.note(f"{method} {path}: {reply.status}", f"c{self.number}")
            if reply.status not in (200, 403, 404, 422):
                raise Broken(f"c{self.number} is answered {reply.status} by {method} {path}: {reply.json}")
            return Reply(reply.status, reply.json, uncertain, since)

    async def _pause(self, seconds: float) -> None:
        if self.sim.run.random.random() < 0.5:
            await trio.sleep(seconds)
        else:
            await trio.lowlevel.checkpoint()

    async def change(
        self,
        method: str,
        path: str,
        effects: Mapping[Fact, Known],
        *,
        allowed: Callable[[View], Known] = lambda view: True,
        outcome: Callable[[View], Outcome] = lambda view: {},
        fields: Mapping[str, object] | None = None,
        key: str | None = None,
        always: bool = False,
    ) -> Reply:
        """An operation: what it may do is possible from now on, what it did is known afterwards.

        It must be let when it is `allowed` all the time, and refused when it never is; what is done `always` takes
        place even when there is nothing to show in the answer.
        """
        view = View(self.model, self.number, self.model.time.passes())
        change = Change(effects)
        reply = await self.request(method, path, fields, key)
        may = allowed(view)
        if reply.status == 200:
            if may is False:
                raise Broken(f"c{self.number} was let: {method} {path}")
            change.happened(outcome(view))
        elif may is True and not reply.uncertain:
            raise Broken(f"c{self.number} was refused: {method} {path}: {reply.status} {reply.json}")
        elif always:
            change.happened(outcome(view))
        elif may is False and not reply.uncertain:
            change.failed()
        else:
            change.is_unknown()
        return reply

    # Steps

    async def act(self, steps: Iterable[Step]) -> None:
        for step in steps:
            await getattr(self, step.deed.name.lower())(step.whom, step.which)

    async def rest(self, whom: int, which: int) -> None:
        await trio.lowlevel.checkpoint()

    async def wait(self, whom: int, which: int) -> None:
        await trio.sleep(which * 5)

    async def kill(self, whom: int, which: int) -> None:
        """Pull the server's plug, and put it in again."""
        await self.sim.crash()

    # Whom and what a step means

    def neighbour(self, whom: int) -> int:
        others = len(self.model.people) - 1
        return (self.number + 1 + whom % others) % len(self.model.people)

    def near(self, other: int) -> bool:
        distance = abs(other - self.number)
        return min(distance, len(self.model.people) - distance) <= NEARBY

    def post_at_hand(self, which: int, wanted: Callable[[Post], bool] = lambda post: True) -> Post | None:
        """One of the latest posts of those nearby."""
        posts = [
            post for post in self.model.posts if post.id and not post.boosts and self.near(post.author) and wanted(post)
        ]
        return posts[-1 - which % min(len(posts), AT_HAND)] if posts else None

    def own_post(self, which: int, wanted: Callable[[Post], bool] = lambda post: True) -> Post | None:
        return self.post_at_hand(
            which, lambda post: post.author == self.number and bool(post.there.value) and wanted(post)
        )

    def marked(self, kind: str, which: int) -> Post | None:
        """A post that this client has marked so, or one at hand."""
        keys = [key for key in self.model.keys(kind, 1, self.number) if self.model.fact(*key).value is not False]
        return self.model.numbered[int(keys[which % len(keys)][2])] if keys else self.post_at_hand(which)

    def related(self, kind: str, whom: int, *, to_me: bool = False) -> int:
        """Somebody to whom this client stands so, or a neighbour."""
        keys = self.model.keys(kind, 2 if to_me else 1, self.number)
        others = [int(key[1 if to_me else 2]) for key in keys if self.model.fact(*key).value is not False]
        return others[whom % len(others)] if others else self.neighbour(whom)

    def fact(self, *key: str | int) -> Fact:
        return self.model.fact(*key)

    def told(self, to: int, kind: str, number: int = POST) -> Fact:
        """That somebody is told of what this client does."""
        return self.model.fact("told", to, kind, self.number, number)

    def hears(self, to: int, kind: str, post: Post | None, view: View) -> object:
        """What comes of telling somebody."""
        welcome = self.model.welcome(to, self.number, kind, post, view.since)
        return LEAVE if welcome is False else welcome
