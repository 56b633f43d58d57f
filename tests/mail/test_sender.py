"""The post office: what was promised is sent, tried again with back-off, given up late, and never told to the log."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
import trio
import trio.testing

from troupe.actors.effects.mail import MAIL, mail
from troupe.actors.effects.registry import Attempt, Finish, QueueWithContext
from troupe.actors.effects.strikes import appeal_mail
from troupe.actors.kernel import Ids, Origin
from troupe.actors.mail.sender import Carrier, Letterhead, MailSender, NotSent, Undeliverable
from troupe.actors.mail.templates import Letter, Sender
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.outbox.relay import Relay, TraceEffect
from troupe.storage import outbox, strikes
from troupe.storage.accounts import NewAccount
from troupe.storage.engine.database import Unavailable
from troupe.storage.engine.pool import ConnectionPool, open_pool
from troupe.storage.strikes import NewStrike
from troupe.storage.users import NewUser

from ..rows import create_account, create_user
from ..storage.conftest import NOW

HEAD = Letterhead(Sender("troupe@t.example", "Troupe"), "https://t.example")


class Clock:
    """Stands where it was put."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> Any:
        return self.time

    def later(self, **how: float) -> None:
        self.time += timedelta(**how)


class Office:
    """A post office by hand: one round at a time, and a carrier that fails as it is told."""

    def __init__(self, pool: ConnectionPool) -> None:
        self.pool = pool
        self.clock = Clock()
        self.ids = Ids(self.clock)
        self.log: list[tuple[str, dict[str, object]]] = []
        self.sent: list[Letter] = []
        self.error: Exception | None = None
        self._secrets = iter(f"secret {number}" for number in range(1000))
        self.post = self.relay(self.carry)

    def relay(self, carrier: Carrier, trace: TraceEffect | None = None) -> Relay[MailSender]:
        sender = MailSender(self.pool, self.clock, HEAD, carrier, secret=lambda: next(self._secrets))
        return Relay(QueueWithContext(MAIL, sender), self.pool, self.clock, self.ids, self.record, trace=trace)

    async def user(self, name: str = "eve", **state: Any) -> int:
        id = self.ids.next()
        new = NewAccount(id, name, None, f"https://t.example/users/{name}", f"https://t.example/@{name}")
        await self.pool.transact(create_account, new, self.clock.now())
        known: dict[str, Any] = {"email": f"{name}@example.org", "password_hash": None}
        user = NewUser(id, **known | state)
        await self.pool.transact(create_user, user, self.clock.now())
        return id

    async def promise(self, account_id: int, kind: str = "confirmation", trace: str = "") -> None:
        effect = new_effect(self.ids.next(), mail(kind, account_id), Origin("r1", (), trace))
        await self.pool.transact(outbox.insert_many, [effect], self.clock.now())

    async def work(self, relay: Relay[MailSender] | None = None) -> int:
        """One round; how many letters were sent in it."""
        before, relay = len(self.sent), relay or self.post
        relay.wake()
        async with trio.open_nursery() as beside:
            # One round by hand: `run` would go on to the next one.
            beside.start_soon(relay._deletions.run)  # pyright: ignore[reportPrivateUsage]
            round = relay._round  # pyright: ignore[reportPrivateUsage]
            async with trio.open_nursery() as workers:
                await round(workers)
            await round(None)
            beside.cancel_scope.cancel()
        return len(self.sent) - before

    async def left(self) -> int:
        return len(await self.rows("SELECT FROM outbox"))

    async def rows(self, query: str) -> list[list[Any]]:
        return [list(row.values()) for row in await self.pool.read(lambda db: db.fetch(query))]

    async def carry(self, letter: Letter) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append(letter)

    def record(self, event: str, /, **facts: object) -> None:
        self.log.append((event, facts))


@pytest.fixture
async def office(dsn: str) -> AsyncIterator[Office]:
    async with open_pool(dsn, size=2) as pool:
        yield Office(pool)


