"""The e-mail addresses and domains that may not sign up, and what a sign-up does to pass them by."""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
import trio

from ..clients import Client, Person, Stage
from .registering import ACCOUNTS, OPEN, codes, form, registered

EMAILS = "/api/v1/admin/canonical_email_blocks"
DOMAINS = "/api/v1/admin/email_domain_blocks"


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def attempt(app: Client, email: str, name: str = "eve") -> Any:
    """The codes of what is wrong with an address; None if it is accepted."""
    answer = await app.post(ACCOUNTS, form(name, email=email))
    return None if answer.status == 200 else codes(answer)["email"]


class TestAddresses:
    async def test_an_address_is_blocked_in_all_its_spellings(self, adm: Person, app: Client) -> None:
        made = (await adm.post(EMAILS, {"email": "E.v.e+news@Example.org"})).json
        assert made == {"id": made["id"], "canonical_email_hash": sha256(b"eve@example.org").hexdigest()}
        assert (await adm.get(f"{EMAILS}/{made['id']}")).json == made
        assert (await adm.get(EMAILS)).json == [made]
        for email in ("eve@example.org", "EVE+x@example.org", "e.ve@EXAMPLE.org"):
            assert (await adm.post(f"{EMAILS}/test", {"email": email})).json == [made]
            assert await attempt(app, email) == ["ERR_TAKEN"]
        assert (await adm.post(f"{EMAILS}/test", {"email": "bob@example.org"})).json == []
        again = await adm.post(EMAILS, {"canonical_email_hash": made["canonical_email_hash"].upper()})
        assert again.json == {"error": "Validation failed: Canonical email hash has already been taken"}
        assert (await adm.delete(f"{EMAILS}/{made['id']}")).json == {}
        assert (await adm.delete(f"{EMAILS}/{made['id']}")).status == 404
        assert await attempt(app, "eve@example.org") is None

    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"canonical_email_hash": "ab"},
            {"email": "x" * 400 + "@x.org"},
            {"email": "x"},
            {"email": "Eve <eve@x.org>"},
        ],
    )
    async def test_wrong_ones_are_refused(self, adm: Person, given: dict[str, str]) -> None:
        assert (await adm.post(EMAILS, given)).status == 422
        assert (await adm.get(EMAILS)).json == []

    async def test_a_dot_or_a_tag_makes_another_address(self, stage: Stage, app: Client) -> None:
        await registered(stage, app=app)
        for email in ("Eve@Example.org", " eve@example.org ", "eve@EXAMPLE.org"):
            assert await attempt(app, email, "other") == ["ERR_TAKEN"]
        for number, email in enumerate(("e.v.e@example.org", "eve+2@example.org", "Eve+Art@example.org")):
            assert await attempt(app, email, f"other{number}") is None
        assert await attempt(app, "eve@example.com", "other") is None


