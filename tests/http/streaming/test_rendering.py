"""Events as clients read them: each has a name, and is rendered and framed once for all who see it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from troupe.actors.broadcast.events import EVENTS, FiltersChanged, NotificationsMerged, ReactionCounted, StatusGone
from troupe.actors.kernel import Event
from troupe.http.entities.rendered import Renderings
from troupe.http.streaming.channels import CHANNELS, NOTIFICATIONS
from troupe.http.streaming.frames import ABOUT_STREAM, NAMES, Frames, SseFrames, WebSocketFrames

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
USER, LIST = b'["user"]', b'["list","7"]'


@pytest.fixture
def websocket() -> Frames:
    return WebSocketFrames(Renderings(lambda: NOON), "https://t.example")


@pytest.fixture
def sse() -> Frames:
    return SseFrames(Renderings(lambda: NOON), "https://t.example")


def test_the_events_with_a_name_are_those_that_streams_show() -> None:
    shown = NOTIFICATIONS.union(*(channel.shows for channel in CHANNELS.values()))
    assert shown == NAMES.keys() - ABOUT_STREAM == {*EVENTS}
    assert len({*NAMES.values()}) == len(NAMES)


def test_a_deletion_names_the_status(websocket: Frames, sse: Frames) -> None:
    assert websocket.frame(StatusGone(103), USER) == b'{"stream":["user"],"event":"delete","payload":"103"}'
    assert sse.frame(StatusGone(103), USER) == b"event: delete\ndata: 103\n\n"


def test_an_event_that_says_all_by_its_name_has_no_payload(websocket: Frames, sse: Frames) -> None:
    assert websocket.frame(FiltersChanged(), USER) == b'{"stream":["user"],"event":"filters_changed"}'
    assert sse.frame(FiltersChanged(), USER) == b"event: filters_changed\ndata: undefined\n\n"


def test_a_merge_says_1(websocket: Frames, sse: Frames) -> None:
    frame = websocket.frame(NotificationsMerged(), USER)
    assert frame == b'{"stream":["user"],"event":"notifications_merged","payload":"1"}'
    assert sse.frame(NotificationsMerged(), USER) == b"event: notifications_merged\ndata: 1\n\n"


def test_no_line_end_of_unicode_is_in_an_event(websocket: Frames, sse: Frames) -> None:
    """Libraries lose an event that has one: they split at all line ends that Python or Unicode know."""
    name = "a\u2028b\u2029c\u0085d\x0be"
    frame = sse.frame(ReactionCounted(7, name, 1), USER).decode()
    assert len(frame.splitlines()) == 3
    _, data, _ = frame.splitlines()
    assert json.loads(data.removeprefix("data: "))["name"] == name
    sent = json.loads(websocket.frame(ReactionCounted(7, name, 1), USER))
    assert json.loads(sent["payload"])["name"] == name


def test_an_event_is_framed_once_for_each_stream(websocket: Frames, sse: Frames) -> None:
    event = StatusGone(103)
    first = websocket.frame(event, USER)
    assert websocket.frame(event, USER) is first
    assert websocket.frame(event, LIST) != first
    assert sse.frame(event, USER) is sse.frame(event, LIST)


def test_what_clients_do_not_see_has_no_frame(sse: Frames) -> None:
    with pytest.raises(TypeError, match="Event"):
        sse.frame(Event(), USER)
