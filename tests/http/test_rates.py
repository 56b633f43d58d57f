"""Fixed windows, and headers for the limit closest to its end."""

from datetime import UTC, datetime, timedelta

import pytest

from troupe.http.access.rates import PER_ACCOUNT, RateRule, Rates
from troupe.http.server.addresses import subject_of

from ..clients import Person, Stage
from .serving import request, say, serving

START = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
TWICE = RateRule("twice", 2, 60)
THRICE = RateRule("thrice", 3, 3600)


def test_a_limit_is_reached_and_comes_back_with_the_next_window() -> None:
    rates = Rates()
    assert not rates.count(TWICE, "ada", START).exceeded
    assert not rates.count(TWICE, "ada", START).exceeded
    assert rates.count(TWICE, "ada", START + timedelta(seconds=59)).exceeded
    assert not rates.count(TWICE, "ada", START + timedelta(seconds=60)).exceeded


def test_what_was_counted_can_be_taken_back_within_its_window() -> None:
    rates = Rates()
    standing = rates.count(TWICE, "ada", START)
    rates.count(TWICE, "ada", START)
    rates.take_back(TWICE, "ada", standing)
    assert not rates.count(TWICE, "ada", START).exceeded
    later = START + timedelta(seconds=60)
    assert rates.count(TWICE, "ada", later).remaining == 1
    rates.take_back(TWICE, "ada", standing)
    assert rates.count(TWICE, "ada", later).remaining == 0


def test_subjects_are_counted_apart() -> None:
    rates = Rates()
    for _ in range(3):
        rates.count(TWICE, "ada", START)
    assert not rates.count(TWICE, "bob", START).exceeded


def test_headers_tell_of_the_limit_closest_to_its_end() -> None:
    rates = Rates()
    standing = rates.count_all(((THRICE, "ada"), (TWICE, "ada")), START)
    assert standing is not None
    assert dict(standing.headers) == {
        "X-RateLimit-Limit": "2",
        "X-RateLimit-Remaining": "1",
        "X-RateLimit-Reset": "2026-11-21T12:01:00.000000Z",
    }


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("<local>", "<local>"),
    ],
)
def test_an_ipv6_customer_is_a_64(address: str, subject: str) -> None:
    assert subject_of(address) == subject


class TestLimited:
    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"rate_limits": True}

    async def test_the_headers_are_on_every_api_answer(self, stage: Stage, ada: Person) -> None:
        answers = [
            await ada.get("/api/v1/timelines/home"),
            await stage.anybody().get("/api/v1/instance"),
            await stage.anybody().get("/api/v1/timelines/home"),
            await ada.get("/api/v1/statuses/1"),
        ]
        assert [answer.status for answer in answers] == [200, 200, 401, 404]
        for answer in answers:
            assert answer.headers["X-RateLimit-Limit"] == "300"
            assert answer.headers["X-RateLimit-Reset"].endswith("Z")

    async def test_what_is_not_there_counts_as_well(self, stage: Stage, ada: Person) -> None:
        for answer in (await ada.get("/api/v1/nothing"), await ada.delete("/api/v1/instance")):
            assert answer.headers["X-RateLimit-Limit"] == "300"
        assert answer.headers["X-RateLimit-Remaining"] == "298"
        stranger = stage.anybody()
        await stranger.get("/api/v1/nothing")
        await stranger.post("/api/v1/statuses", data=b"{", headers={"Content-Type": "application/json"})
        assert (await stranger.get("/api/v1/instance")).headers["X-RateLimit-Remaining"] == "297"

    @pytest.mark.usefixtures("both_ways")
    async def test_no_spelling_of_a_path_is_a_way_around(self, stage: Stage) -> None:
        async with serving(stage) as server:
            lines = (
                b"//api/v1/instance", b"http://elsewhere.example/api/v1/instance", b"/%2Fapi/v1/instance",
                b"/api//v1///instance",
            )  # fmt: skip
            for number, path in enumerate(lines, 1):
                answer = (await say(server.port, request(b"GET " + path))).lower()
                assert answer.startswith(b"http/1.1 200")
                assert b"x-ratelimit-remaining: %d\r\n" % (300 - number) in answer
                assert b"access-control-allow-origin: *\r\n" in answer

    async def test_the_sixth_app_from_one_address_has_to_wait(self, stage: Stage) -> None:
        app = {"client_name": "x", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob"}
        answers = [await stage.anybody().post("/api/v1/apps", app) for _ in range(6)]
        assert [answer.status for answer in answers] == [200] * 5 + [429]
        assert answers[-1].json == {"error": "Too many requests"}
        assert answers[-1].headers["X-RateLimit-Remaining"] == "0"

    async def test_only_trusted_proxies_are_believed(self, stage: Stage) -> None:
        app = {"client_name": "x", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob"}
        for number in range(6):
            forwarded = {"X-Forwarded-For": f"198.51.100.9, 192.0.2.{number}"}
            assert (await stage.anybody().post("/api/v1/apps", app, headers=forwarded)).status == 200

    async def test_tokens_are_counted_apart_and_their_account_as_a_whole(self, stage: Stage) -> None:
        account = await stage.account("ada")
        phone, laptop = [stage.anybody(await stage.token(account)) for _ in range(2)]
        answers = [await phone.get("/api/v1/statuses/1") for _ in range(3)]
        assert answers[-1].headers["X-RateLimit-Remaining"] == "297"
        assert (await laptop.get("/api/v1/statuses/1")).headers["X-RateLimit-Remaining"] == "299"
        now = stage.http_context.clock.now()
        for _ in range(PER_ACCOUNT.limit - 4):
            stage.http_context.rates.count(PER_ACCOUNT, str(account.id), now)
        assert (await laptop.get("/api/v1/statuses/1")).status == 429

    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
            ("192.0.2.1", "::ffff:192.0.2.1", True),
        ],
    )
    async def test_addresses_without_a_token(self, stage: Stage, first: str, second: str, same: bool) -> None:
        client = stage.anybody()
        await client.get("/api/v1/instance", headers={"X-Forwarded-For": first})
        answer = await client.get("/api/v1/instance", headers={"X-Forwarded-For": second})
        assert answer.headers["X-RateLimit-Remaining"] == ("298" if same else "299")


class TestBehindNobody:
    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"rate_limits": True, "trusted_proxies": ("10.0.0.0/8",)}

    async def test_a_forwarded_address_from_other_hosts_changes_nothing(self, stage: Stage) -> None:
        client = stage.anybody()
        said = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(3)]
        answers = [await client.get("/api/v1/instance", headers=headers) for headers in said]
        assert answers[-1].headers["X-RateLimit-Remaining"] == "297"
