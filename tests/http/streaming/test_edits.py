"""An edit reaches everyone who has the status, once."""

from ...clients import Person, Stage
from .conftest import Edge


async def test_an_edit_reaches_followers_boosters_followers_and_public_streams(
    edge: Edge, stage: Stage, ada: Person, bob: Person
) -> None:
    follower, cyd = await stage.person("dan"), await stage.person("cyd")
    await follower.post(f"/api/v1/accounts/{ada.id}/follow")
    await cyd.post(f"/api/v1/accounts/{bob.id}/follow")
    status = await ada.publish("one #trio")
    path = f"/api/v1/statuses/{status['id']}"
    await bob.post(f"{path}/reblog")
    async with (
        edge.socket("?stream=user", follower.token) as near,
        edge.socket("?stream=user", cyd.token) as far,
        edge.socket("?stream=public") as public,
        edge.socket("?stream=hashtag&tag=trio") as tagged,
    ):
        for stream in (near, far, public, tagged):
            await stream.settle()
        for _ in range(2):  # the second time nothing changes
            assert (await ada.put(path, {"status": "two #trio"})).status == 200
        await ada.delete(path)
        for stream in (near, far, public, tagged):
            frame = await stream.hear()
            assert (frame["event"], frame["payload"]["id"]) == ("status.update", status["id"])
            assert "two" in frame["payload"]["content"]
            assert (await stream.hear())["event"] == "delete"


async def test_the_mentioned_hear_of_it_among_their_notifications(edge: Edge, ada: Person, bob: Person) -> None:
    status = await ada.publish("psst @bob", visibility="direct")
    async with (
        edge.socket("?stream=user:notification", bob.token) as named,
        edge.socket("?stream=user:notification", ada.token) as author,
    ):
        await named.settle()
        await author.settle()
        await ada.put(f"/api/v1/statuses/{status['id']}", {"status": "psst again @bob"})
        frame = await named.hear()
        assert (frame["event"], frame["payload"]["id"]) == ("status.update", status["id"])
        await bob.post(f"/api/v1/statuses/{status['id']}/favourite")
        assert (await author.hear())["payload"]["type"] == "favourite"
