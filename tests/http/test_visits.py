"""From which addresses users come: noted by requests, stored by the sweep, read by staff alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.http.access.authentication import MOST_OF_AN_ACCOUNT, Visits
from troupe.storage import visits
from troupe.storage.visits import Visit

from ..clients import SCOPES, Person, Stage
from .sweeping import DAY, Led, Sweeper

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACCOUNTS = "/api/v1/admin/accounts"
OWN = "/api/v1/accounts/verify_credentials"
ROWS = "SELECT host(ip) FROM visits ORDER BY ip"


@pytest.fixture
async def mod(stage: Stage) -> Person:
    return await stage.person("mod", (*SCOPES, "admin:read"), role="moderator")


async def seen_from(person: Person, *addresses: str) -> None:
    for address in addresses:
        assert (await person.get(OWN, headers={"X-Forwarded-For": address})).status == 200


async def ips(mod: Person, of: Person) -> list[str]:
    return [one["ip"] for one in (await mod.get(f"{ACCOUNTS}/{of.id}")).json["ips"]]


async def test_staff_read_where_a_user_came_from_the_newest_first(stage: Stage, mod: Person) -> None:
    ada = await stage.person("ada", sign_up_ip="203.0.113.7")
    await seen_from(ada, "198.51.100.1", "198.51.100.2", "::ffff:198.51.100.1")
    assert await ips(mod, ada) == ["203.0.113.7"]
    sweeper = Sweeper(stage)
    await sweeper.sweep(timedelta())
    shown = (await mod.get(f"{ACCOUNTS}/{ada.id}")).json
    assert [one["ip"] for one in shown["ips"]] == ["198.51.100.1", "198.51.100.2", "203.0.113.7"]
    assert shown["ip"] == "198.51.100.1"
    for network, found in (("198.51.100.2", [ada.id]), ("203.0.113.0/24", [ada.id]), ("198.51.100.8/29", [])):
        listed = (await mod.get(ACCOUNTS, query_string={"ip": network})).json
        assert [one["id"] for one in listed] == found, network
    await seen_from(ada, "203.0.113.7")
    await sweeper.sweep(timedelta())
    assert await ips(mod, ada) == ["203.0.113.7", "198.51.100.1", "198.51.100.2"]


async def test_visits_are_deleted_after_ninety_days_and_with_the_user(stage: Stage, ada: Person, bob: Person) -> None:
    sweeper = Sweeper(stage)
    await seen_from(ada, "198.51.100.1")
    await seen_from(bob, "198.51.100.2")
    await sweeper.sweep(89 * DAY)
    assert await stage.rows(ROWS) == [["198.51.100.1"], ["198.51.100.2"]]
    await stage.sql("DELETE FROM users WHERE account_id = $1", bob.account.id)
    assert await stage.rows(ROWS) == [["198.51.100.1"]]
    await sweeper.sweep(91 * DAY)
    assert await stage.rows(ROWS) == []


async def test_a_node_that_does_not_lead_stores_its_visits_and_deletes_nothing(stage: Stage, ada: Person) -> None:
    await seen_from(ada, "198.51.100.1")
    await Sweeper(stage, Led()).sweep(91 * DAY)
    assert await stage.rows(ROWS) == [["198.51.100.1"]]
    await Sweeper(stage).sweep(91 * DAY)
    assert await stage.rows(ROWS) == []


async def test_a_user_who_is_gone_keeps_no_other_visit_from_being_stored(stage: Stage, ada: Person) -> None:
    news = [Visit(id, NOON.date(), "192.0.2.1", NOON) for id in (1, ada.account.id)]
    for _ in range(2):
        await stage.http_context.database.transact(visits.insert_many, news)
    earlier = [Visit(ada.account.id, NOON.date(), "192.0.2.1", NOON - timedelta(hours=1))]
    await stage.http_context.database.transact(visits.insert_many, earlier)
    assert await stage.rows("SELECT account_id, used_at FROM visits") == [[ada.account.id, NOON]]


async def test_a_server_that_stops_stores_what_it_has_noted(stage: Stage, ada: Person) -> None:
    stopping, expiry = trio.Event(), Sweeper(stage).expiry
    async with trio.open_nursery() as nursery:
        await nursery.start(expiry.run, stopping)
        await seen_from(ada, "198.51.100.1")
        stopping.set()
    assert await stage.rows(ROWS) == [["198.51.100.1"]]


async def test_users_who_only_read_are_active(stage: Stage, mod: Person, ada: Person) -> None:
    now = stage.http_context.clock.now()
    yesterday = now - DAY
    visit = Visit(ada.account.id, yesterday.date(), "192.0.2.1", yesterday)
    await stage.http_context.database.transact(visits.insert_many, [visit])
    form: Any = {"keys": ["active_users"], "start_at": (now - 2 * DAY).isoformat(), "end_at": now.isoformat()}
    (measure,) = (await mod.post("/api/v1/admin/measures", json=form)).json
    assert [day["value"] for day in measure["data"]][:2] == ["0", "1"]


def test_each_address_counts_once_a_day_and_each_account_has_few() -> None:
    noted = Visits()
    for hours in (0, 1, 13):
        noted.note(1, "192.0.2.1", NOON + timedelta(hours=hours))
    noted.note(1, "local socket", NOON)
    assert [(one.day.day, one.used_at.hour) for one in noted.take()] == [(21, 13), (22, 1)]
    assert noted.take() == []
    for number in range(2 * MOST_OF_AN_ACCOUNT):
        noted.note(1, f"192.0.2.{number}", NOON)
    assert len(noted.take()) == MOST_OF_AN_ACCOUNT


def test_a_crowd_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troupe.http.access.authentication.MOST_ACCOUNTS", 2)
    noted = Visits()
    for account_id in (1, 2, 3, 1):
        noted.note(account_id, "192.0.2.1", NOON)
    assert [one.account_id for one in noted.take()] == [1, 2]
