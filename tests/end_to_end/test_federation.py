"""Two servers of this software, by real sockets and real TLS: people here and there read and answer each other."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .conftest import passable_folder
from .federated import FederatedServer, federated


@pytest.fixture
def servers(prepared: Path) -> Iterator[list[FederatedServer]]:
    with passable_folder() as folder, federated(folder, prepared, ["north.test", "south.test"]) as made:
        for one in made:
            one.start()
        yield made


def test_a_server_is_reached_by_its_name(servers: list[FederatedServer]) -> None:
    for server in servers:
        answer = httpx.get(f"{server.url}/api/v2/instance", headers={"Host": server.domain})
        assert answer.json()["domain"] == server.domain
