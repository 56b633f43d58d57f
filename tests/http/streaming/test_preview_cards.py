"""The card of a status reaches the streams that show it, once, and is no edit."""

from typing import Any

import pytest

from ...clients import Person, Stage
from ...previews.site import Site
from .conftest import Edge


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "link_previews": True, "test_hosts": ("site.test",)}


async def test_streams_show_a_status_again_when_its_card_comes(
    edge: Edge, stage: Stage, ada: Person, bob: Person, web: Site
) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    url = web.page("/tea", "<title>Tea</title>")
    held = web.hold("/tea")
    async with (
        edge.socket("?stream=user", bob.token) as home,
        edge.socket("?stream=public") as public,
        edge.socket("?stream=hashtag&tag=trio") as tagged,
    ):
        for stream in (home, public, tagged):
            await stream.settle()
        status = await ada.publish(f"see {url} #trio")
        for stream in (home, public, tagged):
            assert (await stream.hear())["event"] == "update"
        held.set()
        for stream in (home, public, tagged):
            frame = await stream.hear()
            shown = frame["payload"]
            assert (frame["event"], shown["id"], shown["card"]["title"]) == ("status.update", status["id"], "Tea")
            assert shown["edited_at"] is None
        await ada.delete(f"/api/v1/statuses/{status['id']}")
        for stream in (home, public, tagged):
            assert (await stream.hear())["event"] == "delete"
    assert (await bob.get("/api/v1/notifications")).json == []
    assert await stage.rows("SELECT FROM status_edits") == []
