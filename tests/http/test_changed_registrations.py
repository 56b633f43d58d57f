"""Sign-ups after staff chose who may sign up: the choice comes before the configuration."""

from datetime import UTC, datetime
from typing import Any

import pytest

from troupe.storage.changed_settings import REGISTRATIONS, Registrations, put

from ..clients import Stage
from .registering import ACCOUNTS, OPEN, app_client, form

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def choose(stage: Stage, value: Registrations) -> None:
    context = stage.http_context
    await context.database.transact(put, REGISTRATIONS, value, NOW)
    await context.sign_ups.reload()


async def told(stage: Stage) -> tuple[bool, bool]:
    """What the server tells apps: sign-ups are possible, and staff approve them."""
    shown = (await stage.anybody().get("/api/v2/instance")).json["registrations"]
    return shown["enabled"], shown["approval_required"]


async def test_apps_are_told_of_a_change_at_once(stage: Stage) -> None:
    assert await told(stage) == (True, False)
    await choose(stage, "approval")
    assert await told(stage) == (True, True)
    await choose(stage, "closed")
    assert await told(stage) == (False, False)
    assert (await stage.anybody().get("/nodeinfo/2.0")).json["openRegistrations"] is False
    assert "Create an account" not in (await stage.anybody().get("/about")).text


async def test_sign_ups_follow_the_choice(stage: Stage) -> None:
    app = await app_client(stage)
    await choose(stage, "closed")
    refused = await app.post(ACCOUNTS, form())
    assert (refused.status, refused.json) == (403, {"error": "This action is not allowed"})
    await choose(stage, "approval")
    assert (await app.post(ACCOUNTS, form("kim", reason="because"))).status == 200
    assert await stage.rows("SELECT approved_at FROM users") == [[None]]
    await choose(stage, "open")
    assert (await app.post(ACCOUNTS, form("lea"))).status == 200
    assert await stage.rows("SELECT count(*) FROM users WHERE approved_at IS NOT NULL") == [[1]]


class TestWithoutMail:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "registrations": "closed"}

    async def test_sign_ups_stay_closed(self, stage: Stage) -> None:
        await choose(stage, "open")
        assert await told(stage) == (False, False)
        assert (await (await app_client(stage)).post(ACCOUNTS, form())).status == 403
