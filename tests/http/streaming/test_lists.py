"""The stream of a list."""

import pytest

from ...checklist.rows import rows
from ...clients import Person, Stage
from .conftest import Edge


@pytest.fixture
async def list_id(ada: Person, bob: Person) -> str:
    """A list of Ada's with Bob on it."""
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    made = (await ada.post("/api/v1/lists", {"title": "friends"})).json["id"]
    await ada.post(f"/api/v1/lists/{made}/accounts", json={"account_ids": [bob.id]})
    return made


@rows("S236")
async def test_a_lists_stream_shows_its_members_alone(
    edge: Edge, stage: Stage, ada: Person, bob: Person, list_id: str
) -> None:
    cleo = await stage.person("cleo")
    await ada.post(f"/api/v1/accounts/{cleo.id}/follow")
    async with edge.socket(f"?stream=list&list={list_id}", ada.token) as stream:
        await stream.settle()
        await cleo.publish("not on it")
        shown = await bob.publish("on it")
        frame = await stream.hear()
        assert (frame["stream"], frame["event"], frame["payload"]["id"]) == (["list", list_id], "update", shown["id"])
        await ada.post(f"/api/v1/lists/{list_id}/accounts", json={"account_ids": [cleo.id]})
        later = await cleo.publish("on it now")
        assert (await stream.hear())["payload"]["id"] == later["id"]
        await bob.delete(f"/api/v1/statuses/{shown['id']}")
        assert (await stream.hear())["payload"] == shown["id"]


@rows("S237")
async def test_a_lists_stream_is_its_owners_alone(edge: Edge, bob: Person, list_id: str) -> None:
    async with edge.socket("", bob.token) as stream:
        await stream.say(type="subscribe", stream="list", list=list_id)
        assert await stream.hear() == {"error": "Not authorized to stream this list", "status": 401}
