"""Which words of which texts a filter finds, and what it tells of them."""

# ruff: noqa: RUF001 - characters that look like others are what is tested

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.rules import filters
from troupe.actors.rules.filters import Filters, filter_text, says_something
from troupe.storage.filters import Filter, FilterKeyword, FilterStatus
from troupe.storage.media import Media
from troupe.storage.polls import Option, Poll
from troupe.storage.statuses import Status

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def status(content: str, **more: Any) -> Status:
    plain: dict[str, Any] = dict.fromkeys(Status.__dataclass_fields__)
    plain |= {"id": 103, "account_id": 7, "content": content, "spoiler_text": "", "media": (), **more}
    return Status(**plain)


def medium(description: str) -> Media:
    plain: dict[str, Any] = dict.fromkeys(Media.__dataclass_fields__)
    plain["description"] = description
    return Media(**plain)


def filtering(*keywords: str, whole_word: bool = True, **more: Any) -> Filter:
    entries = tuple(FilterKeyword(number, keyword, whole_word) for number, keyword in enumerate(keywords, 1))
    return replace(Filter(1, "x", ("home",), "warn", None, entries), **more)


def found(one: Status, *rows: Filter, now: datetime = NOON) -> list[str | None]:
    return [match.text for match in Filters(rows).matches(one, None, filter_text, now)]


