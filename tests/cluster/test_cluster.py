"""Several servers on one database, as nodes of a cluster: people use any of them, and nodes come, go and die."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from .. import plain_http
from ..end_to_end.patience import PATIENCE, eventually
from ..end_to_end.server import Person, Server, follow
from ..nats.broker import Broker, running

PUBLISH, HOME = "/api/v1/statuses", "/api/v1/timelines/home"

LONGEST_TAKEOVER = 12  # seconds until the accounts of a killed node are answered by another


class Nodes:
    """Servers on one database, connected by one broker. Their domain is the address of the first one."""

    def __init__(self, folder: Path, dsn: str, broker: Broker, number: int) -> None:
        self.broker = broker
        self.servers = [Server(folder / f"n{place}") for place in range(1, number + 1)]
        for place, server in enumerate(self.servers, 1):
            server.settings |= {
                "TROUPE_DATABASE_URL": dsn, "TROUPE_BUS_URL": broker.url, "TROUPE_NODE": f"n{place}",
                "TROUPE_DOMAIN": f"localhost:{self.servers[0].port}",
            }  # fmt: skip

    def start(self) -> None:
        for server in self.servers:
            server.start()

    def people(self, *names: str) -> list[Person]:
        return self.servers[0].people(*names)

    def at(self, place: int, person: Person) -> Person:
        """A person who uses a node."""
        return replace(person, url=self.servers[place].url)


@pytest.fixture
def nodes(tmp_path: Path, dsn: str) -> Iterator[Nodes]:
    """Two nodes that run."""
    with running(tmp_path) as broker, ExitStack() as stack:
        made = Nodes(tmp_path, dsn, broker, 2)
        for server in made.servers:
            stack.callback(server.end)
        made.start()
        yield made


def publish(person: Person, text: str, **how: Any) -> httpx.Response:
    return plain_http.post(f"{person.url}{PUBLISH}", data={"status": text} | how, headers=person.headers, timeout=30)


def outcome(answer: Future[httpx.Response]) -> str:
    """The status code of a request to a node that may have ended meanwhile."""
    try:
        return str(answer.result().status_code)
    except httpx.TransportError:
        return "cut off"


def home(person: Person) -> httpx.Response:
    return plain_http.get(f"{person.url}{HOME}", headers=person.headers, timeout=30)


def texts(person: Person) -> list[str]:
    answer = home(person)
    assert answer.status_code == 200, answer.text
    return [status["content"] for status in answer.json()]


def test_what_is_published_on_one_node_is_on_the_pages_of_all_when_it_is_answered(nodes: Nodes) -> None:
    ada, bob, eve = nodes.people("ada", "bob", "eve")
    follow(nodes.at(0, bob), [ada])
    follow(nodes.at(1, eve), [ada])
    for number in range(20):
        status = publish(nodes.at(number % 2, ada), f"number {number}")
        assert status.status_code == 200, status.text
        for reader in (nodes.at(0, bob), nodes.at(1, bob), nodes.at(0, eve), nodes.at(1, eve)):
            assert texts(reader)[0] == f"<p>number {number}</p>"
    children = json.loads(nodes.servers[0].troupe("tree", "--json", "--node", "n1").stdout)["children"]
    (cluster,) = [child for child in children if child["name"] == "cluster"]
    assert (cluster["nodes"], cluster["shards"], cluster["complete"]) == (["n2"], 128, True)
    assert nodes.servers[0].stop() == nodes.servers[1].stop() == 0


def test_the_accounts_of_a_killed_node_are_answered_by_another(nodes: Nodes) -> None:
    people = nodes.people("ada", "bob", "eve", "joe", "kim", "lea")
    nodes.servers[0].kill()
    end = time.monotonic() + LONGEST_TAKEOVER
    for person in people:
        while (answer := publish(nodes.at(1, person), "still here")).status_code != 200:
            assert (answer.status_code, "retry-after" in answer.headers) == (503, True), answer.text
            assert time.monotonic() < end
            time.sleep(0.1)
    nodes.servers[0].start()
    for person in people:
        assert publish(nodes.at(0, person), "back").status_code == 200
        assert home(nodes.at(1, person)).json()[0]["content"] == "<p>back</p>"


def test_a_node_that_stops_in_order_is_missed_by_nobody(nodes: Nodes) -> None:
    people = [nodes.at(1, person) for person in nodes.people("ada", "bob", "eve", "joe", "kim", "lea")]
    ended: list[int] = []

    def stop_and_start() -> None:
        for _ in range(2):
            ended.append(nodes.servers[0].stop())
            nodes.servers[0].start()

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(stop_and_start)
        number = 0
        while not working.done():
            for person in people:
                began = time.monotonic()
                answer = publish(person, f"number {number}")
                assert answer.status_code == 200, answer.text
                assert time.monotonic() - began < PATIENCE
                assert answer.json()["id"] == home(person).json()[0]["id"]
            number += 1
        working.result()
    assert ended == [0, 0]


def test_a_node_that_wakes_after_its_removal_ends_and_has_written_nothing(nodes: Nodes) -> None:
    people = nodes.people("ada", "bob", "eve", "joe", "kim", "lea")
    nodes.servers[0].send(signal.SIGSTOP)
    with ThreadPoolExecutor(len(people)) as threads:
        late = [threads.submit(publish, nodes.at(0, person), "late") for person in people]
        for person in people:
            eventually(lambda person=person: publish(nodes.at(1, person), "in time").status_code == 200)
        nodes.servers[0].send(signal.SIGCONT)
        assert nodes.servers[0].wait() == 70
        assert {outcome(answer) for answer in late} <= {"503", "cut off"}
    assert "the other nodes have removed this node from the cluster" in nodes.servers[0].log
    for person in people:
        assert texts(nodes.at(1, person)) == ["<p>in time</p>"]


def answered(look: Callable[[], httpx.Response], code: int) -> httpx.Response:
    """The first answer with a status code."""
    return eventually(lambda: [answer for answer in (look(),) if answer.status_code == code])[0]


def test_without_the_bus_nodes_answer_nothing_from_memory_and_recover_by_themselves(nodes: Nodes) -> None:
    ada, bob = nodes.people("ada", "bob")
    follow(ada, [bob])
    assert publish(nodes.at(1, bob), "before").status_code == 200
    for harm, heal in ((nodes.broker.kill, nodes.broker.start), (nodes.broker.freeze, nodes.broker.thaw)):
        harm()
        for place in (0, 1):
            refusal = answered(lambda place=place: home(nodes.at(place, ada)), 503)
            assert refusal.headers["retry-after"] == "1"
            assert plain_http.get(f"{nodes.servers[place].url}/health").status_code == 200
        heal()
        for place in (0, 1):
            assert answered(lambda place=place: home(nodes.at(place, ada)), 200).json()[0]["content"] == "<p>before</p>"
    assert answered(lambda: publish(nodes.at(0, bob), "after"), 200)
    assert texts(nodes.at(1, ada))[0] == "<p>after</p>"


def test_a_server_that_is_alone_does_not_start_beside_a_cluster(nodes: Nodes, tmp_path: Path) -> None:
    alone = Server(tmp_path / "alone", TROUPE_DATABASE_URL=nodes.servers[0].settings["TROUPE_DATABASE_URL"])
    alone.settings["TROUPE_DOMAIN"] = nodes.servers[0].settings["TROUPE_DOMAIN"]
    assert alone.fork().wait(PATIENCE)
    assert alone.wait() == 1
    assert "nodes of a cluster run on this database" in alone.log


def test_an_operator_lists_drains_and_removes_nodes(nodes: Nodes) -> None:
    (ada,) = nodes.people("ada")
    first, second = nodes.servers
    assert first.troupe("nodes", "list").stdout == "n1\tactive\t128 shards\nn2\tactive\t128 shards\n"
    drained = first.troupe("nodes", "drain", "n1")
    assert (drained.returncode, drained.stdout) == (0, "n1 owns no accounts any more\n")
    assert second.troupe("nodes", "list").stdout == "n1\tdraining\t0 shards\nn2\tactive\t256 shards\n"
    assert publish(nodes.at(0, ada), "over there").status_code == 200
    last = first.troupe("nodes", "drain", "n2")
    assert (last.returncode, "No other node could take the accounts of n2." in last.stderr) == (1, True)
    assert first.stop() == 0
    first.start()
    assert first.troupe("nodes", "remove", "n2").stdout == "Removed n2\n"
    assert second.wait() == 70
    assert answered(lambda: publish(nodes.at(0, ada), "alone now"), 200)
    assert first.troupe("nodes", "list").stdout == "n1\tactive\t256 shards\n"
