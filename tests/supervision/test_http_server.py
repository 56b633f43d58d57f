"""What the settings say about connections reaches the HTTP server."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from troupe.actors.configuration import Settings
from troupe.http.server.addresses import AddressRules
from troupe.supervision.children.http_server import HttpServer
from troupe.supervision.system.listeners import Listeners


def server(context: SimpleNamespace | None = None, /, **chosen: Any) -> HttpServer:
    settings, nothing = Settings(data=Path("data"), **chosen), cast("Any", None)
    context = context or SimpleNamespace(settings=settings)
    return HttpServer(settings, cast("Any", context), nothing, nothing, Listeners(settings), None)


@pytest.mark.parametrize(("chosen", "fast"), [({}, True), ({"fast_path": "on"}, True), ({"fast_path": "off"}, False)])
def test_the_fast_path_can_be_turned_off(chosen: dict[str, str], fast: bool) -> None:
    assert (server(**chosen).fast_requests() is not None) is fast


def test_the_rules_for_addresses_are_those_of_the_settings() -> None:
    proxies = (ipaddress.ip_network("10.0.0.0/8"),)
    context = SimpleNamespace(settings=Settings(connections_per_address=7))
    chosen = server(context, connections_per_address=7, trusted_proxies="10.0.0.0/8", proxy_protocol=True)
    assert chosen.rules() == AddressRules(7, proxies, proxy_protocol=True)
    assert not server().rules().proxy_protocol
    context.settings = context.settings.changed({"connections_per_address": 9})
    assert chosen.rules().most_connections == 9, "while it runs"