# The keyword, the content, and what is found of it as a whole word and as a part of words.
WORDS = [
    ("cat", "a cat.", "cat", "cat"),
    ("cat", "concatenate", None, "cat"),
    ("cat", "Cat", "Cat", "Cat"),
    ("CAT", "tomcat cat", "cat", "cat"),
    ("cat", "cat_food", None, "cat"),
    ("cat", "9cat", None, "cat"),
    ("cat", "cat's", "cat", "cat"),
    ("cat", "<p>the</p><p>cat</p>", "cat", "cat"),
    ("two words", "Two words.", "Two words", "Two words"),
    ("two words", "two<br>words", "two words", "two words"),
    ("two words", "two  \u00a0words", "two words", "two words"),
    ("two words", "two wordsmiths", None, "two words"),
    ("two words", "two wordsmiths, two words", "two words", "two words"),
    ("#cat", "x#cat", "#cat", "#cat"),
    ("#cat", "#cats", None, "#cat"),
    ("cat!", "tomcat!", None, "cat!"),
    ("cat!", "cat!s", "cat!", "cat!"),
    ("!?", "what!?so", "!?", "!?"),
    ("straße", "STRASSE", "STRASSE", "STRASSE"),
    ("strasse", "die Straße dort", "Straße", "Straße"),
    ("ΟΔΟΣ", "οδός, οδος", "οδος", "οδος"),
    ("\u0438\u0306", "\u0439", "\u0439", "\u0439"),
    ("и", "й", None, None),
    ("кот", "Кот и котёнок", "Кот", "Кот"),
    ("कि", "किताब", None, "कि"),
    ("किताब", "एक किताब है", "किताब", "किताब"),
    ("猫", "黒猫です", None, "猫"),
    ("قط", "القط قط", "قط", "قط"),
    ("zebra", "ze\u200bbra", "zebra", "zebra"),
    ("zebra", "ze\u00adbra", "zebra", "zebra"),
    ("a & b", "a &amp; b", "a & b", "a & b"),
    ("example.com", '<a href="x"><span class="invisible">https://</span><span>example.com</span></a>',
        "example.com", "example.com"),
    ("😾", "no😾no", "😾", "😾"),
    ("cats", "I ❤\ufe0fcats", "cats", "cats"),
    ("❤\ufe0f", "I ❤ it", "❤", "❤"),
    ("❤", "I❤\ufe0f\u200d🔥it", "❤", "❤"),
    ("zebra", "ze\u061cb\u034fra\u3164", "zebra", "zebra"),
    ("кот", "ко\u180eт", "кот", "кот"),
    ("don't", "I don’t", "don’t", "don’t"),
    ("l’été", "l'été", "l'été", "l'été"),
    ("so “called”", 'so "called"', 'so "called"', 'so "called"'),
    ("e-mail", "my e\u2011mails", None, "e\u2011mail"),
    ("＃猫", "#猫、", "#猫", "#猫"),
    ("cat", "ｃａｔ！", "ｃａｔ", "ｃａｔ"),
    ("istanbul", "Straße, İSTANBUL", "İSTANBUL", "İSTANBUL"),
    ("ISPARTA", "ısparta", "ısparta", "ısparta"),
    ("🇷🇺", "🇧🇷🇺🇸", None, None),
    ("🇷🇺", "hi🇷🇺🇧🇷", "🇷🇺", "🇷🇺"),
    ("🇧🇷🇺🇸 wins", "🇧🇷🇺🇸 wins", "🇧🇷🇺🇸 wins", "🇧🇷🇺🇸 wins"),
    (".*", "anything", None, None),
    ("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("keyword", "content", "whole", "part"), WORDS)
def test_a_keyword_is_found_as_a_word_or_as_a_part(
    keyword: str, content: str, whole: str | None, part: str | None
) -> None:
    for whole_word, wanted in ((True, whole), (False, part)):
        told = found(status(content), filtering(keyword, whole_word=whole_word))
        assert told == ([] if wanted is None else [wanted])


def test_every_part_of_a_status_is_searched() -> None:
    poll = Poll(1, 7, False, False, 0, None, (Option("yes", 0), Option("a lion", 0)))
    one = status(
        "<p>a zebra</p>", spoiler_text="a giraffe", poll=poll,
        media=(medium("two gnus"), medium("")),
    )  # fmt: skip
    for keyword in ("zebra", "giraffe", "lion", "gnus"):
        assert found(one, filtering(keyword)) == [keyword]
    assert found(one, filtering("zebra yes", "giraffe a zebra", whole_word=False)) == []


def test_the_first_of_several_is_told_of_each_filter() -> None:
    one = status("a zebra and a big lion")
    rows = (filtering("lion", "big lion", "zebra", id=1), filtering("lion", id=2), filtering("gnu", id=3))
    matches = Filters(rows).matches(one, None, filter_text, NOON)
    assert [(match.filter.id, match.text) for match in matches] == [(1, "zebra"), (2, "lion")]


def test_a_status_is_named_by_its_id_or_by_that_of_a_boost() -> None:
    rows = (
        filtering("hello", id=1, statuses=(FilterStatus(1, 103),)),
        filtering(id=2, statuses=(FilterStatus(2, 104), FilterStatus(3, 103), FilterStatus(4, 9))),
    )
    named = Filters(rows).matches(status("hello"), 104, filter_text, NOON)
    assert [(match.text, match.status_ids) for match in named] == [("hello", (103,)), (None, (103, 104))]
    alone = Filters(rows).matches(replace(status("bye"), id=9), None, filter_text, NOON)
    assert [(match.filter.id, match.status_ids) for match in alone] == [(2, (9,))]


def test_an_expired_filter_finds_nothing() -> None:
    row = filtering("zebra", expires_at=NOON, statuses=(FilterStatus(1, 103),))
    assert found(status("zebra"), row, now=NOON - timedelta(seconds=1)) == ["zebra"]
    assert found(status("zebra"), row) == []


def test_a_text_is_read_once_until_it_is_edited() -> None:
    read: list[str] = []

    def reading(one: Status) -> filters.FilterText:
        read.append(one.content)
        return filter_text(one)

    compiled = Filters((filtering("zebra"),))
    for content, edited_at in (("zebra", None), ("counted again", None), ("lion", NOON), ("lion", NOON)):
        matches = compiled.matches(status(content, edited_at=edited_at), None, reading, NOON)
        assert bool(matches) == (edited_at is None)
    assert read == ["zebra", "lion"]


def test_what_is_found_is_forgotten_when_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "FOUND_KEPT", 2)
    read: list[int] = []

    def reading(one: Status) -> filters.FilterText:
        read.append(one.id)
        return filter_text(one)

    compiled = Filters((filtering("zebra"),))
    for id in (1, 2, 3, 3, 2, 1):
        compiled.matches(status("zebra", id=id), None, reading, NOON)
    assert read == [1, 2, 3, 1]


@pytest.mark.parametrize("keyword", ["", " ", "\u200b", "\u00ad\u200d", "\u2066\u2069 \ufeff"])
def test_a_keyword_that_nobody_sees_is_found_nowhere(keyword: str) -> None:
    assert not says_something(keyword)
    for whole_word in (True, False):
        assert found(status("anything"), filtering(keyword, whole_word=whole_word)) == []


def test_a_long_text_is_searched_up_to_a_length() -> None:
    inside, beyond = filters.TEXT_CHARACTERS - 10, filters.TEXT_CHARACTERS + 1
    assert found(status("a " * (inside // 2) + "zebra"), filtering("zebra")) == ["zebra"]
    assert found(status("a " * beyond + "zebra"), filtering("zebra")) == []
