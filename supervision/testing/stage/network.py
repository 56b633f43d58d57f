"""The network between the simulated servers of a run: requests reach the endpoints of the other server without sockets.

It takes time, and loses requests, answers and whole servers, as the plan of faults decides. Some requests arrive twice.
Where a run has one server, the others answer no questions: what is known of them is in the rows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import orjson
import trio

from ....actors.activitypub.notes import ReceivedNote
from ....actors.context import ActorContext
from ....actors.federation.background_jobs import Job
from ....actors.federation.errors import DocumentMissing
from ....actors.outgoing.bodies import Write
from ....actors.outgoing.client import OutgoingAnswer, OutgoingClient, OutgoingRequest, RequestLimits
from ....actors.outgoing.messages import Unreachable
from ....actors.outgoing.targets import RequestTarget
from ....storage.accounts import Account
from ....storage.engine.json_values import JsonObject
from ....storage.federation import remote_accounts, remote_statuses
from ..faults import Fault
from ..lockstep import AWAY_FOR
from ..run import Run
from .api import Dropped, NoEndpoint, SimulatedApi, SimulatedReply, no_tls

LONGEST_WAY = 0.2  # seconds
LATEST_REPEAT = 20.0  # seconds until a request arrives once more


class Reachable(Protocol):
    """A server in the network."""

    running: trio.Event  # set while it runs

    @property
    def api(self) -> SimulatedApi: ...


class Network:
    """The servers of a run, by their domains."""

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        self.servers: dict[str, Reachable] = {}
        self.repeats = 0  # that are still to arrive
        self._run = run
        self._nursery = nursery
        self._back_at: dict[str, float] = {}  # when servers can be reached again

    def client(self, label: str) -> OutgoingClient:
        """Return the client of a server, with the product's own checks of addresses, and its limits."""
        return _SimulatedClient(self, label)

    async def exchange(self, label: str, request: OutgoingRequest, target: RequestTarget) -> OutgoingAnswer:
        """Bring a request to its server, and the answer back. Raise Unreachable if either is lost."""
        faults, place = self._run.faults, f"{label}to {target.host}"
        await self._delay()
        now = trio.current_time()
        if faults.strikes(Fault.AWAY, place):
            self._back_at[target.host] = now + AWAY_FOR
        if now < self._back_at.get(target.host, 0.0) or faults.strikes(Fault.LOST, place):
            raise Unreachable("the request was lost")
        if request.method == "POST" and faults.strikes(Fault.REPEATED, place):
            self.repeats += 1
            self._nursery.start_soon(self._repeat, request, target, name=f"{place} again")
        reply = await self._deliver(request, target)
        self._run.note(f"is answered {reply.status} to {_named(request, target)}", place)
        await self._delay()
        if faults.strikes(Fault.DOUBT_DONE, place):
            raise Unreachable("the answer was lost")
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return OutgoingAnswer(reply.status, headers, reply.body, target.url)

    async def _delay(self) -> None:
        chance = self._run.random
        await trio.sleep(chance.choice((0.0, LONGEST_WAY * chance.random())))

    async def _deliver(self, request: OutgoingRequest, target: RequestTarget) -> SimulatedReply:
        server = self.servers.get(target.host)
        if server is None or not server.running.is_set():
            raise Unreachable("nothing listens there")
        length = {"Content-Length": str(len(request.body))} if request.method == "POST" else {}
        headers = {"Host": target.authority, **length, **request.headers}
        try:
            return await server.api.receive(request.method, target.path, headers, request.body)
        except Dropped:
            raise Unreachable("the connection broke") from None
        except NoEndpoint:
            return SimulatedReply(404, b"", {})

    async def _repeat(self, request: OutgoingRequest, target: RequestTarget) -> None:
        """Deliver a request once more, perhaps after later ones. Its answer is dropped."""
        await trio.sleep(LATEST_REPEAT * self._run.random.random())
        try:
            await self._deliver(request, target)
        except Unreachable:
            pass
        finally:
            self.repeats -= 1


def _named(request: OutgoingRequest, target: RequestTarget) -> str:
    """Return the text of a request in a trace: the kind and the id of an activity, or the path of a document."""
    if request.method == "GET":
        return f"GET {target.path}"
    activity = orjson.loads(request.body)
    return f"{activity['type']} {activity.get('id')}"


class _SimulatedClient(OutgoingClient):
    """The client of a server: everything of it but the connections."""

    def __init__(self, network: Network, label: str) -> None:
        super().__init__("simulation", tls=no_tls())
        self._network_of_run = network
        self._label = label

    async def _exchange(
        self, request: OutgoingRequest, target: RequestTarget, limits: RequestLimits, write: Write | None
    ) -> OutgoingAnswer:
        return await self._network_of_run.exchange(self._label, request, target)


class StoredOnly:
    """Finds accounts and statuses of other servers among the rows, and nothing else."""

    def __init__(self, context: ActorContext) -> None:
        self._context = context

    async def account(self, uri: str) -> Account | None:
        return await self._context.database.read(remote_accounts.find, uri)

    async def refresh(self, account: Account, *, has_changed: bool = False) -> Account | None:
        return await self.account(account.uri)

    async def status(self, uri: str) -> int | None:
        known = await self._context.database.read(remote_statuses.find, uri)
        return None if known is None or known.deleted else known.id

    def find_parents_later(self, uri: str) -> None:
        """Other servers do not show the parent of a status."""

    def find_latest_later(self, account: Account, accepted_since: datetime) -> None:
        """Nor do they show what an account has published."""

    def do_later(self, work: str, uri: str, job: Job) -> None:
        """Other servers are asked for nothing."""

    async def find_parts(self, note: ReceivedNote) -> None:
        """Nor do they show the accounts and statuses that a document names."""

    async def fetch_collection(self, url: str) -> JsonObject:
        return await self.fetch(url)

    async def fetch(self, uri: str) -> JsonObject:
        raise DocumentMissing(f"nothing is fetched in a simulation, and {uri} neither")
