"""What a device is told: in its reader's language, short, and with what apps need to find their account."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from troupe.actors.push.messages import FOLDER, PushReader, cut, language_of, message_of
from troupe.actors.shown.notifications import ShownNotification
from troupe.actors.shown.statuses import ShownStatus
from troupe.storage.accounts import Account
from troupe.storage.notifications import Notification
from troupe.storage.push_subscriptions import ALERTS
from troupe.storage.statuses import Status

from ..storage.conftest import NOW


def record(kind: Any, **values: Any) -> Any:
    """A record of which only these values are looked at."""
    return kind(**{name: values.get(name) for name in kind.__dataclass_fields__})


BOB = record(Account, id=2, username="bob", display_name="Bob", note="<p>Tea &amp; cake</p><p>more</p>")


def told(type: str, sender: Account = BOB, **status: Any) -> ShownNotification:
    notification = Notification(2**62, 1, sender.id, type, 3 if status else None, NOW, "group")
    shown = ShownStatus(record(Status, **{"spoiler_text": ""} | status), sender) if status else None
    return ShownNotification(notification, sender, shown)


def message(shown: ShownNotification, locale: str | None = "en") -> Any:
    return json.loads(message_of(shown, PushReader("secret", locale), "https://t.example/bob.png"))


def test_a_message_has_what_apps_look_for() -> None:
    assert message(told("mention", content="<p>hello &lt;you&gt;</p>")) == {
        "access_token": "secret", "preferred_locale": "en", "notification_id": 2**62, "notification_type": "mention",
        "icon": "https://t.example/bob.png", "title": "Bob mentioned you", "body": "hello <you>",
    }  # fmt: skip


def test_the_body_is_the_warning_else_the_text_else_the_bio() -> None:
    assert message(told("mention", content="<p>text</p>", spoiler_text="beware"))["body"] == "beware"
    assert message(told("mention", content="<p>text</p>"))["body"] == "text"
    assert message(told("follow"))["body"] == "Tea & cake\n\nmore"


def test_a_long_text_is_cut_and_a_short_one_is_not() -> None:
    assert message(told("mention", content="x" * 140))["body"] == "x" * 140
    assert message(told("mention", content="x" * 141))["body"] == "x" * 137 + "..."
    assert cut("ab cdef", 6) == "ab..."


@pytest.mark.parametrize("emoji", ["\U0001f1e9\U0001f1ea", "👩‍👩‍👧", "👍🏽", "e\u0301"])
def test_no_half_of_a_character_is_left(emoji: str) -> None:
    assert message(told("mention", content="x" * 136 + emoji + "yyyy"))["body"] == "x" * 136 + "..."
    fits = "x" * (137 - len(emoji)) + emoji
    assert message(told("mention", content=fits + "yyyy"))["body"] == f"{fits}..."


def test_a_name_that_another_server_made_long_is_cut() -> None:
    long = replace(BOB, display_name="b" * 2000)
    assert len(message(told("follow", long))["title"]) < 150
    assert len(message_of(told("follow", long), PushReader("x" * 64, "en"), "i" * 200)) < 3800


def test_an_account_without_a_name_is_called_by_its_username() -> None:
    assert message(told("follow", replace(BOB, display_name=" ")))["title"] == "bob follows you now"
    assert message(told("follow", replace(BOB, display_name="$name\n${x}")))["title"] == "$name ${x} follows you now"


@pytest.mark.parametrize("language", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_every_language_has_a_title_for_each_alert(language: str) -> None:
    lines = (FOLDER / f"{language}.txt").read_text("utf-8").splitlines()
    assert {line.partition(": ")[0] for line in lines} == {*ALERTS}
    titles = {message(told(type), language)["title"] for type in ALERTS}
    assert len(titles) == len(ALERTS)
    assert all("Bob" in title for title in titles)


def test_readers_are_spoken_to_in_their_language_as_far_as_there_is_one() -> None:
    assert message(told("mention"), "de")["title"] == "Bob hat dich erwähnt"
    assert message(told("mention"), "de-AT")["preferred_locale"] == "de-AT"
    assert [language_of(one) for one in ("de-AT", "DE", "xx", None, "")] == ["de", "de", "en", "en", "en"]
    assert message(told("mention"), None)["preferred_locale"] == "en"
