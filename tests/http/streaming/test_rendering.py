"""Events as clients read them: each has a name, and is rendered and framed once for all who see it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from troupe.actors.events import EVENTS, FiltersChanged, PerspectiveChanged, StatusGone
from troupe.actors.rules.visibility import ANONYMOUS
from troupe.http.entities.rendered import Renderings
from troupe.http.streaming.channels import CHANNELS, NOTIFICATIONS
from troupe.http.streaming.frames import NAMES, Frames

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
USER, LIST = b'["user"]', b'["list","7"]'


@pytest.fixture
def frames() -> Frames:
    return Frames(Renderings(lambda: NOON), "https://t.example")


def test_the_events_with_a_name_are_those_that_streams_show() -> None:
    """Of the others, sessions alone learn."""
    shown = NOTIFICATIONS.union(*(channel.shows for channel in CHANNELS.values()))
    assert shown == NAMES.keys() == {*EVENTS} - {PerspectiveChanged}
    assert len({*NAMES.values()}) == len(NAMES)


def test_a_deletion_names_the_status(frames: Frames) -> None:
    assert frames.for_websocket(StatusGone(103), USER) == b'{"stream":["user"],"event":"delete","payload":"103"}'
    assert frames.for_sse(StatusGone(103), USER) == b"event: delete\ndata: 103\n\n"


def test_an_event_that_says_all_by_its_name_has_no_payload(frames: Frames) -> None:
    assert frames.for_websocket(FiltersChanged(), USER) == b'{"stream":["user"],"event":"filters_changed"}'
    assert frames.for_sse(FiltersChanged(), USER) == b"event: filters_changed\ndata: undefined\n\n"


def test_an_event_is_framed_once_for_each_stream(frames: Frames) -> None:
    event = StatusGone(103)
    first = frames.for_websocket(event, USER)
    assert frames.for_websocket(event, USER) is first
    assert frames.for_websocket(event, LIST) != first
    assert frames.for_sse(event, USER) is frames.for_sse(event, LIST)


def test_what_clients_do_not_see_has_no_frame(frames: Frames) -> None:
    with pytest.raises(TypeError, match="PerspectiveChanged"):
        frames.for_sse(PerspectiveChanged(ANONYMOUS), USER)