async def test_a_promise_becomes_a_letter_once(office: Office) -> None:
    await office.promise(await office.user())
    assert [await office.work(), await office.work()] == [1, 0]
    (letter,) = office.sent
    assert (letter.to, letter.sender) == ("eve@example.org", HEAD.sender)
    assert "https://t.example/auth/confirmation?confirmation_token=secret 0" in letter.body
    assert await office.left() == 0


async def test_a_promise_of_a_traced_request_is_carried_out_in_its_trace(office: Office) -> None:
    traced: list[tuple[str, str]] = []

    async def trace(kind: str, attempt: Attempt, execute: Callable[[Attempt], Awaitable[Finish | None]]) -> Any:
        traced.append((kind, attempt.origin.trace))
        return await execute(attempt)

    office.post = office.relay(office.carry, trace)
    id, traceparent = await office.user(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await office.promise(id)
    assert (await office.work(), traced) == (1, []), "not traced"
    await office.promise(id, trace=traceparent)
    assert (await office.work(), traced) == (1, [("mail", traceparent)])
    await office.promise(id, trace=traceparent)
    office.error = NotSent("nobody there")
    await office.work()
    assert [facts["trace_id"] for _, facts in office.log] == ["0af7651916cd43dd8448eb211c80319c"]


async def test_what_fails_is_tried_again_with_patience(office: Office) -> None:
    await office.promise(await office.user())
    office.error = NotSent("nobody there")
    waits = (1, 5, 30, 120, 600, 600)
    for wait in waits:
        await office.work()
        office.clock.later(seconds=wait - 0.1)
        office.error, before = None, office.error
        assert await office.work() == 0, "not before its time"
        office.error = before
        office.clock.later(seconds=0.1)
    assert [facts["decision"] for _, facts in office.log] == [f"again in {wait} s" for wait in waits]
    office.error = None
    assert await office.work() == 1
    assert await office.left() == 0


async def test_tries_are_of_one_letter_with_links_of_their_own(office: Office) -> None:
    """The first one may have arrived too: its link is also valid."""
    await office.promise(await office.user())

    async def arrives_and_is_lost(letter: Letter) -> None:
        office.sent.append(letter)
        raise NotSent("no answer")

    await office.work(office.relay(arrives_and_is_lost))
    office.clock.later(seconds=1)
    await office.work()
    first, second = office.sent
    assert first.id == second.id
    assert first.body != second.body
    assert len(await office.rows("SELECT FROM confirmations")) == 2


async def test_a_letter_is_given_up_after_two_days(office: Office) -> None:
    await office.promise(await office.user())
    office.error = NotSent("nobody there")
    office.clock.later(days=2, seconds=-1)
    await office.work()
    assert await office.left() == 1
    office.clock.later(days=1)
    await office.work()
    assert await office.left() == 0
    assert [event for event, _ in office.log] == ["outbox.retry", "outbox.given_up"]


async def test_a_receiver_who_is_refused_for_good_is_given_up_at_once(office: Office) -> None:
    await office.promise(await office.user())
    office.error = Undeliverable("the mail server refused the receiver (550)")
    await office.work()
    assert await office.left() == 0
    assert [(event, facts["request_id"]) for event, facts in office.log] == [("outbox.given_up", "r1")]


async def test_one_letter_that_cannot_be_sent_holds_up_no_other(office: Office) -> None:
    await office.promise(await office.user("eve"))
    await office.promise(await office.user("bob"))

    async def carry(letter: Letter) -> None:
        if letter.to.startswith("eve"):
            raise RuntimeError("a bug of ours")
        office.sent.append(letter)

    await office.work(office.relay(carry))
    assert [letter.to for letter in office.sent] == ["bob@example.org"]
    assert await office.left() == 1


@pytest.mark.parametrize("email", ["eve@example.org\r\nBcc: all@example.org", "a@b, c@d", "xxx"])
async def test_an_address_that_is_none_gets_nothing(office: Office, email: str) -> None:
    await office.promise(await office.user(email=email))
    assert await office.work() == 0
    assert await office.left() == 0
    assert email not in str(office.log)


async def test_nothing_is_left_to_say_to_the_confirmed_and_the_gone(office: Office) -> None:
    await office.promise(await office.user(confirmed_at=NOW))
    await office.promise(1)
    assert await office.work() == 0
    assert (await office.left(), office.log) == (0, [])


async def test_who_was_approved_hears_of_it(office: Office) -> None:
    await office.promise(await office.user(confirmed_at=NOW, locale="de"), "approval")
    await office.work()
    assert office.sent[0].subject == "Dein Konto auf Troupe wurde freigeschaltet"


async def test_neither_addresses_nor_secrets_are_logged(office: Office) -> None:
    await office.promise(await office.user())
    office.error = NotSent("nobody there")
    await office.work()
    assert "example.org" not in str(office.log)
    assert "secret" not in str(office.log)


async def test_mail_waits_for_the_database(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    await office.promise(await office.user())
    read, failures = office.pool.read, iter([Unavailable("away"), None, Unavailable("away again")])

    async def flaky(*args: Any, **kwargs: Any) -> Any:
        if (error := next(failures, None)) is not None:
            raise error
        return await read(*args, **kwargs)

    monkeypatch.setattr(office.pool, "read", flaky)
    assert [await office.work(), await office.work(), await office.work()] == [0, 0, 1]
    assert [facts["decision"] for _, facts in office.log] == ["mail waits"] * 2


async def test_without_a_way_out_letters_wait_until_they_would_be_given_up(office: Office) -> None:
    """A server that gets a mail server after a year sends no mails of that year."""
    await office.promise(await office.user("old"))
    office.clock.later(days=2, seconds=1)
    await office.promise(await office.user())
    stopping = trio.Event()
    nothing: QueueWithContext[MailSender] = QueueWithContext(MAIL, None)
    idle = Relay(nothing, office.pool, office.clock, office.ids, office.record)
    async with trio.open_nursery() as nursery:
        await nursery.start(idle.run, stopping)
        idle.wake()
        await trio.testing.wait_all_tasks_blocked()
        stopping.set()
    assert (await office.left(), office.log) == (1, [])


async def test_who_is_woken_looks_at_once_and_who_is_stopped_sends_what_is_in_hand(office: Office) -> None:
    stopping, sending = trio.Event(), trio.Event()
    finish = trio.Event()

    async def carry(letter: Letter) -> None:
        sending.set()
        await finish.wait()
        office.sent.append(letter)

    working = office.relay(carry)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            await nursery.start(working.run, stopping)
            await office.promise(await office.user())
            working.wake()
            await sending.wait()
            stopping.set()
            await trio.testing.wait_all_tasks_blocked()
            finish.set()
    assert (len(office.sent), await office.left()) == (1, 0)


async def test_an_appeal_is_no_letter_to_those_who_are_staff_no_more(office: Office) -> None:
    """Tries go on for two days, and a role may end meanwhile."""
    eve = await office.user("eve")
    roles = {"admin": "admin", "former": "user", "barred": "admin"}
    staff = [await office.user(name, role=role) for name, role in roles.items()]
    disable = "UPDATE users SET disabled_at = now() WHERE account_id = $1"
    await office.pool.transact(lambda db: db.execute(disable, staff[2]))
    strike = NewStrike(office.ids.next(), eve, None, "silence", "Be kind.")
    await office.pool.transact(strikes.insert, strike, NOW)
    effects = [new_effect(office.ids.next(), appeal_mail(strike.id, id), Origin("r1")) for id in staff]
    await office.pool.transact(outbox.insert_many, effects, NOW)
    await office.work()
    assert [letter.to for letter in office.sent] == ["admin@example.org"]
    assert await office.left() == 0
