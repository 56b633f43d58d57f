"""The page of figures for staff: what users did, and what can't be counted in time."""

import pytest

from troupe.storage.engine.database import Connection
from troupe.storage.upkeep import dashboard

from ...clients import Stage
from .members import member

PATH = "/admin/figures"


async def test_what_users_did_is_shown(stage: Stage) -> None:
    mod, ada = await member(stage, "moderator", "mod"), await stage.person("ada")
    bob = await stage.person("bob")
    post = await ada.publish("hello")
    await bob.post(f"/api/v1/statuses/{post['id']}/favourite")
    page = await mod.get(PATH)
    today = stage.http_context.clock.now().strftime("%Y-%m-%d")
    assert [line for line in page.text.splitlines() if line.startswith("<rect") and f"<title>{today}: " in line]
    assert "New users: at most 3 on a day" in page.text
    assert "Favourites, boosts and replies: at most 1 on a day" in page.text
    assert f"<bdi>{stage.http_context.settings.local_domain}</bdi></dt><dd>1</dd>" in page.text, "posts by server"
    assert 'data-label="Same month" class="number">67 %</td>' in page.text, "mod only signed in to the pages"
    assert (await mod.get(f"{PATH}?days=365")).status == 422


async def test_figures_that_take_too_long_are_left_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(db: Connection, *args: object) -> None:
        await db.execute("SELECT pg_sleep(60)")

    mod = await member(stage, "moderator", "mod")
    monkeypatch.setattr(dashboard, "PATIENCE", 20)
    monkeypatch.setattr(dashboard, "measure", slow)
    page = await mod.get(PATH)
    assert page.status == 200
    assert page.text.count("takes too long to count") == 6, "five measures and the cohorts"
    assert "Posts by server" in page.text
