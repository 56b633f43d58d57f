"""What a client does with people."""

from .author import Author
from .client import LEAVE, POST, Outcome
from .facts import Fact, Known, both, either, no
from .model import View


class Neighbour(Author):
    """A client that follows, blocks and mutes, and is asked by others whether they may follow."""

    # People

    async def follow(self, whom: int, which: int) -> None:
        other = self.neighbour(whom)
        follows, requested = self.fact("follows", self.number, other), self.fact("requested", self.number, other)
        told, asked = self.told(other, "follow"), self.told(other, "follow_request")
        before = follows.value, requested.value

        def outcome(view: View) -> Outcome:
            if True in before:
                return dict.fromkeys((follows, requested, told, asked), LEAVE)
            locked = either(view.says("locked", other), view.says("mutes", other, self.number))
            if None in before or locked is None:
                return dict.fromkeys((follows, requested, told, asked), None)
            if locked:
                return {follows: LEAVE, told: LEAVE, asked: self.hears(other, "follow_request", None, view)}
            return {requested: LEAVE, asked: LEAVE, told: self.hears(other, "follow", None, view)}

        await self.change(
            "POST", self._account(other, "follow"), dict.fromkeys((follows, requested, told, asked), True),
            outcome=outcome,
            allowed=lambda view: both(no(view.says("blocks", self.number, other)), no(view.barred(other))),
        )  # fmt: skip

    async def unfollow(self, whom: int, which: int) -> None:
        other = self.related("follows", whom)
        await self.change("POST", self._account(other, "unfollow"), self._no_follow(self.number, other))

    async def block(self, whom: int, which: int) -> None:
        other = self.neighbour(whom)
        ended = self._no_follow(self.number, other) | self._no_follow(other, self.number)
        for quote in self.model.quotes_between(self.number, other):
            ended |= self.end_of_quote(quote)
        effects = {self.fact("blocks", self.number, other): True} | ended | self._not_told_by(other)
        await self.change("POST", self._account(other, "block"), effects)

    async def unblock(self, whom: int, which: int) -> None:
        other = self.related("blocks", whom)
        await self.change("POST", self._account(other, "unblock"), {self.fact("blocks", self.number, other): False})

    async def mute(self, whom: int, which: int) -> None:
        other = self.neighbour(whom)
        effects = {self.fact("mutes", self.number, other): True} | self._not_told_by(other)
        await self.change("POST", self._account(other, "mute"), effects)

    async def unmute(self, whom: int, which: int) -> None:
        other = self.related("mutes", whom)
        await self.change("POST", self._account(other, "unmute"), {self.fact("mutes", self.number, other): False})

    def _account(self, other: int, verb: str) -> str:
        return f"/api/v1/accounts/{self.ids[other]}/{verb}"

    def _not_told_by(self, other: int) -> dict[Fact, Known]:
        """What somebody has told is forgotten."""
        told = [key for key in self.model.keys("told", 1, self.number) if key[3] == other]
        return {self.fact(*key): False for key in told}

    def _no_follow(self, follower: int, followed: int) -> dict[Fact, Known]:
        """A follow and a request for it end, with what hangs on them."""
        ended = [self.fact(kind, follower, followed) for kind in ("follows", "requested", "listed")]
        told = [self.fact("told", followed, kind, follower, POST) for kind in ("follow", "follow_request")]
        return dict.fromkeys([*ended, *told], False)

    # Requests to follow

    async def lock(self, whom: int, which: int) -> None:
        effects = {self.fact("locked", self.number): True}
        await self.change("PATCH", "/api/v1/accounts/update_credentials", effects, fields={"locked": True})

    async def unlock(self, whom: int, which: int) -> None:
        """Whoever waits for this client's word may follow, save whom it mutes."""
        locked = self.fact("locked", self.number)
        before = locked.value
        waiting = {one: self.fact("requested", one, self.number) for one in self._waiting()}
        effects: dict[Fact, Known] = {locked: False}
        for one in waiting:
            effects |= self._accepting(one)

        def outcome(view: View) -> Outcome:
            known: dict[Fact, object] = {}
            for one, requested in waiting.items():
                muted = view.says("mutes", self.number, one)
                asked = requested.was(True, view.since)
                if before is False or muted is True:
                    known |= dict.fromkeys(self._accepting(one), LEAVE)
                elif before is None or muted is None or not asked:
                    known |= dict.fromkeys(self._accepting(one), None)
                else:
                    known |= self._accepted(one, view)
            return known

        reply = await self.change(
            "PATCH", "/api/v1/accounts/update_credentials", effects, outcome=outcome, fields={"locked": False}
        )
        for one in self._waiting():
            if reply.uncertain or one not in waiting:
                for fact in self._accepting(one):
                    fact.doubt()

    def _waiting(self) -> list[int]:
        keys = self.model.keys("requested", 2, self.number)
        return [int(key[1]) for key in keys if self.fact(*key).value is not False]

    def _accepting(self, one: int) -> dict[Fact, Known]:
        return {
            self.fact("requested", one, self.number): False,
            self.fact("follows", one, self.number): True,
            self.fact("told", self.number, "follow_request", one, POST): False,
            self.fact("told", self.number, "follow", one, POST): True,
        }

    def _accepted(self, one: int, view: View) -> dict[Fact, object]:
        welcome = self.model.welcome(self.number, one, "follow", None, view.since)
        return {self.fact("told", self.number, "follow", one, POST): LEAVE if welcome is False else welcome}

    async def authorize(self, whom: int, which: int) -> None:
        one = self.related("requested", whom, to_me=True)
        requested = self.fact("requested", one, self.number)
        before = requested.value
        await self.change(
            "POST", f"/api/v1/follow_requests/{self.ids[one]}/authorize", self._accepting(one),
            allowed=lambda view: before if requested.alone else None,
            outcome=lambda view: self._accepted(one, view),
        )  # fmt: skip

    async def reject(self, whom: int, which: int) -> None:
        one = self.related("requested", whom, to_me=True)
        requested = self.fact("requested", one, self.number)
        before = requested.value
        effects = {
            requested: False,
            self.fact("told", self.number, "follow_request", one, POST): False,
            self.fact("listed", one, self.number): False,
        }
        await self.change(
            "POST", f"/api/v1/follow_requests/{self.ids[one]}/reject", effects,
            allowed=lambda view: before if requested.alone else None,
        )  # fmt: skip

    # The one list that everybody has

    async def list(self, whom: int, which: int) -> None:
        other = self.related("follows", whom)
        listed = self.fact("listed", self.number, other)
        before = listed.value
        await self.change(
            "POST", f"/api/v1/lists/{self.list_id}/accounts", {listed: True},
            fields={"account_ids": [self.ids[other]]},
            allowed=lambda view: both(
                no(before), either(view.follows(other), view.says("requested", self.number, other))
            ),
        )  # fmt: skip

    async def make_exclusive(self, whom: int, which: int) -> None:
        await self._change_list(exclusive=True)

    async def make_inclusive(self, whom: int, which: int) -> None:
        await self._change_list(exclusive=False)

    async def _change_list(self, *, exclusive: bool) -> None:
        await self.change(
            "PUT", f"/api/v1/lists/{self.list_id}", {self.fact("exclusive", self.number): exclusive},
            fields={"title": "mine", "exclusive": exclusive},
        )  # fmt: skip

    async def unlist(self, whom: int, which: int) -> None:
        other = self.related("listed", whom)
        await self.change(
            "DELETE", f"/api/v1/lists/{self.list_id}/accounts", {self.fact("listed", self.number, other): False},
            fields={"account_ids": [self.ids[other]]},
        )  # fmt: skip
