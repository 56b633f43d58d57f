"""Reading the head of a web page for its preview, in a process of its own: the facts that the page states, as texts.

The parser is libxml2, in C, so it runs only in the confined process. It calls `PageParser` for each tag and makes no
tree. Of 47 pages of 1 MiB that were made to be slow, none takes it longer than 0.8 s. Python's own `html.parser` (3.11)
takes more than 10 s for seven of them, and 118 ms instead of 25 ms for 1 MiB of an ordinary page. Parsers that make
a tree pass the process's limit of CPU time too: selectolax (1.0) with deep nesting or 100,000 attributes, lxml's tree
with the latter. html5lib and justhtml take five times as long as `html.parser`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from html import unescape
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

import lxml  # pyright: ignore[reportMissingTypeStubs]  # it has none
import webencodings

from ...storage.engine.json_values import is_list, is_object
from .jobs import Job
from .page_facts import LONGEST_ADDRESS, PageFacts, as_meant, has_letters


class PushParser(Protocol):
    """A parser of lxml, which is given a document in parts."""

    def feed(self, data: bytes) -> None: ...
    def close(self) -> object: ...


# From a module whose types pyright can't see.
etree = import_module(".etree", lxml.__name__)
new_parser: Callable[..., PushParser] = etree.HTMLParser
EmptyDocument: type[Exception] = etree.XMLSyntaxError

PRESCANNED = 16 * 1024  # bytes in which a page declares its encoding
MOST_NAMED = 20  # declarations in these whose encodings are loaded
LONGEST_TEXT = 1000
LONGEST_LINKED_DATA = 128 * 1024  # characters of one script with JSON-LD
MOST_SCRIPTS = 4
# Elements that are open at the same time. A page with more is read up to there: for an end tag that fits no element,
# libxml2 looks through all open elements. Pages with closed elements have less than 100.
MOST_OPEN = 2_000
FED_AT_ONCE = 64 * 1024  # bytes; libxml2 reads on to their end after an exception of its target
DEEPEST = 6  # objects in objects of JSON-LD
MOST_OBJECTS = 100

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
FALLBACK = "windows-1252"
# A declaration that could be read as ASCII is in none of these (HTML standard, 13.2.3.2).
IMPOSSIBLE_INSIDE = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": FALLBACK}
# Browsers decode GBK as its superset, and EUC-JP and ISO-2022-JP with the characters of Windows-31J. Python's codecs of
# these names lack the characters that Windows added.
SUPERSETS = {"gbk": "gb18030"}
# What may be a declaration of an encoding, by its server or in the page.
NAMED = re.compile(rb"""(?:charset|encoding)\s{0,10}=[\s"']{0,10}([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
IN_XML = re.compile(r"""^<\?xml\s[^>]{0,500}?encoding\s{0,10}=\s{0,10}["']([^"'>]{1,40})""")
IN_CONTENT = re.compile(
    r"""charset\s{0,10}=\s{0,10}(?:"([^"]{1,40})"|'([^']{1,40})'|([^\s;"']{1,40}))""", re.IGNORECASE
)
EUC_JP = re.compile(
    rb"\x8f[\xa1-\xfe]{2}|\x8e[\xa1-\xdf]|([\xa1-\xfe])([\xa1-\xfe])|[^\x8e\x8f\xa1-\xfe]+|.", re.DOTALL
)
ISO_2022_JP = re.compile(rb"\x1b\$[@B]([\x21-\x7e\r\n]*)")  # two bytes a character, up to the next escape

# The characters that browsers read where Python's codecs have none: 0x80 of GBK, and controls in single-byte encodings.
BROWSER = "browser"
EURO = "\u20ac"

# The language in an `<html>` after text, such as a warning of PHP: the parser does not report that tag.
LATE_LANGUAGE = re.compile(r"""<html\s[^<>]{0,500}?\blang\s{0,5}=\s{0,5}["']?([A-Za-z0-9-]{1,35})""", re.IGNORECASE)

REFRESH = re.compile(r"""\s*([0-9]{1,2})(?:\.[0-9]*)?\s*(?:[;,]|\s)\s*(?:url\s*=\s*)?["']?([^"']+)""", re.IGNORECASE)
LONGEST_REFRESH = 10  # seconds; a page that stays for longer is read itself
# Drawings are none either: nothing here decodes SVG.
NO_PICTURE = re.compile(
    r"(?:data|blob|about):.*|(?:https?:)?//|#|null|undefined|[^?#]*\.svgz?(?:[?#].*)?", re.IGNORECASE | re.DOTALL
)
WEB = ("https://", "http://")
CDATA = re.compile(r"<!\[CDATA\[(.*)\]\]>", re.DOTALL)

# The names of `<meta>` by the fact that they state, the best name first.
METAS: dict[str, tuple[str, ...]] = {
    "title": ("og:title", "twitter:title"),
    "description": ("og:description", "twitter:description", "description"),
    "provider_name": ("og:site_name", "application-name"),
    "author_name": ("author", "article:author", "twitter:creator"),
    "author_url": ("article:author",),
    "image": ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src", "image"),
    "image_description": ("og:image:alt", "twitter:image:alt"),
    "creator": ("fediverse:creator",),
    "language": ("og:locale", "language"),
    "published_at": ("article:published_time", "datepublished", "date"),
    "player": ("og:video:secure_url", "og:video:url", "og:video", "twitter:player"),
    "width": ("og:video:width", "twitter:player:width"),
    "height": ("og:video:height", "twitter:player:height"),
}

OEMBED_TYPES = ("application/json+oembed", "text/json+oembed")
ADDRESSES = frozenset({"author_url", "image", "player", "oembed", "base", "refresh"})
# Texts that programs escape for HTML before they are written into an attribute, where they are escaped again.
ESCAPED_TWICE = ("description", "author_name", "provider_name", "image_description")

# A description that is HTML as a whole.
MARKUP = re.compile(r"<([a-z]+)(?:\s[^<>]*)?>.*</\1>", re.IGNORECASE | re.DOTALL)
ANY_TAG = re.compile(r"<[^<>]*>")

# The types of JSON-LD that describe a page, by their ends: there are many kinds of articles and postings.
WORKS = ("article", "posting", "webpage", "videoobject")
# The wrapping of JSON-LD for readers of XHTML and for very old browsers.
WRAPPING = re.compile(
    r"^(?://|/\*)?\s{0,20}(?:<!\[CDATA\[|<!--)\s{0,20}(?:\*/)?|(?://|/\*)?\s{0,20}(?:\]\]>|-->)\s{0,20}(?:\*/)?$|;$"
)


def load_encodings(source: Path, declared: str) -> None:
    """Load the code of all encodings that a page may be in: Python loads it late, which a confined process can't."""
    with source.open("rb") as file:
        named = NAMED.findall(file.read(PRESCANNED))[:MOST_NAMED]
    # The Japanese encodings are used to decode ISO-2022-JP too.
    for label in (FALLBACK, "shift_jis", "euc-jp", declared, *(name.decode() for name in named)):
        _encoding(label)


def make_page(job: Job) -> str:
    """Return the facts of a page as the result of its process. `load_encodings` is called before."""
    data = Path(job.source).read_bytes()
    return json.dumps({"page": asdict(facts_of(_decoded(data, _charset_of(data[:PRESCANNED], job.kind))))})


def _charset_of(head: bytes, declared: str) -> str:
    """Return the name of a page's encoding by WHATWG's rules: by its mark, its header, or its own declaration.

    Empty if it has none.
    """
    if marked := next((name for mark, name in MARKS if head.startswith(mark)), ""):
        return marked
    return _encoding(declared) or _encoding_inside(head.decode("latin-1"))


def _encoding_inside(head: str) -> str:
    xml = IN_XML.match(head)
    labels = (*(xml.groups() if xml else ()), *PageParser.read(head).charsets)
    named = next((found for label in labels if (found := _encoding(label))), "")
    return IMPOSSIBLE_INSIDE.get(named, named)


def _encoding(label: str) -> str:
    """Return the name of the encoding that a label names, and load its code. Empty if there is none."""
    # Its code may be missing, and a confined process can't read it: the label is written with references, or is one of
    # too many.
    with suppress(LookupError, OSError):
        found = webencodings.lookup(label.strip("\"'"))
        if found is not None and found.name in SUPERSETS:
            found = webencodings.lookup(SUPERSETS[found.name])
        return found.name if found is not None else ""
    return ""


def facts_of(text: str) -> PageFacts:
    """Return the facts that the text of a page states."""
    reader = PageParser.read(text)
    late_language = LATE_LANGUAGE.search(text, 0, PRESCANNED)
    own = _without_cdata(reader.title.strip())
    own = own if has_letters(own) else ""
    linked = _linked(reader.scripts, own)
    said = {fact: reader.first(names) for fact, names in METAS.items()}
    facts = {fact: said.get(fact) or linked.get(fact, "") for fact in (*METAS, "author_url")}
    if not facts["author_url"].startswith(WEB):
        facts["author_url"] = linked.get("author_url", "")
    if facts["author_name"].startswith(WEB):
        facts["author_url"] = facts["author_url"] or facts["author_name"]
        facts["author_name"] = "" if linked.get("author_name", "").startswith(WEB) else linked.get("author_name", "")
    facts |= {
        "title": facts["title"] or own,
        "language": reader.language or (late_language[1] if late_language else "") or facts["language"],
        "oembed": reader.oembed,
        "base": reader.base,
        "refresh": "" if facts["title"] or reader.oembed else reader.refresh,
    }
    if own:  # it shows if the other title was escaped twice
        facts["title"] = as_meant(facts["title"], own)
    facts |= {name: as_meant(facts[name], own) for name in ESCAPED_TWICE}
    if MARKUP.fullmatch(facts["description"].strip()):
        facts["description"] = unescape(ANY_TAG.sub(" ", facts["description"])).strip()
    # Addresses that were escaped twice are frequent, and none has this in it.
    facts |= {name: facts[name].replace("&amp;", "&") for name in ADDRESSES}
    return PageFacts(
        **{name: value[: LONGEST_ADDRESS if name in ADDRESSES else LONGEST_TEXT] for name, value in facts.items()}
    )


class PageParser:
    """Gathers the facts from the tags of a page."""

    def __init__(self) -> None:
        self.title = ""
        self.language = ""
        self.oembed = ""
        self.base = ""
        self.refresh = ""
        self.scripts: list[str] = []
        self.charsets: list[str] = []  # the encodings that the page declares
        self._metas: dict[str, str] = {}
        self._is_other_picture = False  # the following tags describe another picture than the first
        self._inside = ""  # the title, or a script with JSON-LD
        self._open = 0  # the number of open elements
        self._apart = 0  # the number of open elements that are not shown: drawings, templates, `noscript`

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the reader of a page, which has read the whole text."""
        reader = cls()
        parser = new_parser(target=reader, encoding="utf-8")
        data = text.replace("\0", "").encode("utf-8", "replace")
        with suppress(EmptyDocument):  # nothing is in the page
            for at in range(0, len(data), FED_AT_ONCE):
                parser.feed(data[at : at + FED_AT_ONCE])
                if reader._open > MOST_OPEN:
                    break
            parser.close()
        return reader

    def first(self, names: tuple[str, ...]) -> str:
        """Return the first of these that the page states."""
        return next((value for name in names if (value := self._metas.get(name))), "")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._open += 1
        given = {name: value.strip() for name, value in attributes.items()}
        match tag:
            case "meta":
                self._take_charset(given)
                self._take_refresh(given)
                for name in (given.get("property"), given.get("name"), given.get("itemprop")):
                    if name:
                        self._take_meta(name.lower(), given.get("content", ""))
            case "link":
                self._take_link(given)
            case "html":
                self.language = self.language or given.get("lang") or given.get("xml:lang", "")
            case "base":
                self.base = self.base or given.get("href", "")
            case "title" if not self._apart and not has_letters(self.title):
                self._inside, self.title = "title", ""
            case "script" if given.get("type", "").lower().split(";")[0].strip() == "application/ld+json":
                if len(self.scripts) < MOST_SCRIPTS:
                    self.scripts.append("")
                    self._inside = "script"
            case "svg" | "template" | "noscript":
                self._apart += 1
            case _:
                pass

    def end(self, tag: str) -> None:
        self._open -= 1
        if tag == self._inside:
            self._inside = ""
        elif tag in ("svg", "template", "noscript"):
            self._apart = max(0, self._apart - 1)

    def data(self, data: str) -> None:
        if self._inside == "title" and len(self.title) < LONGEST_TEXT:
            self.title += data
        elif self._inside == "script" and len(self.scripts[-1]) < LONGEST_LINKED_DATA:
            self.scripts[-1] += data

    def close(self) -> None:
        """End the page: the parser calls this."""

    def _take_charset(self, given: Mapping[str, str]) -> None:
        if "charset" in given:
            self.charsets.append(given["charset"])
        elif given.get("http-equiv", "").lower() == "content-type" and (
            found := IN_CONTENT.search(given.get("content", ""))
        ):
            self.charsets.append(found[1] or found[2] or found[3])

    def _take_meta(self, name: str, content: str) -> None:
        if not has_letters(content):
            return
        is_no_picture = name in METAS["image"] and NO_PICTURE.fullmatch(content) is not None
        if name == "og:image":  # it begins the description of a picture, which ends at the next `og:image`
            self._is_other_picture = is_no_picture or name in self._metas
        if not is_no_picture and not (self._is_other_picture and name.startswith("og:image:")):
            self._metas.setdefault(name, content[:LONGEST_ADDRESS])

    def _take_refresh(self, given: Mapping[str, str]) -> None:
        if given.get("http-equiv", "").lower() == "refresh" and not self._apart:
            found = REFRESH.match(given.get("content", "")[:LONGEST_ADDRESS])
            if found is not None and int(found[1]) <= LONGEST_REFRESH:
                self.refresh = self.refresh or found[2].strip()

    def _take_link(self, given: Mapping[str, str]) -> None:
        relations = given.get("rel", "").lower().split()
        if "alternate" in relations and given.get("type", "").lower().split(";")[0].strip() in OEMBED_TYPES:
            self.oembed = self.oembed or given.get("href", "")
        elif "image_src" in relations:
            self._take_meta("image", given.get("href", ""))


def _decoded(data: bytes, charset: str) -> str:
    if charset == "euc-jp":
        return _from_euc_jp(data)
    if charset == "iso-2022-jp":
        return _from_iso_2022_jp(data)
    if charset and (encoding := webencodings.lookup(charset)):
        return encoding.codec_info.decode(data, BROWSER)[0].removeprefix("\ufeff")
    # The end may be in the middle of a character, because long pages are cut.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    # A page may have a few bytes in another encoding, pasted or cut. In a page of another encoding nearly no letter is
    # UTF-8 by chance.
    wrong, others = text.count("\ufffd"), len(text) - len(text.encode("ascii", "ignore"))
    return data.decode("cp1252", BROWSER) if wrong * 2 > others else text


def _as_browsers_read(error: UnicodeError) -> tuple[str, int]:
    """Return the character for bytes that a codec of Python has none for, and where to continue."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start]
    if error.encoding == "gb18030" and byte == 0x80:
        return EURO, error.start + 1
    return (chr(byte) if error.encoding == "charmap" and byte < 0xA0 else "\ufffd"), error.end


codecs.register_error(BROWSER, _as_browsers_read)


def _from_euc_jp(data: bytes) -> str:
    """Return text in EUC-JP as browsers read it, with the characters that Windows added to JIS X 0208."""
    pieces: list[str] = []
    for found in EUC_JP.finditer(data):
        if found[1]:
            pieces.append(_from_rows(found[1][0] - 0xA0, found[2][0] - 0xA0))
        else:
            pieces.append(found[0].decode("euc_jp", "replace"))
    return "".join(pieces)


def _from_iso_2022_jp(data: bytes) -> str:
    def in_euc(found: re.Match[bytes]) -> bytes:
        return bytes(byte | 0x80 if byte > 0x20 else byte for byte in found[1])

    return _from_euc_jp(re.sub(rb"\x1b\([BJ]", b"", ISO_2022_JP.sub(in_euc, data)))


@cache
def _from_rows(row: int, cell: int) -> str:
    """Return the character at a place of JIS X 0208. Shift_JIS, whose codec has all of them, packs two rows in one."""
    first = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
    second = cell + 0x9E if row % 2 == 0 else cell + (0x3F if cell <= 63 else 0x40)
    return bytes((first, second)).decode("cp932", "replace")


# JSON-LD ------------------------------------------------------------------------------------------------------------


def _linked(scripts: list[str], shown: str) -> dict[str, str]:
    """Return the facts of the first work that the scripts describe. `shown` is the title that the page shows."""
    for script in scripts:
        try:
            root = json.loads(WRAPPING.sub("", script.strip()), strict=False)  # pages have line feeds inside of texts
        except (ValueError, RecursionError):
            continue
        objects = list(islice(_objects(root, DEEPEST), MOST_OBJECTS))
        known = {name: found for found in objects if isinstance(name := found.get("@id"), str) and len(found) > 1}
        for found in objects:
            if any(name.endswith(WORKS) for name in _types(found)) and (facts := _facts(found, known)):
                return {name: text if name in ADDRESSES else as_meant(text, shown) for name, text in facts.items()}
    return {}


def _objects(value: object, depth: int) -> Iterator[dict[str, object]]:
    """Return an object and the objects in it, from the outside in."""
    if depth == 0:
        return
    if is_list(value):
        for entry in value[:MOST_OBJECTS]:
            yield from _objects(entry, depth - 1)
    elif is_object(value):
        yield value
        for name in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _objects(value.get(name), depth - 1)


def _types(found: dict[str, object]) -> set[str]:
    given = found.get("@type")
    types = given if is_list(given) else [given]
    return {name.lower() for name in types if isinstance(name, str)}


def _facts(found: dict[str, object], known: Mapping[str, dict[str, object]]) -> dict[str, str]:
    def text(name: str, *keys: str) -> str:
        return _text(found.get(name), keys, known)

    facts = {
        "title": text("headline") or text("name"),
        "description": text("description"),
        "provider_name": text("publisher", "name"),
        "author_name": text("author", "name"),
        "author_url": "" if isinstance(_first(found.get("author")), str) else text("author", "url"),
        "image": text("image", "url", "contentUrl") or text("thumbnailUrl"),
        "language": text("inLanguage"),
        "published_at": text("datePublished") or text("uploadDate"),
    }
    return {name: value for name, value in facts.items() if value}


def _text(value: object, keys: Sequence[str], known: Mapping[str, dict[str, object]]) -> str:
    """Return a text, or the text of an object under one of `keys`. Empty if there is none.

    Of a list the first entry is read. An object may be a reference, by its id, to another object of the same script.
    """
    value = _first(value)
    if is_object(value):
        other = known.get(str(value.get("@id")), {})
        candidates = (_first(found.get(key)) for found in (value, other) for key in keys)
        value = next((text for text in candidates if isinstance(text, str) and text), None)
    return _whole(value.strip()) if isinstance(value, str) else ""


def _first(value: object) -> object:
    return next(iter(value), None) if is_list(value) else value


def _without_cdata(text: str) -> str:
    """Return a title without the marks that only readers of XML know."""
    marked = CDATA.fullmatch(text)
    return marked[1].strip() if marked else text


def _whole(text: str) -> str:
    """Return a text without halves of characters: JSON may have them, where a program cut a text."""
    return text.encode("utf-8", "replace").decode()
