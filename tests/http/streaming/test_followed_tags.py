"""Statuses with a followed hashtag on the `user` stream."""

import json

from ...clients import Person
from .conftest import Edge


async def test_statuses_with_a_followed_hashtag_come_change_and_go(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.events("user", ada.token) as stream:
        assert await stream.comment() == ")"
        await bob.publish("#tea, too early")
        for name in ("tea", "milk"):
            await ada.post(f"/api/v1/tags/{name}/follow")
        # The timeline has read its rows again by then: an edit in between would be part of the update that it finds.
        await ada.get("/api/v1/timelines/home")
        status = await bob.publish("#tea and #milk")
        path = f"/api/v1/statuses/{status['id']}"
        await bob.put(path, {"status": "#tea alone"})
        await bob.delete(path)
        # Before the next change, after which the timeline would look for deletions itself.
        heard = [await stream.hear() for _ in range(3)]
        await ada.post("/api/v1/tags/tea/unfollow")
        await bob.publish("#tea, too late")
        last = await bob.publish("#milk")
        heard.append(await stream.hear())
    assert [(name, data if name == "delete" else json.loads(data)["id"]) for name, data in heard] == [
        ("update", status["id"]), ("status.update", status["id"]), ("delete", status["id"]), ("update", last["id"]),
    ]  # fmt: skip
