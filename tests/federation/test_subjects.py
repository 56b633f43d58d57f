"""The subjects of activities: those with the same one keep their order when one of them is put aside."""

from __future__ import annotations

from typing import Any

import pytest

from troupe.actors.activitypub.normalization import normalize
from troupe.actors.federation.inbox import subject_of

EVE, ADA, POST = "https://peer.test/eve", "https://home.test/users/ada", "https://home.test/users/ada/statuses/1"
FOLLOW = {"id": f"{EVE}#follows/1", "type": "Follow", "actor": EVE, "object": ADA}
ASKED = {"id": f"{ADA}#follows/1", "type": "Follow", "actor": ADA, "object": EVE}
LIKE = {"id": f"{EVE}#likes/1", "type": "Like", "actor": EVE, "object": POST}


@pytest.mark.parametrize(
    ("type", "named", "subject"),
    [
        ("Follow", ADA, ADA),
        ("Follow", [{"id": ADA}], ADA),
        ("Block", ADA, ADA),
        (["Like", "EmojiReact"], POST, POST),
        ("Announce", [POST], POST),
        ("Add", {"type": "Note", "id": POST}, POST),
        ("Remove", POST, POST),
        ("Update", {"type": "Note", "id": POST}, POST),
        ("Undo", FOLLOW, ADA),
        ("Undo", [LIKE], POST),
        ("Undo", {"type": "Accept", "object": ASKED}, ADA),
        ("Accept", ASKED, ADA),
        ("Reject", ASKED["id"], ADA),
        ("Undo", FOLLOW["id"], None),
        ("Undo", {"type": "Undo", "object": FOLLOW}, None),
        ("Create", {"type": "Note", "id": POST}, None),
        ("Delete", POST, None),
        ("Follow", 7, None),
        ("Accept", None, None),
        ("View", POST, None),
    ],
)
def test_the_subject_of_an_activity(type: Any, named: Any, subject: str | None) -> None:
    activity = normalize({"id": f"{EVE}#1", "type": type, "actor": EVE, "object": named})
    assert subject_of(activity) == subject
