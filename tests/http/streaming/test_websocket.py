"""Streams over WebSockets: what comes, what is refused, and how connections end."""

import pytest
import trio
from trio_websocket import ConnectionRejected

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.moves import MoveAway, MoveBack
from troupe.http.streaming import websocket

from ...clients import Person, Stage
from .conftest import PATIENCE, Edge, open_deaf, read_to_the_end

WITHOUT_NOTIFICATIONS = ("read:statuses", "write")


async def test_a_follower_sees_a_status_and_its_end(edge: Edge, ada: Person, follower: Person) -> None:
    async with edge.socket("?stream=user", follower.token) as stream:
        await stream.settle()
        status = await ada.publish("hello")
        frame = await stream.hear()
        assert (frame["stream"], frame["event"]) == (["user"], "update")
        assert frame["payload"]["id"] == status["id"]
        assert frame["payload"]["account"]["id"] == ada.id
        assert frame["payload"]["favourited"] is False
        await ada.delete(f"/api/v1/statuses/{status['id']}")
        assert await stream.hear() == {"stream": ["user"], "event": "delete", "payload": status["id"]}


async def test_two_devices_get_the_same_in_the_same_order(edge: Edge, ada: Person, follower: Person) -> None:
    async with (
        edge.socket("?stream=user", follower.token) as phone,
        edge.socket("?stream=user", follower.token) as laptop,
    ):
        await phone.settle()
        await laptop.settle()
        published = [(await ada.publish(f"number {number}"))["id"] for number in range(5)]
        for stream in (phone, laptop):
            assert [(await stream.hear())["payload"]["id"] for _ in published] == published


async def test_notifications_come_on_both_streams_of_the_account(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=user:notification", ada.token) as stream:
        await stream.settle()
        await bob.post(f"/api/v1/accounts/{ada.id}/follow")
        frame = await stream.hear()
        assert (frame["stream"], frame["event"]) == (["user:notification"], "notification")
        assert (frame["payload"]["type"], frame["payload"]["account"]["id"]) == ("follow", bob.id)
        await stream.subscribe("user")
        await bob.publish("@ada hello")
        heard = [await stream.hear(), await stream.hear()]
        assert sorted(frame["stream"][0] for frame in heard) == ["user", "user:notification"]
        assert {frame["payload"]["type"] for frame in heard} == {"mention"}


async def test_without_the_scope_notifications_stay_away(edge: Edge, stage: Stage, bob: Person) -> None:
    ada = await stage.person("ada", WITHOUT_NOTIFICATIONS)
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        await bob.post(f"/api/v1/accounts/{ada.id}/follow")
        status = await ada.publish()
        assert (await stream.hear())["payload"]["id"] == status["id"]


@pytest.mark.parametrize("way", ["header", "query", "protocol"])
async def test_a_token_may_come_in_three_ways(edge: Edge, ada: Person, way: str) -> None:
    query = f"?stream=user&access_token={ada.token}" if way == "query" else "?stream=user"
    token = ada.token if way == "header" else None
    async with edge.socket(query, token, ada.token if way == "protocol" else None) as stream:
        assert stream.connection.subprotocol == (ada.token if way == "protocol" else None)
        await stream.settle()
        status = await ada.publish()
        assert (await stream.hear())["payload"]["id"] == status["id"]


@pytest.mark.parametrize(
    "lines", [["Connection: Upgrade", "Connection: keep-alive"], ["Connection: keep-alive", "connection: upgrade"]]
)
async def test_lists_of_a_handshake_may_have_several_lines(edge: Edge, ada: Person, lines: list[str]) -> None:
    """Proxies and extensions of browsers add lines (RFC 9110, section 5.3)."""
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    protocols = [f"Sec-WebSocket-Protocol: {ada.token}", "Sec-WebSocket-Protocol: mastodon"]
    head = ["GET /api/v1/streaming?stream=user HTTP/1.1", "Host: localhost", *lines, "Upgrade: websocket", key]
    async with await trio.open_tcp_stream("127.0.0.1", edge.port) as stream:
        await stream.send_all("\r\n".join([*head, "Sec-WebSocket-Version: 13", *protocols, "", ""]).encode())
        with trio.fail_after(PATIENCE):
            answer = await stream.receive_some()
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert f": {ada.token}\r\n".encode() in answer, "the protocol that was chosen"


async def test_the_header_goes_before_the_query_and_the_query_before_the_protocol(edge: Edge, ada: Person) -> None:
    async with edge.socket("?access_token=nonsense", ada.token, "nonsense") as stream:
        await stream.settle()
    async with edge.socket(f"?access_token={ada.token}", protocol="nonsense") as stream:
        await stream.settle()
    with pytest.raises(ConnectionRejected):
        async with edge.socket(f"?access_token={ada.token}", "nonsense"):
            pass


@pytest.mark.parametrize("path", ["/api/v1/streaming/", "/api/v1/streaming/user", "/api/v1/streaming"])
async def test_the_path_of_a_socket_does_not_matter(edge: Edge, ada: Person, path: str) -> None:
    async with edge.socket(token=ada.token, path=path) as stream:
        await stream.settle()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?stream=user", b"Missing access token"),
        ("?stream=list&list=1", b"Missing access token"),
        ("?access_token=nonsense", b"Invalid access token"),
        ("?stream=public&access_token=nonsense", b"Invalid access token"),
    ],
)
async def test_a_handshake_without_a_good_token_is_refused(edge: Edge, query: str, text: bytes) -> None:
    with pytest.raises(ConnectionRejected) as refused:
        async with edge.socket(query):
            pass
    assert refused.value.status_code == 401
    assert refused.value.body == b'{"error":"%b"}' % text


