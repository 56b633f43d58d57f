"""The page of settings: what a change will affect, the change, who made it; and that it holds at once."""

from typing import Any

import pytest

from ...clients import Stage
from ..settling import Browser
from .members import log, member

PATH = "/admin/settings"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "registrations": "open", "smtp_host": "localhost"}


async def change(browser: Browser, name: str, value: str) -> str:
    """Change a setting as a person does. Return what the page before the change says."""
    asked = await browser.send(f"{PATH}/{name}", PATH, value=value)
    assert asked.status == 200, asked.text
    answer = await browser.send(f"{PATH}/{name}", PATH, value=value, sure="true")
    assert answer.status == 302, answer.text
    return asked.text


async def test_a_change_is_made_after_its_effects_were_shown(stage: Stage) -> None:
    admin = await member(stage, "admin")
    await stage.account("one", approved_at=None)
    asked = await admin.send(f"{PATH}/registrations", PATH, value="closed")
    assert "People sign up with an invite alone" in asked.text
    assert "1 sign-ups wait for approval" in asked.text
    assert await log(stage) == []
    answer = await admin.send(f"{PATH}/registrations", PATH, value="closed", sure="true")
    assert answer.headers["Location"] == f"{PATH}?done=changed"
    assert (await stage.anybody().get("/api/v2/instance")).json["registrations"]["enabled"] is False
    page = (await admin.get(PATH)).text
    assert "open → closed" in page
    assert "chosen by staff; the configuration says open" in page
    answer = await admin.send(f"{PATH}/registrations", PATH, reset="true", sure="true")
    assert (await stage.anybody().get("/api/v2/instance")).json["registrations"]["enabled"] is True
    assert await log(stage) == [("admin", "change_setting", "registrations")] * 2
    details = await stage.rows("SELECT details FROM audit_log ORDER BY id")
    assert details == [[{"before": "open", "after": "closed"}], [{"before": "closed", "after": "open"}]]


async def test_texts_hold_at_once(stage: Stage) -> None:
    admin, ada = await member(stage, "admin"), await stage.person("ada")
    assert (await stage.anybody().get("/api/v2/instance")).json["title"] == "Troupe"
    await change(admin, "title", "The <b>Stage</b>")
    await change(admin, "description", "A place & more")
    await change(admin, "contact_account", "ada")
    told = (await stage.anybody().get("/api/v2/instance")).json
    assert (told["title"], told["description"]) == ("The <b>Stage</b>", "A place & more")
    assert told["contact"]["account"]["id"] == ada.id
    about = (await stage.anybody().get("/about")).text
    assert "The &lt;b&gt;Stage&lt;/b&gt;" in about
    assert "A place &amp; more" in about
    assert "The &lt;b&gt;Stage&lt;/b&gt;" in (await admin.get(PATH)).text


async def test_limits_hold_at_once(stage: Stage) -> None:
    admin = await member(stage, "admin")
    assert (await stage.anybody().get("/api/v1/timelines/public")).status == 200
    await change(admin, "public_preview", "false")
    await change(admin, "search_results", "1")
    assert (await stage.anybody().get("/api/v1/timelines/public")).status == 401
    ada = await stage.person("ada")
    await stage.account("adele")
    found = (await ada.get("/api/v2/search?q=ad&type=accounts&limit=10")).json["accounts"]
    assert len(found) == 1
    assert "X-RateLimit-Limit" not in (await ada.get("/api/v1/preferences")).headers
    assert "throttled again" in await change(admin, "rate_limits", "true")
    assert (await ada.get("/api/v1/preferences")).headers["X-RateLimit-Limit"] == "300"
    assert "guess passwords" in await change(admin, "rate_limits", "false")
    assert "fewer than 7" in await change(admin, "connections_per_address", "7")
    assert "beyond 16 MiB, before 256" in await change(admin, "timeline_memory", "16")


@pytest.mark.parametrize(("name", "value"), [("search_results", "201"), ("title", ""), ("log_level", "loud")])
async def test_what_it_can_not_be_is_said_on_the_page(stage: Stage, name: str, value: str) -> None:
    admin = await member(stage, "admin")
    for more in ({}, {"sure": "true"}):
        page = await admin.send(f"{PATH}/{name}", PATH, value=value, **more)
        assert page.status == 422
        assert f'role="alert">{name} is ' in page.text
    assert await log(stage) == []


async def test_a_refused_value_stays_in_its_field_alone(stage: Stage) -> None:
    page = await (await member(stage, "admin")).send(f"{PATH}/search_results", PATH, value="201")
    assert page.text.count('value="201"') == 1


async def test_a_setting_that_can_not_change_has_no_page(stage: Stage) -> None:
    admin = await member(stage, "admin")
    assert (await admin.send(f"{PATH}/port", PATH, value="80")).status == 404


async def test_a_stored_value_that_can_not_be_read_is_left(stage: Stage) -> None:
    """An earlier or a later version may have other bounds."""
    await stage.sql("INSERT INTO changed_settings VALUES ('search_results', 'many', now()), ('title', 'New', now())")
    await stage.http_context.live_settings.reload()
    settings = stage.http_context.settings
    assert (settings.search_results, settings.title) == (40, "New")
