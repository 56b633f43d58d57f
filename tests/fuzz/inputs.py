"""Inputs made of fragments that parsers and patterns have to think about: repeated, in turns, and nested."""

import random
from collections.abc import Iterator

FRAGMENTS = (
    # HTML
    "&", "\xa0", "&&&&&&&x", "<", ">", "<b>", "<p>", "</p>", "<br>", "<a href='https://e.example/'>", "<ul><li>",
    "<blockquote>", "<span class='h-card'>", "<h1>", "</strong></p>", "<pre>\n", "<ruby><rt>", "<table><td>", "<svg>",
    "<math><mi>", "<font a=1>", "<script>", "<style>", "<!--", "]]>", "<![CDATA[", "&amp;", "&lt;", "&#1;", "&eacute;",
    # addresses, handles, hashtags, emoji
    "https://a.example/ ", "http://é.example ", "https://a.example/((", "xn--", "@a", "@a@b.example ", "@a@", "#a ",
    "#é ", "# ", ":a:", ":", "a.", "a-", "www.",
    # Markdown
    "*a* ", "**a", "_a_", "`a", "[a](b)", "[", "![", "> ", "- a\n", "1. a\n", "~~a", "\\",
    # scripts, marks, direction, folding, what is invisible
    "\u0301", "e\u0301", "\u1100", "\u0600", "\U0001f1e6", "\U0001f468\u200d", "\U0001f3f4\U000e0067", "\u0915\u094d",
    "\ufdfa", "\u0130", "\xdf", "\u200b", "\u202e", "\ufeff", "\ud800", "\0", "\r", "\r\n", "\n", "\t", " ", "a ", "a",
    "'", '"', "(", ")", ",", "0", "1,", "%41", "+", "=", ";",
)  # fmt: skip
CLOSING = {"<": ">", "(": ")", "[": "]", "<b>": "</b>", "<ul><li>": "</li></ul>", "<blockquote>": "</blockquote>"}


def repeated(piece: str, size: int) -> str:
    """Return so many characters of a piece that is repeated."""
    return (piece * (size // len(piece) + 1))[:size]


def fixed(size: int) -> Iterator[tuple[str, str]]:
    """Return the selection that is always played: each fragment alone, in turns with another one, and nested."""
    for number, fragment in enumerate(FRAGMENTS):
        yield repr(fragment), repeated(fragment, size)
        other = FRAGMENTS[(number * 7 + 3) % len(FRAGMENTS)]
        yield f"{fragment!r} and {other!r}", repeated(fragment + other, size)
    for opening, closing in CLOSING.items():
        half = size // (len(opening) + len(closing))
        yield f"nested {opening!r}", opening * half + closing * half


def mixed(chance: random.Random, size: int) -> tuple[str, str]:
    """Return a mixture of a few fragments, each repeated, in a random order."""
    few = chance.sample(FRAGMENTS, chance.randint(1, 5))
    piece = "".join(chance.choice(few) * chance.choice((1, 1, 2, 10, 100)) for _ in range(chance.randint(1, 20)))
    return f"{piece[:40]!r}…", repeated(piece, size)