async def test_an_app_is_no_user_and_a_disabled_user_none_either(edge: Edge, stage: Stage) -> None:
    disabled = await stage.person("disabled")
    await stage.sql("UPDATE users SET disabled_at = now()")
    for token, status in ((await stage.token(None), 401), (disabled.token, 403)):
        with pytest.raises(ConnectionRejected) as refused:
            async with edge.socket(token=token):
                pass
        assert refused.value.status_code == status


async def test_a_move_ends_the_streams_of_its_account(edge: Edge, stage: Stage, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        await stage.http_context.runtime.ask(account_address(ada.account.id), MoveAway(bob.account.id))
        assert await stream.closing() == 1008
    with pytest.raises(ConnectionRejected) as refused:
        async with edge.socket("?stream=user", ada.token):
            pass
    assert refused.value.status_code == 403
    await stage.http_context.runtime.ask(account_address(ada.account.id), MoveBack())
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()


async def test_public_streams_need_no_token(edge: Edge, ada: Person) -> None:
    async with edge.socket("?stream=public:local") as stream:
        await stream.say(type="subscribe", stream="user")
        assert await stream.hear() == {"error": "Missing access token", "status": 401}
        status = await ada.publish()
        frame = await stream.hear()
        assert (frame["stream"], frame["payload"]["id"]) == (["public:local"], status["id"])


class TestWithoutPreview:
    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"rate_limits": False, "public_preview": False}

    async def test_other_streams_need_a_token(self, edge: Edge, ada: Person) -> None:
        with pytest.raises(ConnectionRejected):
            async with edge.socket("?stream=public"):
                pass
        async with edge.socket("?stream=public", ada.token) as stream:
            await stream.settle()


