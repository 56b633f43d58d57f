"""The link of a status that gets a card."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from troupe.actors.outgoing.targets import RequestTarget
from troupe.actors.rules import text
from troupe.actors.rules.links import link_of
from troupe.actors.rules.text import ContentType, MentionTarget
from troupe.storage.statuses import Status

NOTHING: dict[str, Any] = dict.fromkeys(Status.__dataclass_fields__) | {"media_ids": ()}
BASE = "https://troupe.example"


def status_with(**facts: Any) -> Status:
    """A status of which only these facts matter."""
    return Status(**(NOTHING | facts))


def status(source: str, content_type: ContentType = "text/plain") -> Status:
    """A status with this text."""
    bob = {"bob@far.example": MentionTarget("bob", "far.example", "https://far.example/@bob")}
    content = text.render(
        source, mentions=bob, tag_url=partial(text.tag_url, BASE), local_domain="troupe.example",
        content_type=content_type,
    )  # fmt: skip
    return status_with(content=content)


@pytest.mark.parametrize(
    ("source", "link"),
    [
        ("see https://a.example/x?a=b&c#d, and https://b.example", "https://a.example/x?a=b&c"),
        ("see http://Ä.example", "http://xn--4ca.example/"),
        ("@bob@far.example #tea https://a.example", "https://a.example/"),
        ("https://troupe.example/@ada/1 https://a.example", "https://a.example/"),
        ("https://troupe.example:8443/", "https://troupe.example:8443/"),
        ("@bob@far.example #tea", None),
        ("https://troupe.example/@ada/1", None),
        ("gopher://a.example", None),
        ("https://10.0.0.1/ https://[::1]/ http://2130706433/", None),
        ("no link", None),
    ],
)
def test_the_first_link_to_another_server(source: str, link: str | None) -> None:
    found = link_of(status(source), BASE)
    assert (found and found.url) == link


def test_links_behind_words_count_too() -> None:
    assert link_of(status("[tea](https://a.example/x)", "text/markdown"), BASE) == RequestTarget(
        "https", "a.example", 443, "/x"
    )


@pytest.mark.parametrize(
    "name",
    [
        '<a href="https://b.example/@ada">@ada@b.example</a>',
        '<a href="https://b.example/@ada">@<span>ada</span></a>',
        '@<a href="https://b.example/@ada">ada</a>',
        '<a href="https://b.example/tags/tea">#tea</a>',
        '#<a href="https://b.example/tags/tea">tea</a>',
        '<span>#</span><a href="https://b.example/t" class="mention hashtag">tea</a>',
    ],
)
def test_a_name_is_no_link_though_its_server_does_not_say_so(name: str) -> None:
    found = link_of(status_with(content=f'<p>so {name} <a href="https://a.example/x">#1 of #teas</a></p>'), BASE)
    assert (found and found.url) == "https://a.example/x"


def test_only_some_links_are_looked_at() -> None:
    own = " ".join(f"{BASE}/{number}" for number in range(10))
    assert link_of(status(f"{own} https://a.example"), BASE) is None


@pytest.mark.parametrize("shown", [{"media_ids": (1,)}, {"quote_state": "accepted"}, {"reblog_of_id": 1}])
def test_media_and_quotes_stand_in_the_place_of_a_card(shown: dict[str, object]) -> None:
    assert link_of(status_with(content=status("https://a.example").content, **shown), BASE) is None
