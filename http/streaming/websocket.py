"""Streams over a WebSocket: many on one connection, opened and closed by text frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
import trio

from ...actors.kernel import NotAnswered
from ..dispatch import explain, finish, refuse_route
from ..errors import TRY_AGAIN, HttpError
from ..house import House
from ..parameters import nest
from ..request import Request
from .admission import admit, dismiss, secret_of
from .asgi import Message, Receive, Scope, Send, encoded, request_of, send_answer
from .channels import Query, Wanted, by_name, check
from .frames import Frames, refusal
from .session import End, Session
from .wire import Wire, text_frame, wire_of

# A ping goes out every 30 s: its answer is missing when the next one is due.
SILENCE_SECONDS = 60.0


async def serve_websocket(house: House, frames: Frames, scope: Scope, receive: Receive, send: Send) -> None:
    """One connection from its handshake to its end."""
    await receive()  # that somebody wants to connect
    request = request_of(house, scope)
    protocols: list[str] = scope["subprotocols"]
    try:
        first = Query.read(nest(request.query))
        session = await _admit(house, frames, request, first, protocols[0] if protocols else None)
    except Exception as error:
        answer = finish(explain(house, request, error, page=False), request, None)
        await send_answer(send, answer, "websocket.http")
        return
    try:
        if first.stream:
            await open_stream(session, first)
        await send(_acceptance(request, protocols))
        await _converse(session, wire_of(scope), receive, send)
    finally:
        dismiss(house, session)


async def refuse_websocket(house: House, scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a handshake where nothing streams."""
    await receive()
    answer = await refuse_route(house, request_of(house, scope), None)
    await send_answer(send, answer, "websocket.http")


async def _admit(house: House, frames: Frames, request: Request, first: Query, protocol: str | None) -> Session:
    secret = secret_of(request, protocol)
    if secret is None and (wanted := _named(first)) is not None and not wanted.channel.public:
        check(wanted, None)
    return await admit(house, request, secret, frames.for_websocket)


def _named(query: Query) -> Wanted | None:
    """The stream of the URL, if it is one: what is wrong with it is said in the open socket."""
    try:
        return by_name(query)
    except HttpError:
        return None


def _acceptance(request: Request, protocols: list[str]) -> Message:
    """Browsers want to hear one of the protocols that they offered, though it is a token."""
    return {
        "type": "websocket.accept",
        "subprotocol": protocols[0] if protocols else None,
        "headers": encoded((("X-Request-Id", request.request_id),)),
    }


async def _converse(session: Session, wire: Wire | None, receive: Receive, send: Send) -> None:
    if wire is not None:
        wire.expect_traffic(SILENCE_SECONDS)  # clients answer pings
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_listen, session, receive, nursery.cancel_scope)
        await _speak(session, wire, send)
        nursery.cancel_scope.cancel()


async def _speak(session: Session, wire: Wire | None, send: Send) -> None:
    with session.speaking:
        while (frame := await session.take()) is not None:
            if wire is not None:
                await wire.write(text_frame(frame))
            else:
                await send({"type": "websocket.send", "text": frame.decode()})
        if session.ended is not None:
            await send({"type": "websocket.close", "code": session.ended.code, "reason": session.ended.reason})


async def _listen(session: Session, receive: Receive, conversation: trio.CancelScope) -> None:
    while (message := await receive())["type"] != "websocket.disconnect":
        text = message.get("text")
        if text is None:
            session.end(End.BINARY)
        else:
            await _obey(session, text)
    conversation.cancel()


async def _obey(session: Session, text: str) -> None:
    """Do what a frame says. Whatever is no command is passed over, as by the reference server."""
    try:
        command: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    match command:
        case {"type": "subscribe"}:
            await open_stream(session, _query(command))
        case {"type": "unsubscribe"}:
            _close_stream(session, _query(command))
        case _:
            pass


def _query(command: Mapping[str, object]) -> Query | None:
    try:
        return Query.read(cast("Mapping[str, Any]", command))
    except HttpError:
        return None


async def open_stream(session: Session, query: Query | None) -> None:
    """Open a stream, or say in a frame why not."""
    try:
        await session.subscribe(by_name(query or Query()))
    except HttpError as error:
        session.say(refusal(error.text, error.status))
    except NotAnswered:
        session.say(refusal(TRY_AGAIN, 503))


def _close_stream(session: Session, query: Query | None) -> None:
    try:
        session.unsubscribe(by_name(query or Query()))
    except HttpError:
        session.say(refusal("Error unsubscribing from channel"))
