"""A server process under the simulator: the product's tree of actors under its own supervisor."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import ClassVar, Literal, TypeVar

import orjson
import trio
from outcome import Error, Outcome, Value

from ....actors.activitypub.vocabulary import host_of
from ....actors.broadcast.publications import Publications
from ....actors.cluster.others import Alone, Others
from ....actors.deliveries.sender import ClientPost, DeliveryReply, OnGone, Post
from ....actors.effects.mail import MAIL
from ....actors.effects.previews import PageNotRead
from ....actors.effects.received_activities import INBOX, ReceivedActivity
from ....actors.effects.registry import QueueWithContext
from ....actors.facts.fact import Facts
from ....actors.federation.federation import Federation
from ....actors.federation.inbox import Inbox
from ....actors.federation.inbox_context import InboxContext
from ....actors.federation.key_directory import KeyDirectory
from ....actors.federation.reception import take_up
from ....actors.kernel import NOWHERE, Address, Ids
from ....actors.kernel.pool_context import PAUSE
from ....actors.mail.sender import Letterhead, MailSender, NotSent
from ....actors.mail.templates import Letter, Sender
from ....actors.outgoing.messages import Unreachable
from ....actors.push.delivery import PushReply
from ....actors.shown.statuses import ShownStatus
from ....storage.engine.database import Unavailable
from ....storage.engine.json_values import JsonObject
from ....storage.preview_cards import CardFacts
from ....storage.push_subscriptions import PushSubscription
from ...children import queues
from ...children.actor_system import ActorSystem
from ...children.parking import Parking
from ...supervisor import Child, Supervisor
from ..faults import Fault
from ..lockstep import LockstepDatabase
from ..run import Run
from .api import Dropped, SimulatedApi, a_key, nowhere
from .network import Network, StoredOnly
from .patience import insist
from .postgres import RememberedLooks, sandbox
from .runtime import runtime_class
from .stream import FeedStream, Stream

T = TypeVar("T")

DOMAIN = "troupe.test"
SMTP = "smtp"
PUSH_SERVICE = "push service"
SITE = "site"
FIRST_RETRY = 1.0  # seconds until a delivery is tried again


@dataclass(frozen=True, slots=True)
class Pushed:
    """A message as a push service got it, before encryption."""

    subscription_id: int
    topic: str
    message: JsonObject


# The answer of another server to a request with these headers.
Answering = Callable[[Mapping[str, str]], Awaitable[DeliveryReply]]


@dataclass(frozen=True, slots=True)
class Delivered:
    """An activity as an inbox got it, with the bytes and the headers of the request."""

    inbox: str
    activity: JsonObject
    body: bytes
    headers: Mapping[str, str]
    at: float  # virtual seconds


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The properties by which a server differs from the others of its run.

    `label` begins the names of its tasks, so that they can be frozen, and its names in traces and fault points. `node`
    is the node of its ids. Its time of day is ahead of the run's by `clock_offset` seconds.
    """

    domain: str
    database: LockstepDatabase
    label: str = ""
    node: int = 0
    tally_delay: float = 180.0  # seconds until votes are sent to other servers
    network: Network | None = None  # to other servers; if None, the scenario gives their answers
    clock_offset: float = 0.0


