"""The networks that the server keeps out, or keeps from signing up."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.actors.kernel import SystemClock

from ..clients import PATIENCE, Person, Stage
from .registering import ACCOUNTS, OPEN, app_client, form
from .serving import request, rest, say, serving

BLOCKS = "/api/v1/admin/ip_blocks"
PATHS = (
    "/", "/api/v1/instance", "/api/v1/timelines/public", "/api/v1/streaming/public", "/health", "/auth/sign_in",
    "/style.css", "/nowhere", "/.well-known/webfinger", "//api/v1/instance",
)  # fmt: skip


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


def sent_by(address: str) -> dict[str, Any]:
    """The headers of a request that a trusted proxy passes on."""
    return {"headers": {"X-Forwarded-For": address}}


async def test_a_block_is_made_changed_and_ended(stage: Stage, adm: Person) -> None:
    given = {"ip": "192.0.2.77/24", "severity": "sign_up_block", "comment": "bots", "expires_in": "3600"}
    made = (await adm.post(BLOCKS, given)).json
    assert (made["ip"], made["severity"], made["comment"]) == ("192.0.2.0/24", "sign_up_block", "bots")
    assert made["expires_at"] is not None
    path = f"{BLOCKS}/{made['id']}"
    assert (await adm.get(path)).json == made
    changed = (await adm.put(path, {"severity": "no_access", "expires_in": ""})).json
    assert changed == made | {"severity": "no_access", "expires_at": None}
    assert (await adm.get(BLOCKS)).json == [changed]
    assert (await adm.delete(path)).json == {}
    assert (await adm.get(path)).status == (await adm.delete(path)).status == 404
    log = await stage.rows("SELECT action, target FROM audit_log ORDER BY id")
    assert log == [[act, "192.0.2.0/24"] for act in ("block_network", "change_network_block", "unblock_network")]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"ip": "192.0.2.1"}, "Severity can't be blank"),
        ({"ip": "192.0.2.1", "severity": "kill"}, "Severity is not included in the list"),
        ({"ip": "192.0.2.300", "severity": "no_access"}, "Ip is invalid"),
        ({"ip": "192.0.2.0/33", "severity": "no_access"}, "Ip is invalid"),
        ({"ip": "x" * 5000, "severity": "no_access"}, "Ip is invalid"),
        (
            {"ip": "192.0.2.1", "severity": "no_access", "comment": "x" * 2001},
            "Comment is too long (maximum is 2000 characters)",
        ),
        ({"ip": "192.0.2.1", "severity": "no_access", "expires_in": str(10**12)}, "Expires in is too long"),
    ],
)
async def test_wrong_blocks_are_refused(adm: Person, given: dict[str, str], error: str) -> None:
    answer = await adm.post(BLOCKS, given)
    assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {error}"})
    assert (await adm.get(BLOCKS)).json == []


async def test_a_block_without_an_address_shuts_nobody_out(adm: Person) -> None:
    made = await adm.post(BLOCKS, {"severity": "no_access"})
    assert (made.status, made.json["ip"]) == (200, "0.0.0.0/32")
    assert (await adm.get("/api/v1/instance")).status == 200


async def test_a_network_is_blocked_once(adm: Person) -> None:
    given = {"ip": "::ffff:192.0.2.7", "severity": "no_access"}
    assert (await adm.post(BLOCKS, given)).json["ip"] == "192.0.2.7/32"
    again = await adm.post(BLOCKS, {"ip": "192.0.2.7", "severity": "sign_up_block"})
    assert (again.status, again.json) == (422, {"error": "Validation failed: Ip has already been taken"})


async def test_staff_do_not_shut_themselves_out(adm: Person) -> None:
    given = {"ip": "192.0.2.0/24", "severity": "no_access"}
    answer = await adm.post(BLOCKS, given, **sent_by("192.0.2.9"))
    assert (answer.status, answer.json) == (422, {"error": "Validation failed: Ip is your own"})
    assert (await adm.post(BLOCKS, given, **sent_by("198.51.100.9"))).status == 200


async def test_staff_do_not_shut_themselves_out_by_a_change(adm: Person) -> None:
    mild = (await adm.post(BLOCKS, {"ip": "192.0.2.0/24", "severity": "sign_up_block"})).json
    strict = (await adm.post(BLOCKS, {"ip": "203.0.113.0/24", "severity": "no_access"})).json
    for block, change in ((mild, {"severity": "no_access"}), (strict, {"ip": "192.0.2.0/25"})):
        answer = await adm.put(f"{BLOCKS}/{block['id']}", change, **sent_by("192.0.2.9"))
        assert (answer.status, answer.json) == (422, {"error": "Validation failed: Ip is your own"})
    assert (await adm.get(BLOCKS)).json == [strict, mild]


async def test_this_machine_is_not_blocked(adm: Person) -> None:
    for ip in ("127.0.0.1", "127.8.0.0/16", "::1"):
        for severity in ("no_access", "sign_up_block"):
            answer = await adm.post(BLOCKS, {"ip": ip, "severity": severity}, **sent_by("198.51.100.9"))
            error = "Validation failed: Ip is of this machine, which is never blocked"
            assert (answer.status, answer.json) == (422, {"error": error})


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("192.0.2.0/24", "192.0.2.200", "192.0.3.200"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("2001:db8:1::/48", "2001:db8:1:ffff::1", "2001:db8:2::1"),
        ("192.0.2.0/24", "::ffff:192.0.2.1", "::ffff:192.0.3.1"),
    ],
)
async def test_no_path_is_open_to_a_network_without_access(
    stage: Stage, adm: Person, network: str, inside: str, outside: str
) -> None:
    visitor = stage.anybody()
    open_ = [(await visitor.get(path, **sent_by(inside))).status for path in PATHS if "streaming" not in path]
    assert 403 not in open_
    made = (await adm.post(BLOCKS, {"ip": network, "severity": "no_access"})).json
    for path in PATHS:
        answer = await visitor.get(path, **sent_by(inside))
        assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"}), path
    assert (await adm.get("/api/v1/accounts/verify_credentials", **sent_by(inside))).status == 403
    assert (await visitor.get("/api/v1/instance", **sent_by(outside))).status == 200
    await adm.delete(f"{BLOCKS}/{made['id']}")
    assert (await visitor.get("/api/v1/instance", **sent_by(inside))).status == 200


async def test_this_machine_is_never_kept_out(stage: Stage, adm: Person) -> None:
    for everything in ("0.0.0.0/0", "::/0"):
        assert (await adm.post(BLOCKS, {"ip": everything, "severity": "no_access"})).status == 200
    for address in ("127.0.0.1", "::1", "127.3.2.1"):
        assert (await stage.anybody().get("/health", **sent_by(address))).status == 200
    assert (await stage.anybody().get("/health", **sent_by("192.0.2.1"))).status == 403


async def test_a_client_does_not_choose_its_address(stage: Stage, adm: Person) -> None:
    await adm.post(BLOCKS, {"ip": "192.0.2.0/24", "severity": "no_access"})
    for forwarded in ("198.51.100.1, 192.0.2.1", "127.0.0.1, 192.0.2.1", "unknown, 192.0.2.1:55"):
        assert (await stage.anybody().get("/health", **sent_by(forwarded))).status == 403, forwarded


@pytest.mark.usefixtures("both_ways")
async def test_all_lines_of_proxies_count_at_the_gate(stage: Stage, adm: Person) -> None:
    await adm.post(BLOCKS, {"ip": "192.0.2.0/24", "severity": "no_access"})
    async with serving(stage) as server:
        for last, status in ((b"127.0.0.1", b"403"), (b"198.51.100.1", b"200")):
            lines = b"X-Forwarded-For: 192.0.2.1", b"X-Forwarded-For: " + last
            assert (await say(server.port, request(b"GET /health", *lines))).startswith(b"HTTP/1.1 " + status)


async def test_a_block_ends_at_its_time(stage: Stage, adm: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)

    def standing(_: SystemClock) -> datetime:
        return now

    monkeypatch.setattr(SystemClock, "now", standing)
    await adm.post(BLOCKS, {"ip": "192.0.2.1", "severity": "no_access", "expires_in": "60"})
    await adm.post(BLOCKS, {"ip": "192.0.2.0/24", "severity": "sign_up_block"})
    assert (await stage.anybody().get("/health", **sent_by("192.0.2.1"))).status == 403
    now += timedelta(seconds=61)
    assert (await stage.anybody().get("/health", **sent_by("192.0.2.1"))).status == 200


@pytest.mark.usefixtures("both_ways")
async def test_streams_of_a_network_end_with_its_access(stage: Stage, adm: Person) -> None:
    async with serving(stage) as server, await server.connect() as stream:
        await stream.send_all(request(b"GET /api/v1/streaming/public", b"X-Forwarded-For: 192.0.2.1"))
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        await adm.post(BLOCKS, {"ip": "192.0.2.1", "severity": "no_access"})
        with trio.fail_after(PATIENCE):
            await rest(stream)


@pytest.mark.parametrize(
    ("severity", "status", "approved"),
    [("sign_up_block", 403, None), ("sign_up_requires_approval", 200, False), (None, 200, True)],
)
async def test_sign_ups_of_a_network_are_refused_or_wait(
    stage: Stage, adm: Person, severity: str | None, status: int, approved: bool | None
) -> None:
    if severity is not None:
        await adm.post(BLOCKS, {"ip": "192.0.2.0/24", "severity": severity})
    answer = await (await app_client(stage)).post(ACCOUNTS, form("eve"), **sent_by("192.0.2.1"))
    assert answer.status == status
    if status == 403:
        assert answer.json == {"error": "This action is not allowed"}
    eve = await stage.rows("SELECT approved_at IS NOT NULL FROM users WHERE email = 'eve@example.org'")
    assert eve == ([] if approved is None else [[approved]])
    assert (await stage.anybody().get("/api/v1/instance", **sent_by("192.0.2.1"))).status == 200
