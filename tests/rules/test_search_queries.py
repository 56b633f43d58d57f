"""The language of searches."""

from datetime import UTC, datetime, timedelta

import pytest

from troupe.actors.kernel import first_id_at
from troupe.actors.rules.search_queries import (
    ABOVE_EVERY_ID,
    MOST_PARTS,
    SearchedStatuses,
    SoughtMark,
    SoughtText,
    read_search,
)

DAY = first_id_at(datetime(2026, 1, 1, tzinfo=UTC))
NEXT = first_id_at(datetime(2026, 1, 2, tzinfo=UTC))
TEXT = SoughtText


def texts(*found: SoughtText) -> SearchedStatuses:
    return SearchedStatuses(texts=found)


def marks(*found: SoughtMark) -> SearchedStatuses:
    return SearchedStatuses(marks=found)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tea  -milk", texts(TEXT("tea"), TEXT("milk", True))),
        ("+tea", texts(TEXT("tea"))),
        ('"black tea" -"with milk"', texts(TEXT("black tea"), TEXT("with milk", True))),
        ("「緑 茶」«thé vert»", texts(TEXT("緑 茶"), TEXT("thé vert"))),
        ("-『緑 茶』 »grüner Tee«", texts(TEXT("緑 茶", True), TEXT("grüner Tee"))),
        ("is:quote", marks(SoughtMark("has", "quote"))),
        ('"black tea', texts(TEXT('"black'), TEXT("tea"))),
        ("#Tea -#Coffee", texts(TEXT("tea", is_hashtag=True), TEXT("coffee", True, is_hashtag=True))),
        ("C# #1", texts(TEXT("C#"), TEXT("#1"))),
        ("from:me -from:@bob@remote.example", marks(
            SoughtMark("from", "me"), SoughtMark("from", "@bob@remote.example", True)
        )),
        ('FROM:"me"', marks(SoughtMark("from", "me"))),
        ("has:media -is:reply has:POLL", marks(
            SoughtMark("has", "media"), SoughtMark("has", "reply", True), SoughtMark("has", "poll")
        )),
        ("language:en-GB language:pt-br", marks(SoughtMark("language", "en"), SoughtMark("language", "pt-br"))),
        ("in:library", SearchedStatuses(place="library")),
        ("-in:library", SearchedStatuses(place="public")),
        ("in:all", SearchedStatuses()),
        ("before:2026-01-01", SearchedStatuses(high=DAY)),
        ("-before:2026-01-01", SearchedStatuses(low=DAY)),
        ("after:2026-01-01", SearchedStatuses(low=NEXT)),
        ("-after:2026-01-01", SearchedStatuses(high=NEXT)),
        ("during:2026-01-01", SearchedStatuses(low=DAY, high=NEXT)),
        ("-during:2026-01-01", SearchedStatuses(without=((DAY, NEXT),))),
        ("after:2025-01-01 after:2026-01-01 before:2027-01-01", SearchedStatuses(
            low=NEXT, high=first_id_at(datetime(2027, 1, 1, tzinfo=UTC))
        )),
        ("before:1767225600000", SearchedStatuses(high=DAY)),
        ("after:2025-12-31T23:59:59.999Z", SearchedStatuses(low=DAY)),
        ("during:2026", SearchedStatuses(low=DAY, high=first_id_at(datetime(2027, 1, 1, tzinfo=UTC)))),
        ("during:2024-02 -before:2024", SearchedStatuses(
            low=first_id_at(datetime(2024, 2, 1, tzinfo=UTC)), high=first_id_at(datetime(2024, 3, 1, tzinfo=UTC))
        )),
        ("after:2025 before:2026-12", SearchedStatuses(
            low=DAY, high=first_id_at(datetime(2026, 12, 1, tzinfo=UTC))
        )),
        ("before:9999-12-31", SearchedStatuses()),
        ("before:0000 after:2026-13", texts(TEXT("before 0000"), TEXT("after 2026-13"))),
        ("before:1905-01-01", SearchedStatuses(high=0)),
        ("before:yesterday after:2026-13-01 during:", texts(
            TEXT("before yesterday"), TEXT("after 2026-13-01"), TEXT("during:")
        )),
        ("before:" + "9" * 30, texts(TEXT("before " + "9" * 30))),
        ("has:wings in:doubt language:klingonese", texts(
            TEXT("has wings"), TEXT("in doubt"), TEXT("language klingonese")
        )),
        ("to:bob re:invent https://example.com/a", texts(
            TEXT("to:bob"), TEXT("re:invent"), TEXT("https://example.com/a")
        )),
        ("  ", SearchedStatuses()),
    ],
)  # fmt: skip
def test_what_a_search_means(query: str, expected: SearchedStatuses) -> None:
    assert read_search(query) == expected


@pytest.mark.parametrize("query", ["word ", "-", '"', "from:me ", "«", "-before:2026-01-01 ", "\u3000", "#a "])
def test_a_search_has_a_largest_size(query: str) -> None:
    read = read_search(query * 100_000)
    assert len(read.texts) + len(read.marks) + len(read.without) <= MOST_PARTS
    assert 0 <= read.low <= ABOVE_EVERY_ID


def test_the_last_moment_of_a_day_belongs_to_it() -> None:
    read = read_search("during:2026-01-01")
    assert read.low <= first_id_at(datetime(2026, 1, 2, tzinfo=UTC) - timedelta(milliseconds=1)) < read.high