class SimulatedServer:
    """Actors, supervisor and API of successive processes, on the same rows."""

    def __init__(
        self, run: Run, nursery: trio.Nursery, idle: float, *, mail: bool, push: bool, previews: bool, deliveries: bool,
        loaders: bool, place: ServerPlace | None = None,
    ) -> None:  # fmt: skip
        run.postgres = sandbox
        place = place or ServerPlace(DOMAIN, run.database)
        self.run = run
        self.place = place
        self.clock = run.clock_of(place.clock_offset)
        self.database = place.database
        self.base_url = f"https://{place.domain}"
        self.mails: list[Letter] = []  # that arrived, in order
        self.log: list[tuple[str, JsonObject]] = []  # the records of the supervision log
        self.failed_requests = 0
        self.running = trio.Event()
        self.pushed: list[Pushed] = []  # messages that reached the push service, in order
        self.visits: list[str] = []  # the pages that were fetched, in order
        self.delivered: list[Delivered] = []  # activities that other servers took, in order
        self.gone: list[str] = []  # inboxes that other servers said are gone
        self.answers: dict[str, Answering] = {}  # of other servers, by host; the rest takes everything
        self.titles: dict[str, str] = {}  # of pages; others have their address as title
        self._has_mail = mail
        self._has_push = push
        self._has_previews = previews
        self._has_deliveries = deliveries
        self._has_loaders = loaders
        self._nursery = nursery
        self._idle = idle
        self._ids = Ids(self.clock, place.node)
        self._streams: list[Stream] = []
        self._requests: dict[trio.CancelScope, None] = {}  # in the order of their start
        if place.label:
            run.add_label(place.label)
        self._build()

    def _build(self) -> None:
        """Make a process as the tree does, with an empty memory."""
        run, domain = self.run, self.place.domain
        parking = Parking(self.database, self.clock, self._ids)
        self.runtime = runtime_class(run.seed)(
            record=self.record, chance=run.random.random, choose=run.chooser(PAUSE), observe=self._observe,
            on_park=parking.park, unavailable=(Unavailable,),
        )  # fmt: skip
        post = MailSender(
            self.database, self.clock, Letterhead(Sender(f"noreply@{domain}", "Troupe"), self.base_url), self._carry,
            secret=self._secret,
        )  # fmt: skip
        self.actors = ActorSystem(
            RememberedLooks(self.database), self.runtime, self.clock, self._ids, self.record,
            base_url=self.base_url, local_domain=domain, idle=self._idle, chance=run.random.random,
            tally_delay=self.place.tally_delay, others=self._others,
        )  # fmt: skip
        network = self.place.network
        self.outgoing = nowhere() if network is None else network.client(self.place.label)
        self.federation = Federation(
            self.actors.actor_context, self.runtime, self.outgoing, self.record, partial(a_key, domain)
        )
        helpers = [*self._children_of_node(), Child("parking", parking.run)]
        add = self.actors.outbox.add
        if self._has_mail:
            add(QueueWithContext(MAIL, post))
        if self._has_push:
            add(queues.push_queue(self.actors, self.record, self._push))
        if self._has_previews:
            add(queues.preview_queue(self.actors, self._read_page))
        if self._has_deliveries:
            self._add_deliveries(self._take_activity, self._note_gone)
            add(QueueWithContext(INBOX, self._inbox()))
        if network is not None:
            self._add_deliveries(ClientPost(self.outgoing), self.federation.check_inbox)
            add(queues.inbox_queue(self.actors, self.federation))
            add(queues.lookup_queue(self.actors, self.federation))
            helpers.append(Child("federation", self.federation.resolver.run))
        self.api = SimulatedApi(self.clock, self.database, self.actors, self.outgoing, self.federation, self.record)
        self._received = 0
        if self._has_loaders:
            helpers += self.actors.loaders()
        children = [*self.actors.children(), *helpers, *self.actors.relays()]
        self._supervisor = Supervisor(self.place.domain, children, self.record, fatal=self.fatal)
        self._stopping = trio.Event()
        self._stopped = trio.Event()
        self._life = trio.CancelScope()

    #: Errors that end the process.
    fatal: ClassVar[tuple[type[Exception], ...]] = ()

    def _others(self, facts: Facts, publications: Publications) -> Others:
        """Return the other nodes of the cluster. This server is alone."""
        return Alone()

    def _children_of_node(self) -> list[Child]:
        """Return the children that keep a node in its cluster."""
        return []

    def _inbox(self) -> Inbox:
        """Return the queue context that applies the activities of other servers."""
        shared = self.actors.actor_context
        others = StoredOnly(shared)
        context = InboxContext(shared, self.runtime, shared.names, others, others)
        return Inbox(context, KeyDirectory(self.database, self.clock, others.fetch, shared.quotas))

    async def receive(self, activity: JsonObject, recipient: str | None = None) -> None:
        """Take an activity whose signature holds, as an inbox does: a user's own inbox, or the shared inbox.

        Another server sends it until it is stored. No two are signed at the same time: an activity with the
        signature of another is a replay.
        """
        body = ReceivedActivity(activity["actor"], orjson.dumps(activity).decode(), recipient)
        self._received += 1
        signed_at = self.clock.now() + timedelta(microseconds=self._received)

        async def store() -> None:
            outbox, now = self.actors.outbox, self.clock.now()
            await self.database.transact(take_up, outbox, body, signed_at, now, NOWHERE)
            outbox.wake(INBOX)

        await insist(self, "another server", store)

    def _add_deliveries(self, post: Post, on_gone: OnGone) -> None:
        keys, chance = self.federation.keys, self.run.random.random
        self.actors.outbox.add(queues.delivery_queue(self.actors, keys, post, chance, FIRST_RETRY, on_gone))

    def _observe(self, address: object, message: object, when: Literal["before", "after"]) -> None:
        self.run.faults.turn(f"{self.place.label}{address}", message, when)

    async def find_shown(self, status: int) -> ShownStatus | None:
        """Return the records of a status."""
        return await self.actors.statuses.show(status)

    def stream_at(self, name: str, address: Address, read: Callable[[], Awaitable[list[int]]]) -> Stream:
        """Return a client of the feed at an address, which is not connected yet. `read` reads the page of the feed."""
        return FeedStream(self, name, address, read)

    async def shown(self, ids: Sequence[int]) -> list[int]:
        """Return the statuses of a page that can still be rendered."""
        return list(await insist(self, "a page", lambda: self.actors.statuses.show_many(ids)))

    def new_id(self) -> int:
        return self._ids.next()

    # The life of the server

    async def start(self) -> None:
        """Start the server. After `stop` or `kill` it is a new process that has only the rows."""
        if self._stopped.is_set():
            self.database.restore()
            self._build()
        await self._nursery.start(self._live, name=f"{self.place.label}server")
        self.running.set()

    async def stop(self) -> None:
        """Stop in order, as on SIGTERM. Return when every child has stopped."""
        self.running = trio.Event()
        self._stopping.set()
        await self._stopped.wait()

    async def kill(self) -> None:
        """End it at once, as SIGKILL would."""
        self.running = trio.Event()
        self.run.thaw(self.place.label)  # a frozen process ends too
        self.api.hang_up()
        for request in self._requests:
            request.cancel("the server was killed")
        self.database.cut()
        self._life.cancel()
        await self._stopped.wait()

    async def _live(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self._life:
            await self._supervisor.run(self._stopping, task_status=task_status)
        self._stopped.set()

    def logged(self, event: str, **facts: object) -> int:
        """Return the number of records of this event in the supervision log."""
        return sum(1 for word, known in self.log if word == event and facts.items() <= known.items())

    @property
    def late(self) -> int:
        """Return the number of effects that ran late because of a crash."""
        return self.actors.outbox.late

    # For its clients

    async def serve(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work of a request in a task of the server: a server that is frozen does not answer.

        Raises Dropped if the server is killed meanwhile, or does not run. The work is cancelled with its client.
        """
        if not self.running.is_set():
            raise Dropped
        ended = trio.Event()
        answers: list[Outcome[T]] = []
        life = trio.CancelScope()

        async def request() -> None:
            with life:
                try:
                    answers.append(Value(await work()))
                except Exception as error:
                    answers.append(Error(error))
            del self._requests[life]
            ended.set()

        self._requests[life] = None
        self._nursery.start_soon(request, name=f"{self.place.label}request")
        try:
            await ended.wait()
        finally:
            life.cancel("the client has gone")
        if not answers:
            raise Dropped
        return answers[0].unwrap()

    async def open_stream(self, stream: Stream) -> Stream:
        self._streams.append(stream)
        await stream.connect()
        return stream

    def reopen(self, stream: FeedStream) -> None:
        """Let a client that was cut connect again."""
        self._nursery.start_soon(stream.reconnect, name=f"{stream.name} again")

    def record(self, event: str, /, **facts: object) -> None:
        self.log.append((event, facts))
        self.failed_requests += event == "request.failed"
        said = [str(facts[fact]) for fact in ("error", "decision") if fact in facts]
        who = facts.get("actor") or facts.get("child") or "-"
        self.run.note(": ".join(["log", event, *said]), f"{self.place.label}{who}")
        if event in ("actor.crashed", "actor.quarantined"):
            self.actors.outbox.wake()

    async def _carry(self, letter: Letter) -> None:
        """Take a letter for the mail server.

        It may fail, or take the letter and lose the connection before it answers.
        """
        await trio.lowlevel.checkpoint()
        if self.run.faults.strikes(Fault.LOST, SMTP):
            raise NotSent("the mail server is away")
        self.mails.append(letter)
        self.run.note("has taken a letter", SMTP)
        if self.run.faults.strikes(Fault.DOUBT_DONE, SMTP):
            raise NotSent("the mail server's answer was lost")
        await trio.lowlevel.checkpoint()

    async def _push(self, subscription: PushSubscription, message: bytes, topic: str) -> PushReply:
        """The push service: now it is away, now it takes a message and its answer is lost."""
        await trio.lowlevel.checkpoint()
        if self.run.faults.strikes(Fault.LOST, PUSH_SERVICE):
            raise Unreachable("the push service is away")
        self.pushed.append(Pushed(subscription.id, topic, orjson.loads(message)))
        self.run.note("has taken a message", PUSH_SERVICE)
        if self.run.faults.strikes(Fault.DOUBT_DONE, PUSH_SERVICE):
            raise Unreachable("the push service's answer was lost")
        await trio.lowlevel.checkpoint()
        return PushReply(201)

    async def _note_gone(self, inbox: str, domain: str) -> None:
        self.gone.append(inbox)

    async def _take_activity(self, inbox: str, headers: Mapping[str, str], body: bytes) -> DeliveryReply:
        """Another server: now it is away, now it takes an activity and its answer is lost."""
        await trio.lowlevel.checkpoint()
        host = f"server {host_of(inbox)}"
        if (answering := self.answers.get(host_of(inbox) or "")) is not None:
            reply = await answering(headers)
            if not 200 <= reply.status < 300:
                return reply
        if self.run.faults.strikes(Fault.LOST, host):
            raise Unreachable("the server is away")
        self.delivered.append(Delivered(inbox, orjson.loads(body), body, dict(headers), trio.current_time()))
        self.run.note("has taken an activity", host)
        if self.run.faults.strikes(Fault.DOUBT_DONE, host):
            raise Unreachable("the server's answer was lost")
        await trio.lowlevel.checkpoint()
        return DeliveryReply(202)

    @asynccontextmanager
    async def _read_page(self, url: str) -> AsyncGenerator[CardFacts | None]:
        """Read a page. Its server may be away."""
        await trio.lowlevel.checkpoint()
        if self.run.faults.strikes(Fault.LOST, SITE):
            raise PageNotRead("the site is away")
        self.visits.append(url)
        self.run.note("was visited", SITE)
        yield CardFacts(title=self.titles.get(url, url))
        await trio.lowlevel.checkpoint()

    def _secret(self) -> str:
        return f"{self.run.random.getrandbits(128):032x}"
