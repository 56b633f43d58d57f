"""Streams of conversations and of hashtags."""

import json

from ...checklist.rows import rows
from ...clients import Person
from .conftest import Edge


async def test_the_direct_stream_shows_conversations_alone(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=direct", bob.token) as stream:
        await stream.settle()
        letter = await ada.publish("psst @bob", visibility="direct")
        frame = await stream.hear()
        told = json.loads(frame["payload"])
        assert (frame["stream"], frame["event"]) == (["direct"], "conversation")
        assert (told["unread"], told["last_status"]["id"]) == (True, letter["id"])
        await ada.publish("@bob in public")
        await bob.post(f"/api/v1/conversations/{told['id']}/read")
        read = json.loads((await stream.hear())["payload"])
        assert (read["id"], read["unread"]) == (told["id"], False)


@rows("S239")
async def test_a_deletion_reaches_hashtags_and_not_what_never_had_it(edge: Edge, ada: Person) -> None:
    async with edge.socket("?stream=hashtag&tag=Tea", ada.token) as stream:
        await stream.settle()
        hidden = await ada.publish("#tea in private", visibility="private")
        await ada.delete(f"/api/v1/statuses/{hidden['id']}")
        shown = await ada.publish("#tea for all")
        assert (await stream.hear())["payload"]["id"] == shown["id"]
        await ada.delete(f"/api/v1/statuses/{shown['id']}")
        assert await stream.hear() == {"stream": ["hashtag", "Tea"], "event": "delete", "payload": shown["id"]}
