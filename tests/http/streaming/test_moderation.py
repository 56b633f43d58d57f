"""Streams of a user who may not sign in any more end at once; quotes of a suspended account are hidden."""

import pytest
from trio_websocket import ConnectionRejected

from troupe.actors.commands.moderation import Action

from ... import plain_http
from ...clients import Person, Stage
from .. import moderating
from .conftest import Edge


@pytest.mark.parametrize("action", ["disable", "suspend"])
async def test_its_streams_end(edge: Edge, stage: Stage, ada: Person, bob: Person, action: Action) -> None:
    async with (
        edge.socket("?stream=user", ada.token) as socket, edge.events("user", ada.token) as events,
        edge.socket("?stream=user", bob.token) as other,
    ):  # fmt: skip
        await socket.settle()
        await events.comment()
        await other.settle()
        await moderating.act(stage, ada.account, action)
        assert await socket.closing() == 1008
        await events.ends()
        await other.settle()
        with pytest.raises(ConnectionRejected) as refused:
            async with edge.socket("?stream=user", ada.token):
                pass
        assert refused.value.status_code == 403
        async with plain_http.async_client(base_url=edge.url) as client:
            answer = await client.get(f"/api/v1/streaming/user?access_token={ada.token}")
        assert (answer.status_code, answer.json()) == (403, {"error": "Your login is currently disabled"})
    await edge.quiet()


async def test_what_others_quote_of_it_is_hidden_and_shown_again(
    edge: Edge, stage: Stage, ada: Person, bob: Person
) -> None:
    status = await ada.publish("a needle")
    quote = await bob.publish("look", quoted_status_id=status["id"])
    async with edge.socket("?stream=public", bob.token) as socket:
        await socket.settle()
        for change, state in ((moderating.act, "unauthorized"), (moderating.undo, "accepted")):
            await change(stage, ada.account, "suspend")
            await bob.put(f"/api/v1/statuses/{quote['id']}", {"status": f"look, {state}"})
            shown = (await socket.hear())["payload"]
            assert (shown["content"], shown["quote"]["state"]) == (f"<p>look, {state}</p>", state)
    await edge.quiet()
