"""Languages as clients, pages and other servers name them."""

import pytest

from troupe.actors.rules.languages import language_code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("de", "de"),
        (" EN_us ", "en"),
        ("pt-br", "pt-BR"),
        ("zh_TW", "zh-TW"),
        ("zh-yue", "zh-YUE"),
        # With a script.
        ("zh-Hant-HK", "zh-HK"),
        ("zh-Hans-CN", "zh-CN"),
        ("zh-Hans-SG", "zh"),
        ("zh-Hant", "zh"),
        ("pt-Latn-BR", "pt-BR"),
        ("sr-Latn", "sr"),
        # Android calls Hebrew, Indonesian and Yiddish by their codes of 1988.
        ("iw", "he"),
        ("in-ID", "id"),
        ("ji", "yi"),
        ("cmn", "zh"),
        # Libraries that detect languages return codes of three letters (wooorm/franc#61, halcy/Mastodon.py#142).
        ("eng", "en"),
        ("deu", "de"),
        ("GER", "de"),
        ("por-BR", "pt-BR"),
        ("zho-TW", "zh-TW"),
        ("arb", "ar"),
        ("ast", "ast"),
        ("und", None),
        ("klingonese", None),
        ("-", None),
        ("x-" * 10_000, None),
        ("", None),
        (None, None),
    ],
)
def test_a_language_is_known_by_its_usual_tags(given: str | None, code: str | None) -> None:
    assert language_code(given) == code