@pytest.mark.parametrize(
    ("frame", "answer"),
    [
        ({"stream": "nonsense"}, {"error": "Unknown stream type", "status": 400}),
        ({}, {"error": "Unknown stream type", "status": 400}),
        ({"stream": ["user"]}, {"error": "Unknown stream type", "status": 400}),
        ({"stream": "hashtag"}, {"error": "Missing tag name parameter", "status": 400}),
        ({"stream": "hashtag:local", "tag": "#"}, {"error": "Missing tag name parameter", "status": 400}),
        ({"stream": "list"}, {"error": "Missing list name parameter", "status": 400}),
        ({"stream": "list", "list": 7}, {"error": "Not authorized to stream this list", "status": 401}),
        (
            {"stream": "user:notification"},
            {"error": "Access token does not have the required scopes", "status": 401},
        ),
        ({"type": "unsubscribe", "stream": "nonsense"}, {"error": "Error unsubscribing from channel"}),
    ],
)
async def test_what_goes_wrong_is_said_in_the_open_socket(
    edge: Edge, stage: Stage, frame: dict[str, object], answer: object
) -> None:
    ada = await stage.person("ada", WITHOUT_NOTIFICATIONS)
    async with edge.socket(token=ada.token) as stream:
        await stream.say(**({"type": "subscribe"} | frame))
        assert await stream.hear() == answer
        await stream.subscribe("user")
        status = await ada.publish()
        assert (await stream.hear())["payload"]["id"] == status["id"]


async def test_a_tag_that_nothing_can_have_is_refused_and_not_repeated(edge: Edge, ada: Person) -> None:
    refusal = {"error": "The tag name is too long", "status": 400}
    async with edge.socket(f"?stream=hashtag&tag={'x' * 257}") as stream:
        assert await stream.hear() == refusal
        await stream.say(type="subscribe", stream="hashtag:local", tag="x" * 60_000)
        assert await stream.hear() == refusal
        await stream.subscribe("hashtag", tag="#" + "x" * 255)
        status = await ada.publish("#" + "x" * 255)
        frame = await stream.hear()
        assert (frame["stream"], frame["payload"]["id"]) == (["hashtag", "#" + "x" * 255], status["id"])


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "subscribe", "stream": "x" * 60_000},
        {"type": "subscribe", "stream": "list", "list": "x" * 60_000},
        {"type": "subscribe", "stream": "list", "list": "7" * 60_000},
        {"type": "unsubscribe", "stream": "x" * 60_000},
        {"type": "unsubscribe", "stream": "hashtag", "tag": "x" * 60_000},
    ],
)
async def test_no_refusal_repeats_what_was_asked_for(edge: Edge, ada: Person, frame: dict[str, str]) -> None:
    async with edge.socket(token=ada.token) as stream:
        await stream.say(**frame)
        answer = await stream.hear()
        assert answer["error"]
        assert len(str(answer)) < 200


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", "7", '{"type":"dance"}', '{"type":"unsubscribe","stream":"user"}']
)
async def test_what_is_no_command_is_passed_over(edge: Edge, ada: Person, text: str) -> None:
    async with edge.socket(token=ada.token) as stream:
        await stream.connection.send_message(text)
        await stream.settle()


