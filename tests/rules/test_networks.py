"""Blocked networks in memory."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from random import Random

import pytest

from troupe.actors.rules.networks import RANKS, NetworkRules, network_of
from troupe.storage.blocked_networks import BlockedNetwork, NetworkSeverity

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SEVERITIES: tuple[NetworkSeverity, ...] = ("sign_up_requires_approval", "sign_up_block", "no_access")


def block(network: str, severity: NetworkSeverity = "no_access", expires_at: datetime | None = None) -> BlockedNetwork:
    return BlockedNetwork(1, network, severity, "", NOW, expires_at)


def test_what_is_found_is_what_a_search_of_all_networks_finds() -> None:
    random = Random(7)
    for _ in range(50):
        blocks = [
            block(str(ip_network((random.getrandbits(6) << 24, random.randint(1, 32)), strict=False)), severity)
            for severity in SEVERITIES
            for _ in range(8)
        ]
        rules = NetworkRules({one.network: one for one in blocks}.values())
        for number in range(0, 1 << 30, 7_919_003):
            address = ip_address(number)
            if address.is_loopback:
                continue
            kept = {one.network: one for one in blocks}.values()
            found = sorted(RANKS[one.severity] for one in kept if address in ip_network(one.network))
            severity = rules.severity_for(str(address), NOW)
            assert (None if severity is None else RANKS[severity]) == (found[-1] if found else None)


def test_the_strictest_block_that_has_not_ended_counts() -> None:
    rules = NetworkRules([block("192.0.2.0/24", "sign_up_block"), block("192.0.2.7/32", expires_at=NOW)])
    assert rules.severity_for("192.0.2.7", NOW - timedelta(seconds=1)) == "no_access"
    assert rules.severity_for("192.0.2.7", NOW) == "sign_up_block"


@pytest.mark.parametrize("address", ["", "unknown", "192.0.2", "x" * 10_000, "127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_what_is_no_address_or_this_machine_is_not_blocked(address: str) -> None:
    assert NetworkRules([block("0.0.0.0/0"), block("::/0")]).severity_for(address, NOW) is None


@pytest.mark.parametrize(
    ("written", "network"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        (" 192.0.2.7/24 ", "192.0.2.0/24"),
        ("::ffff:192.0.2.7/120", "192.0.2.0/24"),
        ("2001:DB8::1/32", "2001:db8::/32"),
        ("fe80::1%eth0", "fe80::1/128"),
        ("fe80::1%eth0/64", "fe80::/64"),
        ("192.0.2.7/33", "None"),
        ("example.org", "None"),
    ],
)
def test_networks_are_written_in_many_ways(written: str, network: str) -> None:
    assert str(network_of(written)) == network
