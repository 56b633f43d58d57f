"""How texts are counted and what names and languages may be (contract 15 and 21)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.rules.languages import language_code
from troupe.actors.rules.lengths import beginning, counted_length, cut, graphemes, is_too_long
from troupe.actors.rules.usernames import RESERVED, is_reserved, username_errors

FLAG = "\U0001f1e9\U0001f1ea"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("hello", 5),
        ("a\r\nb", 3),
        ("e\u0301", 1),
        (FLAG * 3, 3),
        (FLAG + "\U0001f1e9", 2),
        (FAMILY, 1),
        ("\U0001f44d\U0001f3fd", 1),
        ("https://a.example", 23),
        ("https://a.example/" + "a" * 1_000, 23),
        ("http://a", 23),
        ("gemini://a xmpp:b@c", 19),
        ("(https://a.example/)", 25),
        ("a.example", 9),
        ("@alice", 6),
        ("@alice@remote.example", 6),
        ("hi @alice@remote.example and @bob@remote.example!", 19),
        ("me@remote.example", 17),
        ("#trio", 5),
        ("a\x00b", 2),
        ("\ud800", 1),
    ],
)
def test_counted_length(text: str, length: int) -> None:
    assert counted_length(text) == length


def test_the_content_warning_counts_as_it_stands() -> None:
    assert counted_length("ab", "https://a.example") == 19


def test_too_long() -> None:
    assert not is_too_long("a" * 499, "b")
    assert is_too_long("a" * 500, "b")
    assert is_too_long("a" * 11, limit=10)
    assert not is_too_long(" ".join(["https://a.example/" + "a" * 900] * 20))


def test_invisible_marks_do_not_fill_the_storage() -> None:
    assert graphemes("a" + "\u0301" * 200_000) == 1
    assert is_too_long("a" + "\u0301" * 200_000)
    assert is_too_long("a", "a" + "\u0301" * 20_000)


@given(st.text(st.characters(codec=None)) | st.text("\u200d\u0301\U0001f1e6\U0001f468\u0600\u0915\u094d\r\n\ud800a@:/"))
def test_any_text_can_be_counted(text: str) -> None:
    assert 0 <= graphemes(text) <= len(text)
    assert counted_length(text, text) >= counted_length(text)
    assert text.startswith(cut(text, 3))
    assert graphemes(cut(text, 3)) <= 3


@pytest.mark.parametrize(
    "unit", [FLAG, FLAG + "\u0301", FAMILY, "\u0301", "\u200d", "\u0600", "\u0915\u094d", "\u1100", "\ud800"]
)
def test_counting_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    counted_length(text)
    cut(text, 255)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [("abc", "ab"), ("ab", "ab"), ("", ""), ("e\u0301e\u0301e\u0301", "e\u0301e\u0301"), (FLAG * 3, FLAG * 2)],
)
def test_cut(text: str, kept: str) -> None:
    assert cut(text, 2) == kept


@pytest.mark.parametrize(
    ("username", "errors"),
    [
        ("alice_99", []),
        ("A" * 30, []),
        ("", ["ERR_BLANK"]),
        ("  ", ["ERR_BLANK"]),
        ("a" * 31, ["ERR_TOO_LONG"]),
        ("al.ice", ["ERR_INVALID"]),
        ("alice\n", ["ERR_INVALID"]),
        ("\u0430lice", ["ERR_INVALID"]),
        ("\u0661", ["ERR_INVALID"]),
        ("-" * 31, ["ERR_INVALID", "ERR_TOO_LONG"]),
        ("Admin", ["ERR_RESERVED"]),
        ("4dm1n", ["ERR_RESERVED"]),
        ("he1p", ["ERR_RESERVED"]),
        ("_4dm1n_", ["ERR_RESERVED"]),
        ("mod_erator", ["ERR_RESERVED"]),
        ("ad_mins_friend", []),
        ("real_tr0up3_team", ["ERR_RESERVED"]),
        ("administratorx", []),
    ],
)
def test_usernames(username: str, errors: list[str]) -> None:
    assert username_errors(username) == errors


def test_operators_reserve_names_of_their_own() -> None:
    assert username_errors("mayor", [*RESERVED, "Mayor"]) == ["ERR_RESERVED"]
    assert username_errors("the__mayor", [*RESERVED, "The_Mayor"]) == ["ERR_RESERVED"]
    assert not is_reserved("admin", reserved=())


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("en", "en"),
        ("EN", "en"),
        ("en-GB", "en"),
        ("pt_br", "pt-BR"),
        ("zh-tw", "zh-TW"),
        ("zh-Hant", "zh"),
        ("tok", "tok"),
        ("szl", "szl"),
        ("xx", None),
        ("klingon", None),
        ("", None),
        (None, None),
    ],
)
def test_languages(given: str | None, code: str | None) -> None:
    assert language_code(given) == code


@pytest.mark.parametrize(
    ("text", "code_points", "start"),
    [
        ("abc", 2, "ab"),
        ("abc", 3, "abc"),
        ("a👩‍👩‍👧b", 5, "a"),
        ("a👩‍👩‍👧b", 6, "a👩‍👩‍👧"),
        ("\U0001f1e9\U0001f1ea" * 3, 5, "\U0001f1e9\U0001f1ea" * 2),
        ("e\u0301", 1, ""),
        ("a" + "\u0301" * 200_000, 3, "a\u0301\u0301"),  # nobody has typed it
    ],
)
def test_a_beginning_has_no_part_of_a_character(text: str, code_points: int, start: str) -> None:
    assert beginning(text, code_points) == start