async def test_subscribing_twice_is_subscribing_once(edge: Edge, ada: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.subscribe("user")
        published = [(await ada.publish(text))["id"] for text in ("one", "two")]
        assert [(await stream.hear())["payload"]["id"] for _ in published] == published


async def test_an_unsubscribed_stream_is_silent(edge: Edge, ada: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.subscribe("public")
        await stream.say(type="unsubscribe", stream="user")
        await stream.settle()
        published = [(await ada.publish(text))["id"] for text in ("one", "two")]
        heard = [await stream.hear() for _ in published]
        assert [(frame["stream"], frame["payload"]["id"]) for frame in heard] == [(["public"], id) for id in published]


async def test_a_hashtags_stream_shows_the_hashtag_alone(edge: Edge, ada: Person) -> None:
    async with edge.socket(token=ada.token) as stream:
        await stream.subscribe("hashtag", tag="Café")
        await stream.subscribe("hashtag:local", tag="tea")
        await ada.publish("neither")
        coffee, tea = await ada.publish("#CAFÉ"), await ada.publish("#Tea")
        heard = [await stream.hear(), await stream.hear()]
        assert [frame["stream"] for frame in heard] == [["hashtag", "Café"], ["hashtag:local", "tea"]]
        assert [frame["payload"]["id"] for frame in heard] == [coffee["id"], tea["id"]]


async def test_streams_of_elsewhere_and_of_media_leave_the_rest_out(edge: Edge, ada: Person) -> None:
    async with edge.socket(token=ada.token) as stream:
        for name in ("public:remote", "public:media", "public:remote:media", "public:local:media", "direct"):
            await stream.subscribe(name)
        await stream.subscribe("public")
        status = await ada.publish()
        frame = await stream.hear()
        assert (frame["stream"], frame["payload"]["id"]) == (["public"], status["id"])


async def test_a_block_holds_in_streams_that_are_open(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=public", bob.token) as blocker, edge.socket("?stream=public", ada.token) as blocked:
        await blocker.settle()
        await blocked.settle()
        await bob.post(f"/api/v1/accounts/{ada.id}/block")
        hidden, shown = await ada.publish("hidden"), await bob.publish("shown")
        assert (await blocker.hear())["payload"]["id"] == shown["id"]
        assert (await blocked.hear())["payload"]["id"] == hidden["id"]
        await bob.post(f"/api/v1/accounts/{ada.id}/unblock")
        again = await ada.publish("again")
        assert (await blocker.hear())["payload"]["id"] == again["id"]
        assert (await blocked.hear())["payload"]["id"] == again["id"]


async def test_a_binary_frame_closes_the_socket(edge: Edge, ada: Person) -> None:
    async with edge.socket(token=ada.token) as stream:
        await stream.connection.send_message(b"\x00")
        assert await stream.closing() == 1003
    await edge.quiet()


async def test_a_client_that_hangs_up_leaves_nothing_behind(edge: Edge, ada: Person) -> None:
    with trio.CancelScope() as gone:
        async with edge.socket("?stream=user", ada.token) as stream:
            await stream.subscribe("public")
            await stream.subscribe("hashtag", tag="tea")
            assert edge.subscribers() == 3
            gone.cancel()  # the connection is dropped without a word
            await trio.lowlevel.checkpoint()
    await edge.quiet()


async def test_a_client_that_says_goodbye_leaves_nothing_behind(edge: Edge, ada: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
    await edge.quiet()


async def test_a_revoked_token_takes_its_streams_with_it(edge: Edge, stage: Stage, ada: Person) -> None:
    second = await stage.token(ada.account)
    async with edge.socket("?stream=user", ada.token) as phone, edge.socket("?stream=user", second) as laptop:
        await phone.settle()
        await laptop.settle()
        row = await stage.http_context.tokens.find(stage.http_context.database, ada.token or "")
        assert row is not None
        client = {"client_id": await _client_id(stage, row.application_id), "client_secret": "application secret"}
        reply = await ada.post("/oauth/revoke", {"token": ada.token, **client})
        assert reply.status == 200, reply.text
        assert await phone.closing() == 1008
        with pytest.raises(ConnectionRejected):
            async with edge.socket("?stream=user", ada.token):
                pass
        await laptop.settle()
    await edge.quiet()


async def test_a_closing_house_ends_every_stream(edge: Edge, stage: Stage, ada: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as own, edge.socket() as anonymous:
        await own.settle()
        await anonymous.settle()
        stage.http_context.streams.close_all()
        assert await own.closing() == 1012
        assert await anonymous.closing() == 1012
        async with edge.socket() as late:
            assert await late.closing() == 1012
    await edge.quiet()


async def test_a_client_that_answers_no_ping_is_cut(edge: Edge, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "READ_TIMEOUT", 0.1)
    async with await open_deaf(edge, f"/api/v1/streaming?stream=user&access_token={ada.token}") as silent:
        await read_to_the_end(silent)
        await edge.quiet()


async def _client_id(stage: Stage, application_id: int) -> str:
    found = await stage.http_context.database.read(
        lambda db: db.fetchval("SELECT client_id FROM applications WHERE id = $1", application_id)
    )
    return str(found)
