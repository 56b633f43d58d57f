"""Safe HTML: escaping, sanitising, and reading the text back out of it.

All functions but `sanitise` rely on HTML that `sanitise` has returned or that `text.render` has written: tags in lower
case, every attribute quoted, no `<` that is not a tag.
"""

from __future__ import annotations

import html as standard
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import regex

from .combining_marks import bounded, bounded_html

if TYPE_CHECKING:
    import nh3

# Contract 1. Clients are written against this list. All other tags are removed, and their text stays.
TAGS = frozenset(
    {"p", "br", "span", "a", "del", "s", "pre", "code", "em", "strong", "b", "i", "u", "ul", "ol", "li", "blockquote"}
    | {"ruby", "rt", "rp"}
)
LINK_CLASSES = frozenset({"mention", "hashtag", "u-url", "u-uid", "p-name"})
SPAN_CLASSES = frozenset({"h-card", "invisible", "ellipsis", "p-name", "quote-inline"})
PARAGRAPH_CLASSES = frozenset({"quote-inline"})  # the line `RE: …`, which is hidden beside the quote that it stands for
CLASSES = {"a": LINK_CLASSES, "span": SPAN_CLASSES, "p": PARAGRAPH_CLASSES, "br": frozenset({"line"})}  # LINE_MARK
SCHEMES = frozenset({"http", "https", "gemini", "gopher", "ipfs", "ipns", "magnet", "xmpp"})
LINK_REL = "nofollow noopener noreferrer"

# The time of a parser grows with the square of the nesting (12,000 nested list items take 3.5 s, 1,000 take 25 ms) and
# of the number of attributes of a tag. No real post has so many. Above these limits HTML is cut, a tag is dropped,
# and a post with too many tags becomes its text.
#
# The limit of characters applies to the written HTML, not to the source: an `&` of the source becomes five characters,
# a hard space six. It holds for the result too, because a result is stored, kept in memory, searched and sent again and
# again.
HTML_CHARACTERS = 131_072
TAG_CHARACTERS = 4_096
OPENING_AND_CLOSING_TAGS = 2_000
# A second pass repairs HTML that the removals of the first pass broke (a paragraph in a paragraph). A third pass is
# rare.
PASSES = 6

UNWRITABLE = regex.compile(r"[\ud800-\udfff]")
# Tab and line feed are the only control characters with a meaning. PostgreSQL accepts no NUL, browsers accept no
# others. A byte order mark is removed too, because parsers drop it at the start.
CONTROLS = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
# The ends of lines and paragraphs of Unicode (UAX 14): text processors and phones have others than line feeds.
LINE_END = regex.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

