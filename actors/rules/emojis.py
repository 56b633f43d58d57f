"""Names of custom emoji, and where texts use them."""

from collections.abc import Iterable, Iterator

import regex

SHORTCODE_CHARACTERS = 100
CATEGORY_CHARACTERS = 100

SHORTCODE = regex.compile(r"[a-zA-Z0-9_]{2,100}")
# A name in colons, not inside a word and not beside a further colon: `12:30:45` has none.
USE = regex.compile(r"(?<![\p{L}\p{M}\p{N}:]):(?P<shortcode>[a-zA-Z0-9_]{2,100}):(?![\p{L}\p{M}\p{N}:])")


def shortcodes_in(texts: Iterable[str]) -> Iterator[str]:
    """Return the names in colons in texts, each as often as it is there. They need not be of an emoji."""
    for text in texts:
        if ":" in text:
            yield from (found["shortcode"] for found in USE.finditer(text))
