"""Figures for staff, counted from what people really did."""

from datetime import timedelta
from typing import Any

import pytest

from troupe.storage.engine.database import Connection
from troupe.storage.upkeep import dashboard

from ..clients import Person, Stage

YEARS = ("2020-01-01", "2026-01-01")


def today(stage: Stage, ago: int = 0) -> str:
    return (stage.http_context.clock.now() - timedelta(days=ago)).date().isoformat()


async def measures(stage: Stage, mod: Person, *keys: str, days: int = 1, **more: Any) -> dict[str, Any]:
    form = {"keys": list(keys), "start_at": today(stage, days), "end_at": today(stage), **more}
    reply = await mod.done("POST", "/api/v1/admin/measures", json=form)
    return {one["key"]: one for one in reply}


def numbers(measure: Any) -> list[str]:
    return [day["value"] for day in measure["data"]]


async def test_what_users_do_is_counted_by_day(stage: Stage, mod: Person, ada: Person, bob: Person) -> None:
    post = await ada.publish("#tea")
    await bob.post(f"/api/v1/statuses/{post['id']}/favourite")
    await bob.publish("so do I", in_reply_to_id=post["id"])
    found = await measures(stage, mod, "new_users", "active_users", "interactions", "opened_reports", "unknown")
    assert {key: numbers(one) for key, one in found.items()} == {
        "new_users": ["0", "3"],
        "active_users": ["0", "3"],
        "interactions": ["0", "2"],
        "opened_reports": ["0", "0"],
    }
    assert (found["new_users"]["total"], found["new_users"]["previous_total"]) == ("3", "0")


async def test_uses_of_a_hashtag(stage: Stage, mod: Person, ada: Person, bob: Person) -> None:
    await ada.publish("#tea", language="de")
    await ada.publish("#tea", language="en")
    post = await bob.publish("#tea", language="en")
    about = {"id": (await mod.get("/api/v1/tags/tea")).json["id"]}
    keys = ("tag_uses", "tag_accounts", "tag_servers")
    found = await measures(stage, mod, *keys, tag_uses=about, tag_accounts=about)
    assert {key: one["total"] for key, one in found.items()} == {"tag_uses": "3", "tag_accounts": "2"}
    await bob.delete(f"/api/v1/statuses/{post['id']}")
    form = {"keys": ["tag_languages", "languages", "software_versions"], "tag_languages": about}
    (languages, locales, versions) = (await mod.post("/api/v1/admin/dimensions", json=form)).json
    assert [(one["key"], one["value"]) for one in languages["data"]] == [("de", "1"), ("en", "1")]
    assert [(one["key"], one["value"]) for one in locales["data"]] == [("und", "3")]
    assert versions["data"][0]["key"] == "troupe"


async def test_another_server(stage: Stage, mod: Person, ada: Person) -> None:
    await stage.sql("UPDATE accounts SET domain = 'far.test' WHERE id = $1", ada.account.id)
    found = await measures(stage, mod, "instance_accounts", instance_accounts={"domain": "FAR.test"})
    assert found["instance_accounts"]["total"] == "1"
    found = await measures(stage, mod, "instance_accounts", instance_accounts={"domain": "other.test"})
    assert found["instance_accounts"]["total"] == "0"


async def test_every_key_is_counted(stage: Stage, mod: Person) -> None:
    tag, far = {"id": "1"}, {"domain": "far.test"}
    keys = ("tag_accounts", "tag_uses", "tag_servers", "tag_languages", "instance_accounts", "instance_languages",
            "instance_media_attachments", "instance_reports", "instance_statuses", "instance_follows",
            "instance_followers", "resolved_reports", "sources", "servers", "space_usage")  # fmt: skip
    form = {key: tag if key.startswith("tag") else far for key in keys} | {"keys": list(keys)}
    times = {"start_at": today(stage), "end_at": today(stage)}
    counted = [one["key"] for one in (await mod.post("/api/v1/admin/measures", json=form | times)).json]
    counted += [one["key"] for one in (await mod.post("/api/v1/admin/dimensions", json=form)).json]
    assert set(counted) == set(keys)


async def test_how_many_users_stay(stage: Stage, mod: Person, ada: Person) -> None:
    await ada.publish("here")
    form = {"start_at": today(stage, 1), "end_at": today(stage), "frequency": "day"}
    before, now = (await mod.post("/api/v1/admin/retention", form)).json
    assert [len(before["data"]), len(now["data"])] == [2, 1]
    assert (now["data"][0]["value"], now["data"][0]["rate"]) == ("2", 1.0)
    assert (before["data"][0]["value"], before["data"][0]["rate"]) == ("0", 0.0)
    assert (await mod.post("/api/v1/admin/retention", {})).json == []
    monthly = (await mod.post("/api/v1/admin/retention", form | {"frequency": "month"})).json
    assert {one["frequency"] for one in monthly} == {"month"}


@pytest.mark.parametrize(
    ("start", "end"),
    [("1600-01-01", "2026-01-01"), ("nonsense", "2026-01-01"), ("2020-01-01", "9999-12-31"), YEARS],
)
async def test_times_that_cost_too_much_are_refused(mod: Person, start: str, end: str) -> None:
    form = {"keys[]": "new_users", "start_at": start, "end_at": end}
    assert (await mod.post("/api/v1/admin/measures", form)).status == 422
    assert (await mod.post("/api/v1/admin/measures", {"keys[]": "new_users"})).status == 400
    assert (await mod.post("/api/v1/admin/dimensions", form | {"keys[]": "servers"})).status == 422


async def test_the_more_keys_the_fewer_days(stage: Stage, mod: Person) -> None:
    keys = ["new_users", "active_users", "interactions", "opened_reports"]
    form = {"keys": keys, "start_at": today(stage, 249), "end_at": today(stage)}
    assert len((await mod.post("/api/v1/admin/measures", json=form)).json) == 4
    refused = await mod.post("/api/v1/admin/measures", json=form | {"start_at": today(stage, 250)})
    text = "Validation failed: Keys are too many for these dates (maximum is 1000 days of all keys together)"
    assert (refused.status, refused.json) == (422, {"error": text})
    unknown = {"keys": ["new_users", *map(str, range(9))], "start_at": today(stage, 365)}
    assert (await mod.post("/api/v1/admin/measures", json=form | unknown)).status == 200


@pytest.mark.parametrize(
    ("path", "work"),
    [("measures", "measure"), ("dimensions", "dimension"), ("retention", "retention"), ("retention", "new_users")],
)
async def test_a_count_that_takes_long_is_ended(
    stage: Stage, mod: Person, monkeypatch: pytest.MonkeyPatch, path: str, work: str
) -> None:
    async def slow(db: Connection, *args: object) -> None:
        await db.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(dashboard, "PATIENCE", 20)
    monkeypatch.setattr(dashboard, work, slow)
    form = {"keys": ["new_users", "servers"], "start_at": today(stage, 1), "end_at": today(stage)}
    refused = await mod.post(f"/api/v1/admin/{path}", json=form)
    text = "Validation failed: Dates are too far apart to count this in time"
    assert (refused.status, refused.json) == (422, {"error": text})
    assert (await mod.get("/api/v1/accounts/verify_credentials")).status == 200
