"""The largest posts of other servers are read beside the loop: one text and all its hashtags take long together."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from troupe.actors.federation import notes

from ..clients import Person, Stage
from .delivering import HOME, create, note, take
from .peer import ForeignServer

LONGEST_TAGS = [{"type": "Hashtag", "name": f"#{'ﷺ' * 250}{number}"} for number in range(100)]


@pytest.mark.parametrize(
    ("parts", "on_the_loop"),
    [
        ({"content": "<p>hello</p>"}, True),
        ({"content": "&" * 131_072}, False),
        ({"content": None, "contentMap": {"en": "&" * 131_072}}, False),
        ({"tag": LONGEST_TAGS}, False),
        ({"content": "&" * 131_072, "tag": LONGEST_TAGS}, False),
    ],
)
async def test_a_large_note_is_read_in_a_thread(
    stage: Stage,
    ada: Person,
    peer: ForeignServer,
    monkeypatch: pytest.MonkeyPatch,
    parts: dict[str, Any],
    on_the_loop: bool,
) -> None:
    read_note, on_loop = notes.read_note, list[bool]()

    def read(*given: Any) -> Any:
        on_loop.append(threading.current_thread() is threading.main_thread())
        return read_note(*given)

    monkeypatch.setattr(notes, "read_note", read)
    eve = peer.person("eve")
    mention = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    tags = [mention, *parts.get("tag", [])]
    changes: dict[str, Any] = parts | {"cc": [f"{HOME}/users/ada"], "tag": tags}
    await take(stage, create(eve, note(eve, **changes)))
    assert on_loop == [on_the_loop]
    assert len((await ada.get("/api/v1/notifications")).json) == 1
