"""A bound on combining marks: hundreds of them on one letter ("zalgo") cover the lines around a text.

Every text that people write passes `bounded`, and every HTML `bounded_html`. Marks are no characters of their own, so a
text has as many characters as before; only a virama behind eight other marks could join two consonants to one. The
limits of a text are held against the bounded text, which is what is stored.
"""

import regex

# The longest run in use that is known is a Tibetan one, the monogram of the Kalachakra, with eight marks on one letter.
# Biblical Hebrew with points and accents has up to seven, Vietnamese and polytonic Greek up to four when decomposed.
# Unicode's stream-safe format (UAX 15) takes 30, which bounds the work of programs and not what is seen.
MOST_MARKS = 8

# Marks that extend the character before them; a few spacing marks count as characters of their own and are no concern.
MARK = r"[\p{M}&&[\p{GCB=Extend}\p{GCB=SpacingMark}]]"
# What does not end a stack: joiners and other format characters that belong to the character before them, and the tags
# of HTML. Other format characters count as characters, so that marks behind them are bounded by the limits of a text.
UNSEEN = r"[\p{Cf}&&[\p{GCB=Extend}\p{GCB=ZWJ}]]"
UNSEEN_OR_TAG = rf"(?:{UNSEEN}|<[^<>]*+>)"

ONE_MARK = regex.compile(MARK, regex.VERSION1)


def _excess(between: str) -> "regex.Pattern[str]":
    return regex.compile(
        rf"(?P<kept>(?:{MARK}{between}*+){{{MOST_MARKS}}})(?P<rest>(?:{MARK}|{between})++)", regex.VERSION1
    )


EXCESS = _excess(UNSEEN)
EXCESS_IN_HTML = _excess(UNSEEN_OR_TAG)


def bounded(text: str) -> str:
    """Return the text without the marks that follow the first eight on one character."""
    return text if text.isascii() else EXCESS.sub(_cut, text)


def bounded_html(html: str) -> str:
    """The same for sanitised HTML, where tags between marks do not end their stack."""
    return html if html.isascii() else EXCESS_IN_HTML.sub(_cut, html)


def _cut(found: "regex.Match[str]") -> str:
    return found["kept"] + ONE_MARK.sub("", found["rest"])
