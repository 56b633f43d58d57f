"""What the largest and worst texts cost, counted in characters and calls: no busy machine changes these figures."""

import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType
from typing import Any, cast

import pytest

from troupe.actors.activitypub.normalization import normalize
from troupe.actors.activitypub.notes import MOST_HASHTAGS, read_note
from troupe.actors.activitypub.vocabulary import PUBLIC
from troupe.actors.rules.filters import Filters, filter_text
from troupe.actors.rules.markup import HTML_CHARACTERS, sanitise
from troupe.actors.rules.text import MARKDOWN_CHARACTERS, render
from troupe.storage.filters import Filter, FilterKeyword
from troupe.storage.statuses import Status

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ADDRESS = "https://far.example/users/uma"
NOTE: dict[str, Any] = {"id": f"{ADDRESS}/1", "type": "Note", "attributedTo": ADDRESS, "to": [PUBLIC], "content": "x"}


def calls_of(work: Callable[[], object]) -> Counter[str]:
    """Return how often each function of Python or C was called, by its name."""
    calls = Counter[str]()

    def note(frame: FrameType, event: str, called: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1
        elif event == "c_call":
            calls[getattr(called, "__name__", "")] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("sign", ["&", "\xa0", "&&&&&&&x", "<", ">", "<p>&</p>", "<br>&&&", "<blockquote>" + "&" * 200])
def test_what_escaping_makes_long_is_cut_at_a_whole_element(sign: str) -> None:
    html = sanitise((sign * HTML_CHARACTERS)[:HTML_CHARACTERS])
    assert 0 < len(html) <= HTML_CHARACTERS
    assert sanitise(html) == html
    assert html.count("&") == html.count(";")
    assert html.count("<blockquote>") == html.count("</blockquote>")


def test_a_long_text_keeps_its_beginning_and_its_markup() -> None:
    html = sanitise("<p><em>begins</em> here</p>" + "<p>goes &amp; on</p>" * 400 + "&" * HTML_CHARACTERS)
    assert html.startswith("<p><em>begins</em> here</p><p>goes &amp; on</p>")
    assert html.count("<p>") == html.count("</p>") == 401


@pytest.mark.parametrize("tag", ["<b>", "<h1>", "<br>", "<ul><li>"])
def test_of_too_many_tags_only_the_first_are_looked_at(tag: str) -> None:
    calls = calls_of(lambda: sanitise(tag * 80_000))
    assert calls["_made_safe"] <= 2_001
    assert calls.total() < 150_000


@pytest.mark.parametrize("name", ["#tag{}", "# {}", "#", "#" + "\ufdfa" * 200 + "{}"])
def test_of_8000_hashtags_only_the_first_are_read(name: str) -> None:
    tags = [{"type": "Hashtag", "name": name.format(number)} for number in range(8_000)]
    calls = calls_of(lambda: read_note(normalize(NOTE | {"tag": tags}), None, NOW))
    assert calls["tag_name"] <= 2 * MOST_HASHTAGS
    assert calls.total() < 100_000


@pytest.mark.parametrize("name", ["to", "cc"])
def test_of_40000_addressees_only_the_first_are_read(name: str) -> None:
    addressees = [f"https://far.example/users/{number}" for number in range(40_000)]
    calls = calls_of(lambda: read_note(normalize(NOTE | {name: [PUBLIC, *addressees]}), None, NOW))
    assert calls["uri_of"] < 50_000


def test_markdown_of_thousands_of_signs_is_plain_text() -> None:
    source = ("- a\n" * MARKDOWN_CHARACTERS)[:MARKDOWN_CHARACTERS]
    html = render(source, mentions={}, tag_url=str, local_domain="troupe.test", content_type="text/markdown")
    assert html.startswith("<p>- a<br>- a<br>")


class LongStatus:
    """A stand-in with what filters read of a status."""

    id, edited_at, spoiler_text, poll, media = 1, None, "", None, ()

    def __init__(self, content: str) -> None:
        self.content = content


def filters_of(keywords: list[str], whole_word: bool) -> Filters:
    rows = [
        Filter(place, "t", ("home",), "warn", None, (FilterKeyword(place, keyword, whole_word),), ())
        for place, keyword in enumerate(keywords)
    ]
    return Filters(tuple(rows))


def found_in(filters: Filters, content: str) -> list[str | None]:
    status = cast(Status, LongStatus(content))
    return [match.text for match in filters.matches(status, None, filter_text, NOW)]


@pytest.mark.parametrize("whole_word", [True, False])
@pytest.mark.parametrize("text", ["a" * 60_000, "alpha beta " * 6_000, "ab" * 30_000, "&amp;" * 12_000])
def test_many_keywords_are_searched_for_in_one_pass(text: str, whole_word: bool) -> None:
    keywords = ["a" * (1 + number % 40) + "ab"[number % 2] for number in range(200)]
    calls = calls_of(lambda: found_in(filters_of(keywords, whole_word), text))
    assert calls["plain"] <= 2
    assert calls["find"] <= 20
    assert calls.total() < 60_000


def test_the_pass_finds_what_single_searches_find() -> None:
    text = "Straße, the HERS of ushers: she sells sea shells"
    keywords = ["he", "she", "hers", "ells", "sea shells", "strasse", "e, the", "zzz", "s", "ushers: s", *"abcdefghijk"]
    expected = [found_in(filters_of([keyword], whole_word=False), text) for keyword in keywords]
    assert found_in(filters_of(keywords, whole_word=False), text) == [one for found in expected for one in found]
