"""Combining marks are bounded; no script that people write in loses any, and no character is counted differently."""

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.rules import lengths, text
from troupe.actors.rules.combining_marks import MOST_MARKS, bounded
from troupe.actors.rules.limits import TEXT_CODE_POINTS
from troupe.http.intake.request import LARGEST_BODY

ACUTE = "\u0301"

LEGITIMATE = {
    "Vietnamese": "Tiếng Việt có dấu: ổ, ặ, ữ",
    "polytonic Greek": "ᾧ ᾂ ΐ",
    "Thai": "น้ำ ที่ เก็บ กี๊",
    "Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים שּׁ֥͏ֽ",
    "Arabic": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
    "Devanagari": "क्षेत्र र्त्स्न्य श्रीँ",
    "Tamil": "க்ஷ்ரௌ",
    "Burmese": "ကျွန်ုပ်တို့၏",
    "Khmer": "ខ្ញុំស្រឡាញ់",
    "Tibetan": "བསྒྲུབས་ ཧྐྵྨླྺྼྻྂ",
    "phonetics": "ɔ̃̀ t̪͡s̪ k͡p̚ ẽ̞̋",
    "emoji": "👩🏽‍❤️‍💋‍👨🏻 🏳️‍🌈 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿 👨‍👩‍👧‍👦",
}  # fmt: skip


def longest_stack(written: str) -> int:
    longest = here = 0
    for sign in written:
        here = here + 1 if unicodedata.category(sign).startswith("M") else 0
        longest = max(longest, here)
    return longest


@pytest.mark.parametrize("script", LEGITIMATE)
def test_what_people_write_stays_as_it_is(script: str) -> None:
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, LEGITIMATE[script])
        assert text.trimmed(written) == written


def test_a_stack_keeps_its_first_marks() -> None:
    assert bounded("z" + ACUTE * 100 + "y" + ACUTE) == "z" + ACUTE * MOST_MARKS + "y" + ACUTE
    assert bounded(ACUTE * 100) == ACUTE * MOST_MARKS


@pytest.mark.parametrize("between", ["\u200d", "\u200c", "\u200d\u200d", "\U000e0067"])
def test_what_cannot_be_seen_between_marks_does_not_end_a_stack(between: str) -> None:
    kept = bounded("z" + (ACUTE + between) * 100)
    assert kept.count(ACUTE) == MOST_MARKS
    assert kept.count(between) >= 50


@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown", "text/html"])
@pytest.mark.parametrize(
    "between", ["", "<b></b>", "<i>\u200d</i>", "&zwj;", "</p><p>", "</strong><strong>", "<!-- -->", "**"]
)
def test_no_markup_makes_a_taller_stack(content_type: text.ContentType, between: str) -> None:
    for mark in (ACUTE, "&#x301;"):
        shown = text.render(
            "z" + (mark * 6 + between) * 20, mentions={}, tag_url=str, local_domain="here", content_type=content_type
        )
        seen = text.plain(shown).replace("\u200d", "").replace("\n", "")
        stacks = [longest_stack(word) for word in seen.split("<")]
        assert max(stacks) <= MOST_MARKS
        assert text.sanitise(shown) == shown or content_type == "text/plain"


STRANGE = st.text(
    alphabet="ax \n\u0301\u20e3\ufe0f\u200d\u200c\u034f\u0915\u0937\u093f\u0e01\u0e47\u0f67\u0f90\u102b"
    "\u1100\u1161\u11a8\U0001f469\U0001f3fd\U0001f1e6\U000e0067\u0600\u2060\u00ad\u200b\u05e9\u05c1",
    max_size=60,
)


@given(STRANGE, st.integers(1, 12))
def test_characters_are_counted_as_before(written: str, times: int) -> None:
    tall = written.replace("\u0301", "\u0301" * times)
    kept = bounded(tall)
    assert lengths.graphemes(kept) == lengths.graphemes(tall)
    assert bounded(kept) == kept


@pytest.mark.parametrize("unit", [ACUTE, f"{ACUTE}\u200d", "\u200d", *(f"a{ACUTE * marks}" for marks in (1, 7, 8, 9))])
def test_the_largest_body_of_marks_takes_no_time(unit: str) -> None:
    body = "z" + unit * (LARGEST_BODY // len(unit.encode()))
    assert min(_seconds_of(bounded, body) for _ in range(3)) < 0.05


def test_no_stack_is_tall_behind_the_longest_text_that_is_stored() -> None:
    kept = bounded("z" * TEXT_CODE_POINTS + f"y{ACUTE}\u200d" + f"{ACUTE}\u200d" * 100 + "x")
    assert longest_stack(kept) == 1
    assert kept.endswith(f"y{ACUTE}x")


def _seconds_of(call: Callable[[str], str], text: str) -> float:
    began = time.process_time()
    call(text)
    return time.process_time() - began