class TestDomains:
    async def test_a_domain_and_its_subdomains_are_blocked(self, stage: Stage, adm: Person, app: Client) -> None:
        made = (await adm.post(DOMAINS, {"domain": "Example.ORG"})).json
        assert (made["domain"], made["allow_with_approval"], len(made["history"])) == ("example.org", False, 7)
        assert {(day["accounts"], day["uses"]) for day in made["history"]} == {("0", "0")}
        for email in ("eve@example.org", "eve@mail.example.org"):
            assert await attempt(app, email) == ["ERR_BLOCKED"]
        assert await attempt(app, "eve@notexample.org") is None
        shown = (await adm.get(f"{DOMAINS}/{made['id']}")).json
        assert (shown["history"][0]["accounts"], shown["history"][0]["uses"]) == ("1", "2")
        assert (await adm.get(DOMAINS)).json == [shown]
        assert (await adm.post(DOMAINS, {"domain": "example.org"})).status == 422
        assert (await adm.delete(f"{DOMAINS}/{made['id']}")).json == {}
        assert await attempt(app, "bob@example.org", "bob") is None

    @pytest.mark.parametrize(
        ("domain", "error"),
        [
            ("", "Domain can't be blank"),
            ("no domain", "Domain is invalid, Domain is not a valid domain name"),
            ("example.org:25", "Domain is invalid, Domain is not a valid domain name"),
        ],
    )
    async def test_wrong_ones_are_refused(self, adm: Person, domain: str, error: str) -> None:
        answer = await adm.post(DOMAINS, {"domain": domain})
        assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {error}"})

    async def test_some_may_sign_up_with_approval(self, stage: Stage, adm: Person, app: Client) -> None:
        await adm.post(DOMAINS, {"domain": "example.org", "allow_with_approval": "true"})
        assert await attempt(app, "eve@example.org") is None
        assert await attempt(app, "bob@example.com", "bob") is None
        users = await stage.rows("SELECT email, approved_at IS NOT NULL FROM users WHERE role = 'user' ORDER BY email")
        assert users == [["bob@example.com", True], ["eve@example.org", False]]

    async def test_a_suspended_server_gives_no_addresses(self, adm: Person, app: Client) -> None:
        await adm.post("/api/v1/admin/domain_blocks", {"domain": "example.org", "severity": "suspend"})
        assert await attempt(app, "eve@mail.example.org") == ["ERR_BLOCKED"]

    async def test_throw_away_addresses_are_refused(self, app: Client) -> None:
        assert await attempt(app, "eve@yopmail.com") == ["ERR_BLOCKED"]

    async def test_a_waiting_user_does_not_change_to_a_blocked_address(
        self, stage: Stage, adm: Person, app: Client
    ) -> None:
        eve = await registered(stage, app=app)
        await adm.post(DOMAINS, {"domain": "example.com"})
        answer = await eve.post("/api/v1/emails/confirmations", {"email": "eve@example.com"})
        assert codes(answer) == {"email": ["ERR_BLOCKED"]}


class TestDisposable:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"disposable_emails": "accepted"}

    async def test_they_are_the_operators_choice(self, app: Client) -> None:
        assert await attempt(app, "eve@yopmail.com") is None


RECORDS = {
    ("sold.example.org.", "MX"): "10 mx.blocked.example.net.",
    ("fine.example.org.", "MX"): "10 mx.fine.example.net.",
    ("bare.example.org.", "A"): "192.0.2.1",
    ("none.example.org.", "MX"): "0 .",
}
SILENT = "silent.example.org."


class TestMailServers:
    """With a DNS server of the test's own."""

    @pytest.fixture
    async def dns_port(self, nursery: trio.Nursery) -> AsyncIterator[int]:
        socket = trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
        await socket.bind(("127.0.0.1", 0))
        nursery.start_soon(answer_all, socket)
        yield socket.getsockname()[1]
        nursery.cancel_scope.cancel()

    @pytest.fixture
    def options(self, dns_port: int) -> dict[str, Any]:
        return OPEN | {"domain": "social.example", "dns_servers": f"127.0.0.1:{dns_port}"}

    @pytest.mark.parametrize(
        ("domain", "found"),
        [
            ("sold.example.org", ["ERR_BLOCKED"]),
            ("fine.example.org", None),
            ("bare.example.org", None),
            ("none.example.org", ["ERR_UNREACHABLE"]),
            ("missing.example.org", ["ERR_UNREACHABLE"]),
            ("silent.example.org", None),
        ],
    )
    async def test_the_mail_servers_of_a_domain_are_judged(
        self, adm: Person, app: Client, domain: str, found: list[str] | None, autojump_lookups: None
    ) -> None:
        await adm.post(DOMAINS, {"domain": "blocked.example.net"})
        assert await attempt(app, f"eve@{domain}") == found


@pytest.fixture
def autojump_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a lookup without an answer end soon."""
    monkeypatch.setattr("troupe.actors.outgoing.mail_servers.SECONDS", 0.2)


async def answer_all(socket: trio.socket.SocketType) -> None:
    while True:
        data, peer = await socket.recvfrom(4096)
        query = dns.message.from_wire(data)
        (question,) = query.question
        name, kind = question.name.to_text(), dns.rdatatype.to_text(question.rdtype)
        if name == SILENT:
            continue
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if (name, kind) in RECORDS:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", kind, RECORDS[name, kind]))
        elif not any(known == name for known, _ in RECORDS):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        await socket.sendto(answer.to_wire(), peer)
