"""Where texts use custom emoji."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.rules.emojis import SHORTCODE, shortcodes_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (":cat:", ["cat"]),
        ("a :cat: and a :dog_2:", ["cat", "dog_2"]),
        (":cat: :dog:", ["cat", "dog"]),
        ("(:cat:)", ["cat"]),
        (":cat:!", ["cat"]),
        ("_:cat:_", ["cat"]),
        (":cat:\n:cat:", ["cat", "cat"]),
        (":CAT:", ["CAT"]),
        ("a:cat:", []),
        (":cat:s", []),
        ("5:cat:6", []),
        ("ö:cat:", []),
        ("猫:cat:", []),
        ("e\u0301:cat:", []),
        (":cat::dog:", []),
        ("::cat::", []),
        (":c:", []),
        (":c-t:", ["c-t"]),
        (":+1:", ["+1"]),
        (":a.b:", []),
        (": cat :", []),
        ("12:30:45", []),
        (":" + "a" * 101 + ":", []),
        (":", []),
        ("", []),
    ],
)
def test_a_name_in_colons_is_an_emoji_outside_of_words(text: str, found: list[str]) -> None:
    assert list(shortcodes_in([text])) == found


@given(st.text(alphabet=":ab_- 1é\n", max_size=40))
def test_each_name_found_stands_in_the_text_and_is_a_name(text: str) -> None:
    for shortcode in shortcodes_in([text]):
        assert SHORTCODE.fullmatch(shortcode.replace("-", "_"))
        assert f":{shortcode}:" in text


def test_a_long_text_of_colons_is_read_in_a_step_for_each_character() -> None:
    assert list(shortcodes_in([":a" * 50_000])) == []
