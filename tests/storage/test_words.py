"""The words of texts, and what a search for a text asks for."""

# ruff: noqa: RUF001 - letters that look like others are what is tested

import pytest

from troupe.storage.words import LONGEST_WORD, folded, phrase, vector, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Müsli im CAFÉ", "das musli im cafe"),
        ("cafe\u0301", "cafe"),
        ("İstanbul ISPARTA ı", "istanbul isparta i"),
        ("Straße STRASSE", "strasse strasse"),
        ("οδός ΟΔΟΣ Ἀθήνα", "οδοσ οδοσ αθηνα"),
        ("Ёлка Краткий", "елка краткий"),
        ("Łódź smørrebrød cœur Ærø", "lodz smorrebrod coeur aero"),
        ("مُحَمَّد مـحـمـد", "محمد محمد"),
        ("أحمد احمد", "احمد احمد"),
        ("كتاب علي", "کتاب علی"),
        ("שָׁלוֹם", "שלום"),
        ("ﾊﾝｶｸ ｶﾞ Ｆｕｌｌ", "ハンカク ガ full"),
        ("한국 हिन्दी ที่", "한국 हिन्दी ที่"),
        ("٣٫١٤ १२", "3٫14 12"),
        ("soft\u00adhy\u200dphen \ufeffx\u200e", "softhyphen x"),
        ("❤️ 👍🏽 1️⃣", "❤ 👍 1"),
    ],
)
def test_case_width_and_accents_make_no_other_word(text: str, expected: str) -> None:
    assert folded(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“opal” ‘ruby’… »topaz« amber—garnet", "opal ruby topaz amber garnet"),
        ("Linux/macOS and/or", "linux macos and or"),
        ("e-mail don't l’été U.S.A.", "e mail email don t dont l ete lete u s a usa"),
        ("foo_bar.baz 1,000 3.14", "foo bar foobar baz 1 000 1000 3 14 314"),
        ("C++ C# .NET a+b #tag", "c c++ c c# net a b tag"),
        ("@bob@remote.example", "bob remote example"),
        ("https://www.example.com/foo-bar?x=1", "example com foo bar foobar x 1"),
        ("我家在上海。", "我 我家 家 家在 在 在上 上 上海 海"),
        ("iPhone15を買う", "iphone15 を を買 買 買う う"),
        ("서울에서", "서 서울 울 울에 에 에서 서"),
        ("กรุง", "ก กรุ รุ รุง ง"),
        ("می\u200cخواهم", "می خواهم میخواهم"),
        ("👩🏽\u200d💻 🇩🇪", "👩 💻 🇩🇪"),
        ("\x00 --- … '", ""),
    ],
)
def test_words_of_a_text(text: str, expected: str) -> None:
    assert [word.text for word in words_of(text)] == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Müsli", "'musli'"),
        ("quick brown", "'quick' <1> 'brown'"),
        ("e-mail", "('e' <1> 'mail' | 'email')"),
        ("今月の", "'今月' <1> '月の'"),
        ("家", "'家'"),
        ("買った。東京", "'買っ' <1> 'った' <2> '東京'"),
        ("c++", "'c++'"),
        ("--", ""),
    ],
)
def test_a_search_asks_for_the_words_in_their_order(text: str, expected: str) -> None:
    assert phrase(text) == expected


def test_places_of_two_texts_are_apart() -> None:
    assert vector(["one two", "", "two"], ["@7"]) == "'@7' 'one':1 'two':2,18"


def test_a_long_word_is_found_by_its_beginning() -> None:
    assert phrase("x" * 5000) == "'" + "x" * LONGEST_WORD + "'"


@pytest.mark.parametrize("sign", ["a ", "上", "が", "a-", "ﷺ", "😀", "\u0301", "x" * 300 + " ", "c+ "])
def test_no_text_has_more_words_than_postgresql_stores(sign: str) -> None:
    literal = vector([sign * 100_000] * 3)
    assert len(literal) < 1_000_000
