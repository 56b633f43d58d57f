"""Names of custom emoji, and where texts use them."""

from collections.abc import Iterable, Iterator

import regex

CATEGORY_CHARACTERS = 100

# A name of this server. Apps find no other names while people write.
SHORTCODE = regex.compile(r"[a-zA-Z0-9_]{2,100}")
# Names of other servers also have a `-` or `+`: Misskey, Pleroma and forks of Mastodon allow them.
FOREIGN = r"[a-zA-Z0-9_+-]{2,100}"
# A name in colons, not inside a word and not beside a further colon: `12:30:45` has none.
USE = regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}:]):(?P<shortcode>{FOREIGN}):(?![\p{{L}}\p{{M}}\p{{N}}:])")


def shortcodes_in(texts: Iterable[str]) -> Iterator[str]:
    """Return the names in colons in texts, each as often as it is there. They need not be of an emoji."""
    for text in texts:
        if ":" in text:
            yield from (found["shortcode"] for found in USE.finditer(text))


def is_category(text: str) -> bool:
    """True if emoji may have a heading of this text."""
    return 0 < len(text.strip()) <= CATEGORY_CHARACTERS and text.isprintable()


# An emoji as people type it: a picture with its variation, skin tone or tags, several joined pictures, a flag, a
# keycap.
_PICTURE = r"\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?[\U000e0020-\U000e007f]*"
UNICODE_EMOJI = regex.compile(rf"{_PICTURE}(?:\u200d{_PICTURE})*|\p{{Regional_Indicator}}{{2}}|[0-9#*]\ufe0f?\u20e3")
UNICODE_EMOJI_CHARACTERS = 40


def is_unicode_emoji(text: str) -> bool:
    """True if a text is a single emoji of Unicode."""
    return len(text) <= UNICODE_EMOJI_CHARACTERS and UNICODE_EMOJI.fullmatch(text) is not None
