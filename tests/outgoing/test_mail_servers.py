"""Looking mail servers up: how many lookups run at once, for all and for one network."""

from collections.abc import AsyncIterator

import dns.message
import dns.rrset
import pytest
import trio

from troupe.actors.outgoing.mail_servers import AT_ONCE, AT_ONCE_OF_A_NETWORK, MailServerLookup

ANSWERED = "fine.example.org."
CROWDING, OTHER = "192.0.2.0/24", "198.51.100.0/24"


class DnsServer:
    """Counts the domains that it is asked about, and answers about one of them."""

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self.asked: set[str] = set()
        self.port: int = socket.getsockname()[1]
        self._socket = socket
        self._more = trio.Condition()

    async def run(self) -> None:
        while True:
            data, peer = await self._socket.recvfrom(4096)
            query = dns.message.from_wire(data)
            name = query.question[0].name.to_text()
            async with self._more:
                self.asked.add(name)
                self._more.notify_all()
            if name == ANSWERED:
                answer = dns.message.make_response(query)
                answer.answer.append(dns.rrset.from_text(name, 60, "IN", "MX", "10 mx.example.net."))
                await self._socket.sendto(answer.to_wire(), peer)

    async def wait_for(self, count: int) -> None:
        async with self._more:
            while len(self.asked) < count:
                await self._more.wait()


@pytest.fixture
async def server(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DnsServer]:
    socket = trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
    await socket.bind(("127.0.0.1", 0))
    made = DnsServer(socket)
    nursery.start_soon(made.run)
    monkeypatch.setattr("troupe.actors.outgoing.mail_servers.SECONDS", 60)  # no place gets free by itself
    yield made
    nursery.cancel_scope.cancel()


async def test_a_network_with_slow_domains_leaves_places_to_others(server: DnsServer) -> None:
    lookup = MailServerLookup([("127.0.0.1", server.port)])
    with trio.fail_after(30):
        async with trio.open_nursery() as crowd:
            for number in range(AT_ONCE):
                crowd.start_soon(lookup, f"slow{number}.example.org", CROWDING)
            await server.wait_for(AT_ONCE_OF_A_NETWORK)
            found = await lookup(ANSWERED.rstrip("."), OTHER)
            assert found.names == ("mx.example.net",)
            assert len(server.asked) == AT_ONCE_OF_A_NETWORK + 1
            crowd.cancel_scope.cancel()
    assert len(vars(lookup)["_limiter"]) == 0, "networks that look nothing up are forgotten"


async def test_a_network_gets_its_places_back(server: DnsServer) -> None:
    lookup = MailServerLookup([("127.0.0.1", server.port)])
    with trio.fail_after(30):
        for number in range(AT_ONCE_OF_A_NETWORK + 1):
            async with trio.open_nursery() as one:
                one.start_soon(lookup, f"slow{number}.example.org", CROWDING)
                await server.wait_for(number + 1)
                one.cancel_scope.cancel()