# Everything that a parser may read as a tag or a comment ends at this `>` or at a later `>`.
RAW_TAG = regex.compile(r"<(?P<close>/?)(?P<name>[A-Za-z!?][^\s/>]*+|(?<=/))[^>]*+>")
# HTML repeats an open <b> in every following paragraph, and remembers any number of them if their attributes differ: 14
# kB can become 1,000 by 1,000 elements. Without attributes it remembers three. So none of these tags may have any here.
FORMATTING = frozenset({"b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

# Replacements for elements that are not in `TAGS`. Without them a meaning is lost: a deleted text would look valid.
RENAMED = {"strike": "s", "kbd": "code", "samp": "code", "tt": "code", "menu": "ul", "dir": "ul", "xmp": "pre"}
QUOTATION_MARKS = {"": "\u201c", "/": "\u201d"}  # of <q>, by whether its tag closes

# `10<sup>6</sup>` is not 106, and a footnote, whose number is a link, no part of its word. Letters, as in
# `1<sup>st</sup>`, are left where they are.
RAISED = str.maketrans("0123456789+-=()n\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ⁻")
LOWERED = str.maketrans("0123456789+-=()\u2212", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎₋")
INDEX = regex.compile(
    r"(?i:<(?P<name>su[bp])(?![\w-])[^<>]*+>)(?P<link>(?i:<a(?![\w-])[^<>]*+>)?+)(?P<text>[0-9n()=+\u2212-]{1,20}+)"
    r"(?P<end>(?i:</a\s*+>)?+)(?i:</su[bp]\s*+>)"
)

# Blogs and other servers write emoji as pictures, whose text is the emoji.
EMOJI_PICTURE = regex.compile(
    r"""(?i:\balt\s*+=\s*+)["']?"""
    r"(?P<text>:[a-zA-Z0-9_+-]{1,100}+:|[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}\u200d\ufe0f]{1,20}+)"
    r"""["'\s/>]"""
)

# Blogs show formulas as pictures, whose text is LaTeX.
FORMULA_PICTURE = regex.compile(r"""(?i:\bclass\s*+=\s*+["']?(?:[\w-]++\s++)*(?:latex|tex|math)(?![\w-]))""")
PICTURE_TEXT = regex.compile(r"""(?i:\balt\s*+=\s*+)(?:"(?P<text>[^"]*+)"|'(?P<text>[^']*+)')""")
# KaTeX writes each formula twice: as MathML, and so for eyes alone, letter by letter.
SECOND_FORMULA = "katex-html"

# Lists of tasks have a box at each, which says by an attribute whether the task is done.
CHECKBOX = regex.compile(r"""(?i:\btype\s*+=\s*+["']?checkbox\b)""")
CHECKED = regex.compile(r"(?i:[\s\"']checked(?![\w-]))")
BALLOT_BOX, BALLOT_BOX_WITH_CHECK = "\u2610", "\u2611"

# Elements whose content is no part of a text: code, the replacement of a frame, the head of a page.
DROPPED_WITH_CONTENT = frozenset({"script", "style", "iframe", "noembed", "noframes", "noscript", "template", "title"})

# Elements that begin a line of their own but are not in `TAGS`. Each of their tags becomes a mark, which becomes a line
# break where text stands on both sides of it in the same block. The mark is an element, so that a parser carries it
# along. Removing the tags before the parser sees them also keeps it from moving text out of tables.
DROPPED_BLOCKS = frozenset(
    {"address", "article", "aside", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "legend", "main", "nav"}
    | {"search", "section", "summary", "table", "tbody", "tfoot", "thead", "tr"}
)
CELLS = frozenset({"td", "th"})
LINE_MARK = '<br class="line">'
DROPPED_BLOCK_TAG = regex.compile(rf"(?i:</?(?:{'|'.join(sorted(DROPPED_BLOCKS | CELLS))})(?![A-Za-z0-9-])[^<>]*+>)")

# MathML is read as FEP-dc88 says: no client of posts shows formulas, and people who write them read LaTeX.
MATHS = regex.compile(r"(?i:<math(?P<attributes>[\s/][^>]*+)?>)(?P<body>.*?)(?i:</math\s*+>)", regex.DOTALL)
ANNOTATION = regex.compile(
    r"(?i:<annotation(?P<attributes>[\s/][^>]*+)?>)(?P<text>[^<]*+)(?i:</annotation\s*+>)", regex.DOTALL
)
ANNOTATION_XML = regex.compile(r"(?i:<annotation-xml).*", regex.DOTALL)  # the last part of a formula
LAST_MATHS_END = regex.compile(r"(?r)(?i:</math\s*+>)")
DISPLAY = regex.compile(r"""(?i:\bdisplay\s*+=\s*+["']?block\b)""")
ENCODING = regex.compile(
    r"""(?i:\bencoding\s*+=\s*+["']?(?P<latex>(?:(?:application|text)/x-)?(?:la)?tex(?![\w/-]))?)"""
)
ALTERNATIVE = regex.compile(r"""(?i:\balttext\s*+=\s*+)(?:"(?P<text>[^"]*+)"|'(?P<text>[^']*+)')""")
BETWEEN_LETTERS = regex.compile(r"(?<=\w)(?:<[^<>]*+>|\s)++(?=\w)")
SPACES = regex.compile(r"\s++")

# The sign of a mention or hashtag right before its link, or before the element around the link. Friendica and Hubzilla
# write it there. Clients expect it inside.
SIGN_BEFORE = regex.compile(
    r'(?P<sign>[@#])(?P<link>(?:<span[^<>]*+>)?+<a href="[^"]*+" class="(?:[a-z-]++ )*?mention[ "][^<>]*+>)'
    r"(?!(?:<span>)?[@#])"
)

ATTRIBUTE = regex.compile(r' (?P<name>[a-z]+)="(?P<value>[^"]*+)"')
TAG = regex.compile(r'<(?P<close>/?)(?P<name>[a-z0-9]++)(?P<attributes>(?: [a-z]++="[^"]*+")*+)>')
TOKEN = regex.compile(rf"(?P<tag>{TAG.pattern})|(?P<text>[^<]++)")
# The parser drops one line feed after <pre>, so each reading would drop another line feed.
PRE_START = regex.compile(r"<pre>\n+")
PRE_OR_LINE_FEED = regex.compile(r"<pre>.*?</pre>|\n\s*+", regex.DOTALL)

# Three searches without a function for each tag: that would take four times as long.
LINE_TAG = regex.compile(r"(?i:<(?:br|/li)(?![A-Za-z0-9])[^<>]*+>)")
BLOCK_TAG = regex.compile(r"(?i:</(?:p|pre|blockquote|ul|ol)(?![A-Za-z0-9])[^<>]*+>)")
ANY_TAG = regex.compile(r"<[^<>]*+>")
# The entities that sanitised HTML has. The ampersand is last, so that the result is not read as an entity again.
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\xa0"), ("&quot;", '"'), ("&amp;", "&"))
MANY_LINE_FEEDS = regex.compile(r"\n{3,}")
# Of texts that may be HTML.
SIMPLE_TAG = regex.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9]{0,15}+)(?:[\s/][^<>]*+)?+>")
TEXT_TAGS = TAGS | RENAMED.keys() | HEADINGS | {"div", "small", "sub", "sup"}
ENTITY = regex.compile(r"(?i:&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});)")
BLOCKS = frozenset({"p", "br", "pre", "ul", "ol", "li", "blockquote"})
VERBATIM = frozenset({"a", "code", "pre"})


@cache
def _cleaner() -> nh3.Cleaner:
    import nh3  # late: 1.5 MiB; only HTML of other servers, and Markdown, is sanitised

    return nh3.Cleaner(
        tags=set(TAGS),
        clean_content_tags=set(DROPPED_WITH_CONTENT),
        attributes={"a": {"href"}, "ol": {"start"}, "li": {"value"}},
        tag_attribute_values={"a": {"translate": {"no"}}, "span": {"translate": {"no"}}},
        allowed_classes={name: set(classes) for name, classes in CLASSES.items()},
        link_rel=None,
        url_schemes=set(SCHEMES),
        url_relative="deny",
    )


def tidy(text: str) -> str:
    """Return a text as it is stored.

    It has line feeds only, no control characters, no lone surrogates, and no more combining marks than a script needs.
    """
    return bounded(_without_controls(text))


def _without_controls(text: str) -> str:
    return CONTROLS.sub("", UNWRITABLE.sub("\ufffd", LINE_END.sub("\n", text)))


def trimmed(text: str) -> str:
    """Return a text tidied, without white space around it."""
    return tidy(text).strip()


def one_line(text: str) -> str:
    """Return a name or title tidied, without line breaks."""
    return " ".join(tidy(text).split("\n")).strip()


def escape(text: str) -> str:
    """Return text as HTML, in the spelling that a parser writes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", "&nbsp;")


def escape_attribute(text: str) -> str:
    """Return text for use between the quotes of an attribute."""
    return escape(text).replace('"', "&quot;")


def sanitise(html: str, most_tags: int = OPENING_AND_CLOSING_TAGS, most: int = HTML_CHARACTERS) -> str:
    """Return any HTML made safe, in the form that clients expect. Doing it again changes nothing.

    Work and result are limited: HTML that is too long, also once it is written anew, is cut. The elements that are
    open there are closed.
    """
    safe = _sanitised(html[: _readable_characters(html, most)], most_tags, most)
    # It can be too long by the attributes that links get. The source is not cut again: the part behind the links may be
    # written as nothing, so the result could stay the same for many steps.
    room = most
    while len(safe) > most:
        safe = _sanitised(_cut(safe, room), most_tags, most)
        room -= room // 16
    return bounded_html(safe)  # once: a parser does nothing with marks


def _cut(html: str, most: int) -> str:
    """Return the first characters of sanitised HTML, with the end tags of the elements that are open there."""
    opened: list[str] = []
    room = most
    for tag in TAG.finditer(html):
        if tag.start() > room:
            break
        end_tag = f"</{tag['name']}>"
        if tag["close"]:
            opened.pop()
            room += len(end_tag)
        elif tag["name"] != "br":
            if tag.end() + len(end_tag) > room:
                room = tag.start()
                break
            opened.append(end_tag)
            room -= len(end_tag)
    return shortened(html, room) + "".join(reversed(opened))


def _readable_characters(html: str, limit: int) -> int:
    """Return how many characters of any HTML can be read until so many are written. They are found by halving."""
    least, most = 0, min(len(html), limit)
    if most + _growth(html, most) <= limit:
        return most
    while least < most:
        middle = (least + most + 1) // 2
        if middle + _growth(html, middle) <= limit:
            least = middle
        else:
            most = middle - 1
    return least


def _growth(html: str, end: int) -> int:
    """Return by how many characters the start of any HTML grows when it is written anew.

    An ampersand grows unless it begins an entity. A `<` or `>` grows only if it is not the end of a tag.
    """
    ampersands = html.count("&", 0, end)
    if ampersands:
        ampersands -= sum(html.count(entity, 0, end) for entity, _ in ENTITIES)
    unpaired = abs(html.count("<", 0, end) - html.count(">", 0, end))
    return 4 * ampersands + 5 * html.count("\xa0", 0, end) + 3 * unpaired


def _sanitised(html: str, most_tags: int, most: int) -> str:
    for _ in range(PASSES):
        html, tags = _without_traps(html, most_tags)
        if tags > most_tags:
            break
        cleaned = _clean(html)
        if cleaned == html or len(cleaned) > most:  # too long: it will be cut and cleaned anew
            return cleaned
        html = cleaned
    text = _without_tags(DROPPED_BLOCK_TAG.sub("\n", html))
    return _clean(escape(MANY_LINE_FEEDS.sub("\n\n", standard.unescape(text)).strip()))


def shortened(html: str, most: int) -> str:
    """Return the first characters of sanitised HTML, at most so many, without the half of a tag or entity at their end.

    Elements that are open there stay open.
    """
    if len(html) <= most:
        return html
    for start, end in ("<", ">"), ("&", ";"):
        last = html.rfind(start, 0, most)
        if last >= 0 and html.find(end, last, most) < 0:
            most = last
    return html[:most]


def plain(html: str) -> str:
    """Return the text of sanitised HTML: line feeds for line breaks, no tags, no entities."""
    text = _without_tags(html)
    if "&" in text:
        for entity, character in ENTITIES:
            text = text.replace(entity, character)
    return MANY_LINE_FEEDS.sub("\n\n", text).strip()


def plain_if_html(text: str) -> str:
    """Return a text that may be HTML as plain text: servers write titles and warnings as HTML or as plain text.

    It is HTML if it has a line break, or an element that posts have, opened and closed: `I <3 tea` and `how <p> works`
    have none. Entities are read in plain text, too.
    """
    tags = [(found["close"], found["name"].lower()) for found in SIMPLE_TAG.finditer(text)]
    opened, closed = ({name for close, name in tags if close == end} for end in ("", "/"))
    if "br" in opened or not (opened & closed).isdisjoint(TEXT_TAGS):
        return plain(sanitise(text))
    return ENTITY.sub(lambda entity: standard.unescape(entity[0]), text)


def _without_tags(html: str) -> str:
    return ANY_TAG.sub("", BLOCK_TAG.sub("\n\n", LINE_TAG.sub("\n", html)))


def unwrap(html: str, space: str) -> str:
    """Return sanitised HTML without line feeds outside of <pre>: they mean spaces, but some clients show them."""
    return PRE_OR_LINE_FEED.sub(lambda found: found[0] if found[0].startswith("<pre>") else space, html)


def map_text(html: str, write: Callable[[str, str], str]) -> str:
    """Return sanitised HTML with its running text rewritten. Links and code stay as they are.

    `write` takes the character before the text in the same block (or none) and the text, and returns HTML.
    """
    pieces: list[str] = []
    before = ""
    verbatim = 0
    for token in TOKEN.finditer(html):
        name = token["name"]
        if name is None:
            text = standard.unescape(token["text"])
            pieces.append(token["text"] if verbatim else write(before, text))
            before = text[-1]
            continue
        pieces.append(token["tag"])
        if name in BLOCKS:
            before = ""
        if name in VERBATIM:
            verbatim += -1 if token["close"] else 1
    return "".join(pieces)


def _without_traps(html: str, most_tags: int) -> tuple[str, int]:
    """Return HTML that a parser reads in little time, and its number of tags.

    Headings become paragraphs, dropped blocks marks, formulas LaTeX, raised numbers signs of their own. Nothing is
    changed behind more tags than a post may have.
    """
    html = INDEX.sub(_written_index, _with_written_maths(html))
    # An opened tag without a `>` is no tag. Looking for its end again for each `<` would take quadratic time.
    tags_end = html.rfind(">") + 1
    write = _SecondFormulas().write if SECOND_FORMULA in html else _made_safe
    tamed, tags = RAW_TAG.subn(write, html[:tags_end], most_tags + 1)
    return tamed + html[tags_end:], tags


class _SecondFormulas:
    """Writes the tags of HTML as `_made_safe` does, and makes a dropped element of each formula that is there again."""

    def __init__(self) -> None:
        self._depth = 0  # of the elements inside of a repeated formula

    def write(self, tag: regex.Match[str]) -> str:
        is_span = tag["name"].lower() == "span"
        if self._depth:
            self._depth += (-1 if tag["close"] else 1) if is_span else 0
            return "" if self._depth else "</style>"
        if is_span and SECOND_FORMULA in tag[0]:
            self._depth = 1
            return "<style>"
        return _made_safe(tag)


def _made_safe(tag: regex.Match[str]) -> str:
    name = tag["name"].lower()
    if len(tag[0]) > TAG_CHARACTERS:
        return ""
    if name in HEADINGS:
        return "</strong></p>" if tag["close"] else "<p><strong>"
    if name in RENAMED:
        return f"<{tag['close']}{RENAMED[name]}>"
    if name == "q":
        return QUOTATION_MARKS[tag["close"]]
    if name == "img":
        return _picture_text(tag[0])
    if name == "input" and CHECKBOX.search(tag[0]):
        return BALLOT_BOX_WITH_CHECK if CHECKED.search(tag[0]) else BALLOT_BOX
    if name in FORMATTING:
        return f"<{tag['close']}{name}>"
    if name in DROPPED_BLOCKS:
        return LINE_MARK
    if name in CELLS:
        return "" if tag["close"] else " "
    return tag[0]


def _picture_text(tag: str) -> str:
    """Return the text that a picture stands for: an emoji, or a formula."""
    if emoji := EMOJI_PICTURE.search(tag):
        return emoji["text"]
    formula = PICTURE_TEXT.search(tag) if FORMULA_PICTURE.search(tag) else None
    latex = escape(standard.unescape(formula["text"].strip())) if formula else ""
    return f"${latex}$" if latex else ""


def _written_index(index: regex.Match[str]) -> str:
    written = index["text"].translate(RAISED if index["name"].lower() == "sup" else LOWERED)
    return f"{index['link']}{written}{index['end']}"


def _with_written_maths(html: str) -> str:
    """Return HTML with each whole formula as text."""
    # Without this end, the search for the end of each of many opened formulas would take quadratic time.
    last = LAST_MATHS_END.search(html) if "</math" in html.lower() else None  # that is slow with many tags
    return MATHS.sub(_written_formula, html[: last.end()]) + html[last.end() :] if last else html


def _written_formula(formula: regex.Match[str]) -> str:
    """Return the LaTeX of a formula, else the text that its author put beside it, else its letters."""
    body, attributes = formula["body"], formula["attributes"] or ""
    notes = [(ENCODING.search(note["attributes"] or ""), note["text"].strip()) for note in ANNOTATION.finditer(body)]
    latex = next((text for encoding, text in notes if encoding and encoding["latex"] and text), "")
    if not latex and (alternative := ALTERNATIVE.search(attributes)):
        latex = escape(standard.unescape(alternative["text"].strip()))
    if latex and DISPLAY.search(attributes):
        return f"{LINE_MARK}$${latex}$${LINE_MARK}"
    if latex:
        return f"${latex}$"
    if plain_text := next((text for _, text in notes if text), ""):
        return plain_text
    letters = BETWEEN_LETTERS.sub(" ", ANNOTATION_XML.sub("", ANNOTATION.sub("", body)))
    return SPACES.sub(" ", ANY_TAG.sub("", letters)).strip()


def _clean(html: str) -> str:
    return PRE_START.sub("<pre>", _canonical(_with_line_breaks(_cleaner().clean(_without_controls(html)))))


def _with_line_breaks(html: str) -> str:
    """Return parsed HTML with line breaks for its marks, where text stands on both sides of them in the same block."""
    if LINE_MARK not in html:
        return html
    pieces: list[str] = []
    text_before = False
    mark: int | None = None  # the place of a break that is written if text follows
    line_begins = verbatim = False
    for token in TOKEN.finditer(html):
        written, name = token[0], token["name"]
        if written == LINE_MARK:
            line_begins = True
            if text_before and mark is None:
                mark = len(pieces)
                pieces.append("")
        elif name is None:
            if line_begins and not verbatim:  # a row begins with the space of its first cell
                written = written.lstrip()
            if written and not written.isspace():
                if mark is not None:
                    pieces[mark] = "<br>"
                text_before, mark, line_begins = True, None, False
            pieces.append(written)
        else:
            pieces.append(written)
            if name == "br" and mark is not None:  # <div>a</div><div><br></div><div>b</div> has an empty line
                pieces[mark] = "<br>"
            if name in BLOCKS:
                text_before, mark = False, None
            if name == "pre":
                verbatim = not token["close"]
    return "".join(pieces)


def _canonical(html: str) -> str:
    """Return HTML parsed and filtered, with links in a normal form, and without links that lead to no address."""
    kept: list[bool] = []

    def write(tag: regex.Match[str]) -> str:
        if tag["close"]:
            return tag[0] if tag["name"] != "a" or kept.pop() else ""
        attributes = {
            found["name"]: found["value"] for found in ATTRIBUTE.finditer(tag["attributes"]) if found["value"]
        }
        if tag["name"] == "a":
            kept.append("href" in attributes)
            return anchor(attributes) if kept[-1] else ""
        return _opening(tag["name"], attributes)

    return SIGN_BEFORE.sub(r"\g<link>\g<sign>", TAG.sub(write, html))


def anchor(attributes: dict[str, str]) -> str:
    """Return the opening tag of a link. The values must be escaped.

    A mention or a hashtag opens in the same window, so it needs no `noopener`. A hashtag has the relation
    `tag`, by which clients distinguish it from links. All other links have the values for external links.
    """
    classes = attributes.get("class", "").split()
    if "mention" not in classes:
        attributes |= {"target": "_blank", "rel": attributes.get("rel", LINK_REL)}
    elif "hashtag" in classes:
        attributes |= {"rel": "tag"}
    order = ("href", "class", "target", "rel", "translate")
    return _opening("a", {name: attributes[name] for name in order if name in attributes})


def _opening(name: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {attribute}="{value}"' for attribute, value in attributes.items())
    return f"<{name}{written}>"
