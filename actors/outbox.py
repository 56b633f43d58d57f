"""The outbox: what a transaction promised is told to the awake, now or, after a crash, a moment later.

The turn that commits writes the promise in the same transaction, tells the awake itself as soon as the commit is
known, and hands the promise over to be forgotten: that costs one DELETE for many promises. Whatever was not handed over
(its turn crashed, or never learnt that its commit took place) is found here by looking every second, or at once when an
actor crashes. A promise names what changed, never how, and is carried out from the rows as they are then: so it may be
carried out late, twice, or out of order.

Effects of one account are carried out in order, those of different accounts at the same time: one that waits for a busy
actor, or fails, holds up no other account. Each lane of effects has a task, and `LANES` bounds them.

When a burst leaves timelines crowded (`kernel/crowd.py`), a turn that has published waits for them for a moment, and
then leaves what it promised to the relay, which waits longer. What the account publishes next is told after that.

This process is the only one that reads the outbox, because the node term makes it the only writer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import trio

from ..storage import conversations, deletions, edits, notifications, outbox, polls, reblogs, relations
from ..storage.engine.database import Connection, Database, Doubtful, Unavailable
from ..storage.notifications import NewNotification
from ..storage.outbox import Effect, NewEffect
from .broadcast import Broadcast, ShownNotification
from .conversations import shown_conversations
from .kernel import Address, Clock, Ids, Origin, Record
from .kernel.portraits import describe, place
from .reminders import Reminder, payload_of, reminder_of
from .statuses import AccountCache, ShownStatus, StatusCache

SWEEP = 1.0  # seconds between two looks at what is left over
GATHER = 0.25  # seconds in which promises handed over are gathered for one DELETE
LANES = 64  # lanes worked on at once: fewer than the messages for which a crowded mailbox still has room
IN_A_ROW = 10  # effects of one lane that are read at once
PUBLISHER_WAITS = 1.0  # seconds that a turn waits for crowded timelines before the relay does it
RELAY_WAITS = 10.0  # seconds that the relay waits for them; then they are told, and may have to read their rows again
LOOK_FOR_ROOM = 0.05
PATIENCE = (1, 5, 30, 120, 600)  # seconds until the next try of an effect that failed


class Outbox:
    """The relay. `promise` is called inside a transaction, `hand_over` after its commit."""

    def __init__(
        self, database: Database, clock: Clock, ids: Ids, accounts: AccountCache, statuses: StatusCache,
        broadcast: Broadcast, record: Record,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._ids = ids
        self._accounts = accounts
        self._statuses = statuses
        self._broadcast = broadcast
        self._record = record
        self.late = 0  # how many promises a crash kept from being told, and were kept afterwards
        # Where no files are kept, there are none to remove.
        self.remove_files: Callable[[list[str]], Awaitable[None]] | None = None
        # Mail takes its time, and has a reader of its own (`mail/post.py`): this tells it that there is some.
        self.on_mail: Callable[[], None] | None = None
        self._kept: list[int] = []  # handed over: told, to be forgotten
        self._held: set[int] = set()  # of turns that wait for crowded timelines: not for the relay yet
        self._owed: dict[str, set[int]] = {}  # by partition: what such turns have left to the relay
        self._lanes: set[str] = set()  # those that are worked on
        self._trouble: Exception | None = None  # what kept a lane from reaching the database
        self._ending = False
        self._woken = trio.Event()
        self._look_at = 0.0  # when to look for what is left over, if nobody wakes it before
        self._doers: dict[str, Callable[[Effect, Origin], Awaitable[None]]] = {
            "status": self._tell_status,
            "relation": self._tell_relation,
            "reminder": self._remind,
            "notification": self._tell_notification,
            "conversation": self._tell_conversation,
            "list": self._tell_list,
            "counts": self._forget_counts,
            "edit": self._tell_edit,
            "poll": self._close_poll,
            "files": self._remove_files,
        }

    def status(self, id: int, account_id: int, origin: Origin) -> NewEffect:
        """The promise to tell of a status that appeared, changed or went."""
        return self._effect("status", f"account/{account_id}", {"id": id, "account": account_id}, origin)

    def relation(self, account_id: int, others: Iterable[int], origin: Origin) -> NewEffect:
        """The promise to tell an account and others of how they stand to each other now."""
        return self._effect("relation", f"account/{account_id}", {"accounts": [account_id, *others]}, origin)

    def reminder(
        self, account_id: int, reminder: Reminder, key: str, origin: Origin, due_at: datetime | None = None
    ) -> NewEffect:
        """The promise to remind an account of something. The key is a partition of its own: nothing waits for it."""
        return self._effect("reminder", key, payload_of(account_id, reminder), origin, due_at)

    def notification(self, id: int, account_id: int, origin: Origin) -> NewEffect:
        """The promise to stream a notification."""
        return self._effect("notification", f"account/{account_id}", {"id": id, "account": account_id}, origin)

    def conversation(self, id: int, account_id: int, author_id: int, origin: Origin) -> NewEffect:
        """The promise to stream that a conversation has a new last status, by `author_id`."""
        return self._effect("conversation", f"account/{author_id}", {"id": id, "account": account_id}, origin)

    def list_changed(self, id: int, owner: int, origin: Origin) -> NewEffect:
        """The promise to tell a list that it, or who is on it, has changed."""
        return self._effect("list", f"account/{owner}", {"id": id, "account": owner}, origin)

    def counts(self, id: int, account_id: int, origin: Origin) -> NewEffect:
        """The promise to forget a status's counts as they were before `account_id` changed them."""
        return self._effect("counts", f"account/{account_id}", {"id": id}, origin)

    def edit(self, id: int, account_id: int, origin: Origin) -> NewEffect:
        """The promise to tell of a status that its author edited."""
        return self._effect("edit", f"account/{account_id}", {"id": id}, origin)

    def poll(self, id: int, expires_at: datetime, origin: Origin) -> NewEffect:
        """The reminder to end a poll. A partition of its own: nothing has to wait for it."""
        return self._effect("poll", f"poll/{id}", {"id": id}, origin, expires_at)

    def files(self, names: Iterable[str], origin: Origin) -> NewEffect:
        """The promise to remove files that nothing names any more; `wake` when it is committed."""
        return self._effect("files", f"files/{self._ids.next()}", {"names": sorted(names)}, origin)

    def letter(self, kind: str, account_id: int, origin: Origin) -> NewEffect:
        """The promise to send a user a mail; `wake_mail` when it is committed."""
        return self._effect("mail", letter_key(kind, account_id), {"letter": kind, "account": account_id}, origin)

    def wake_mail(self) -> None:
        """A promised mail is committed."""
        if self.on_mail is not None:
            self.on_mail()

    async def promise(self, db: Connection, effects: list[NewEffect]) -> list[int]:
        """Write promises in the transaction `db` is in; their ids, for `hand_over`."""
        await outbox.insert_many(db, effects, self._clock.now())
        return [effect.id for effect in effects]

    def hand_over(self, ids: Iterable[int]) -> None:
        """These promises are committed and kept."""
        self._kept.extend(ids)
        self._woken.set()

    async def finds_room(
        self, author: Address, promised: Sequence[int], shown: ShownStatus, recipients: Sequence[int] = ()
    ) -> bool:
        """Wait for a moment until the timelines that a status goes to have room.

        False when they have none: then the promises, which are committed, are left to the relay.
        """
        key = str(author)

        def has_room() -> bool:
            return key not in self._owed and not self._broadcast.is_crowded(shown, recipients)

        if has_room():
            return True
        self._held.update(promised)
        try:
            if await _comes_true(has_room, PUBLISHER_WAITS):
                return True
        finally:
            self._held.difference_update(promised)
        self._owed.setdefault(key, set()).update(promised)
        self.wake()
        return False

    def wake(self) -> None:
        """Something crashed: look at once what it may have left."""
        self._look_at = 0.0
        self._woken.set()

    async def make_up_for(self, address: Address) -> None:
        """Tell at once what this actor promised and a crash kept from being told: before it does anything else.

        So nobody is told of a later change of the actor's first, and whoever asks again is answered when all know.
        """
        kept = tuple(self._kept)
        for effect in await self._database.read(outbox.left_by, str(address), self._clock.now(), kept):
            await self._carry_out(effect)

    def inspect(self) -> dict[str, object]:
        """What an operator sees: promises told and not yet forgotten, and how many were kept late."""
        left = sum(map(len, self._owed.values()))
        return {
            "handed_over": len(self._kept),
            "kept_late": self.late,
            "left_to_relay": left,
            "lanes": len(self._lanes),
        }

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Forget what was kept and keep what was left over, until `stopping`."""
        task_status.started()
        self._ending = False
        async with trio.open_nursery() as lanes:
            lanes.start_soon(self._wake_when, stopping)
            while not stopping.is_set():
                with trio.move_on_at(self._look_at):
                    await self._woken.wait()
                self._woken = trio.Event()
                await self._round(lanes)
                with trio.move_on_after(GATHER):
                    await stopping.wait()
        async with trio.open_nursery() as lanes:
            await self._round(lanes)
        await self._round(None)

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._ending = True
        self.wake()

    async def _round(self, lanes: trio.Nursery | None) -> None:
        try:
            await self._forget()
            if lanes is not None and trio.current_time() >= self._look_at:
                self._look_at = trio.current_time() + SWEEP
                await self._sweep(lanes)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        if self._trouble is not None:
            self._record("storage.lost", error=describe(self._trouble), decision="outbox waits")
            self._trouble = None

    async def _forget(self) -> None:
        kept = list(self._kept)
        if kept:
            await self._database.transact(outbox.delete_many, kept)
            del self._kept[: len(kept)]

    async def _sweep(self, nursery: trio.Nursery) -> None:
        free = LANES - len(self._lanes)
        if free <= 0:
            return
        left = await self._database.read(
            outbox.due_by_lane, self._clock.now(), tuple(self._doers), exclude_ids=(*self._kept, *self._held),
            exclude_lanes=tuple(self._lanes), in_a_row=IN_A_ROW, limit=free * IN_A_ROW,
        )  # fmt: skip
        lanes: dict[str, list[Effect]] = {}
        for effect in left:
            if effect.lane in lanes or len(lanes) < free:
                lanes.setdefault(effect.lane, []).append(effect)
        for lane, effects in lanes.items():
            self._lanes.add(lane)
            nursery.start_soon(self._work_on, lane, effects, name=f"outbox: {lane}")

    async def _work_on(self, lane: str, effects: list[Effect]) -> None:
        """Carry out effects in order; what follows one that failed under the same key waits with it."""
        failed: set[str] = set()
        try:
            for effect in effects:
                if effect.key in failed:
                    continue
                await self._wait_for_room(effect)
                if not await self._carry_out(effect):
                    failed.add(effect.key)
        except (Unavailable, Doubtful) as error:
            self._trouble = error
        else:
            self._look_at = 0.0 if len(effects) == IN_A_ROW else self._look_at  # there may be more
        finally:
            self._lanes.discard(lane)
            self._woken.set()

    async def _wait_for_room(self, effect: Effect) -> None:
        shown = await self._statuses.show(effect.payload["id"]) if effect.kind in ("status", "edit") else None
        if shown is not None:
            await _comes_true(lambda: self._ending or not self._broadcast.is_crowded(shown), RELAY_WAITS)

    async def _carry_out(self, effect: Effect) -> bool:
        """One try; whether it succeeded."""
        origin = Origin(effect.request_id or "-", effect.causes)
        try:
            await self._doers[effect.kind](effect, origin)
        except (Unavailable, Doubtful):
            raise
        except Exception as error:
            self._owed.pop(effect.key, None)  # what the account publishes next need not wait for another try
            await self._put_off(effect, error)
            return False
        self._owe_no_more(effect)
        self._kept.append(effect.id)
        self.late += 1
        return True

    def _owe_no_more(self, effect: Effect) -> None:
        owed = self._owed.get(effect.key, set())
        owed.discard(effect.id)
        if not owed:
            self._owed.pop(effect.key, None)

    async def _put_off(self, effect: Effect, error: Exception) -> None:
        patience = PATIENCE[min(effect.attempts, len(PATIENCE) - 1)]
        self._record(
            "outbox.retry", effect=effect.kind, message_id=effect.id, request_id=effect.request_id,
            causes=list(effect.causes), error=describe(error), place=place(error), decision=f"again in {patience} s",
        )  # fmt: skip
        due_at = self._clock.now() + timedelta(seconds=patience)
        await self._database.transact(outbox.fail, effect.id, due_at, describe(error))

    async def _tell_status(self, effect: Effect, origin: Origin) -> None:
        id, account_id = effect.payload["id"], effect.payload["account"]
        self._statuses.drop(id)
        shown = await self._statuses.show(id)
        if shown is None:
            self._statuses.delete(id)
            remains = await self._database.read(deletions.remains, id)
            if remains is not None:
                self._broadcast.gone(id, account_id, remains, origin)
        elif not self._statuses.is_deleted(id):
            self._broadcast.published(shown, origin)

    async def _tell_relation(self, effect: Effect, origin: Origin) -> None:
        """All read again how they stand; what is in their mail about each other is older than what they read then."""
        one, *others = effect.payload["accounts"]
        for other in others:
            stamp = await self._database.transact(_draw_stamp, one, other)
            self._broadcast.note_change(one, other, stamp)
            self._broadcast.note_change(other, one, stamp)
        for account_id in (one, *others):
            self._accounts.drop(account_id)
            self._broadcast.reread(account_id)

    async def _remind(self, effect: Effect, origin: Origin) -> None:
        await self._broadcast.remind(effect.payload["account"], reminder_of(effect.payload), origin)

    async def _tell_notification(self, effect: Effect, origin: Origin) -> None:
        account_id, id = effect.payload["account"], effect.payload["id"]
        notification = await self._database.read(notifications.find, account_id, id)
        if notification is None:
            return
        account = await self._accounts.find(notification.from_account_id)
        shown = await self._statuses.show(notification.status_id) if notification.status_id else None
        if account is not None and (shown is not None or notification.status_id is None):
            self._broadcast.notified(ShownNotification(notification, account, shown), origin)

    async def _tell_conversation(self, effect: Effect, origin: Origin) -> None:
        account_id, id = effect.payload["account"], effect.payload["id"]
        conversation = await self._database.read(conversations.find, account_id, id)
        if conversation is not None:
            (told,) = await shown_conversations([conversation], self._accounts, self._statuses)
            self._broadcast.corresponded(told, origin)

    async def _tell_list(self, effect: Effect, origin: Origin) -> None:
        self._broadcast.list_changed(effect.payload["id"], effect.payload["account"])

    async def _forget_counts(self, effect: Effect, origin: Origin) -> None:
        self._statuses.drop(effect.payload["id"])

    async def _tell_edit(self, effect: Effect, origin: Origin) -> None:
        id = effect.payload["id"]
        rebloggers = await self._database.read(reblogs.rebloggers, id)
        latest = await self._database.read(edits.latest, [id], 0)
        self._statuses.drop(id)  # only now: what is shown must not be older than the edit it is shown for
        shown = await self._statuses.show(id)
        if shown is not None and id in latest and not self._statuses.is_deleted(id):
            self._broadcast.edited(shown, latest[id], rebloggers, origin)

    async def _close_poll(self, effect: Effect, origin: Origin) -> None:
        """A poll is nobody's memory, so the reminder itself may end it: its row is locked against votes."""
        status_id = await self._database.transact(self._closing, effect.payload["id"], origin)
        if status_id is not None:
            self._statuses.drop(status_id)
            self.wake()

    async def _closing(self, db: Connection, id: int, origin: Origin) -> int | None:
        now = self._clock.now()
        closed = await polls.close(db, id, now)
        if closed is None:
            return None
        concerned = dict.fromkeys((closed.account_id, *closed.voters))
        new = [NewNotification(self._ids.next(), to, closed.account_id, "poll", closed.status_id) for to in concerned]
        told = await notifications.insert_many(db, new, now)
        await self.promise(db, [self.notification(n.id, n.account_id, origin) for n in told])
        return closed.status_id

    async def _remove_files(self, effect: Effect, origin: Origin) -> None:
        if self.remove_files is not None:
            await self.remove_files(effect.payload["names"])

    def _effect(
        self, kind: str, key: str, payload: dict[str, Any], origin: Origin, due_at: datetime | None = None
    ) -> NewEffect:
        return NewEffect(self._ids.next(), kind, key, payload, due_at, origin.request_id, origin.causes)


def letter_key(kind: str, account_id: int) -> str:
    """The partition of a user's letters of one kind."""
    return f"{kind}/{account_id}"


async def _comes_true(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again, for so many seconds; whether it holds at last."""
    for _ in range(round(seconds / LOOK_FOR_ROOM)):
        if holds():
            return True
        await trio.sleep(LOOK_FOR_ROOM)
    return holds()


async def _draw_stamp(db: Connection, one: int, other: int) -> int:
    """A stamp above those of all changes that are committed, and below those of all that are to come."""
    await relations.lock_pair(db, one, other)
    return await relations.stamp(db)
