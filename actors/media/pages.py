"""Reading the head of a web page for its preview, in a process of its own: what the page says of itself, as texts.

A page may be made to harm its reader. Only tags are read and no tree is made, so nesting costs nothing. A page that
takes the parser long ends at the process's limit of CPU time.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

from ...storage.engine.json_values import JsonObject
from .jobs import Job

PRESCANNED = 4096  # bytes in which a page declares its encoding
LONGEST_ADDRESS = 2048  # characters
LONGEST_TEXT = 1000
LONGEST_LINKED_DATA = 128 * 1024  # characters of one script with JSON-LD
MOST_SCRIPTS = 4
DEEPEST = 6  # objects in objects of JSON-LD
MOST_OBJECTS = 100

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
DECLARED = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s{0,10}=\s{0,10}["']?([A-Za-z0-9_.:-]{1,40})"""
)
# Browsers take these for Windows' encoding, which has more characters.
LATIN = frozenset({"ascii", "iso8859-1"})
FALLBACK = "cp1252"

# The names of `<meta>` by the fact they state, the best one first.
METAS: dict[str, tuple[str, ...]] = {
    "title": ("og:title", "twitter:title"),
    "description": ("og:description", "twitter:description", "description"),
    "provider_name": ("og:site_name", "application-name"),
    "author_name": ("author", "article:author", "twitter:creator"),
    "author_url": ("article:author",),
    "image": ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
    "image_description": ("og:image:alt", "twitter:image:alt"),
    "creator": ("fediverse:creator",),
    "language": ("og:locale", "language"),
    "published_at": ("article:published_time", "date"),
    "player": ("og:video:secure_url", "og:video:url", "og:video", "twitter:player"),
    "width": ("og:video:width", "twitter:player:width"),
    "height": ("og:video:height", "twitter:player:height"),
}

ADDRESSES = frozenset({"author_url", "image", "player", "oembed", "base"})

# The types of JSON-LD that describe a page.
WORKS = frozenset(
    {"article", "newsarticle", "reportagenewsarticle", "blogposting", "socialmediaposting", "webpage", "videoobject"}
)


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts that a page states; empty texts are not said. Addresses are as written, numbers are texts."""

    title: str = ""
    description: str = ""
    provider_name: str = ""
    author_name: str = ""
    author_url: str = ""
    creator: str = ""  # the handle of an account
    image: str = ""
    image_description: str = ""
    language: str = ""
    published_at: str = ""
    player: str = ""
    width: str = ""
    height: str = ""
    oembed: str = ""  # the address of its oEmbed answer
    base: str = ""  # what its addresses are relative to, unless to its own


def charset_of(source: Path, declared: str) -> str:
    """Return the encoding of a page: of its mark, its header, its own declaration, else a guess.

    Python loads the code of an encoding when it is first named. A confined process can't, so this is called before.
    """
    codecs.lookup(FALLBACK)
    with source.open("rb") as file:
        head = file.read(PRESCANNED)
    named = next((name for mark, name in MARKS if head.startswith(mark)), None)
    inside = DECLARED.search(head)
    candidates = (named, declared, inside[1].decode("ascii") if inside else None)
    return next((found for one in candidates if one and (found := _text_encoding(one))), "")


def make_page(job: Job, charset: str) -> str:
    """Return the facts of a page as the result of its process."""
    text = _decoded(Path(job.source).read_bytes(), charset)
    return json.dumps({"page": asdict(facts_of(text))})


def page_of(result: JsonObject, job: Job) -> PageFacts:
    """Return the facts of a result. An attacker may control the process, so each part is checked. Raises ValueError."""
    known = {field.name for field in fields(PageFacts)}
    page = cast("dict[object, object]", result["page"])  # isinstance does not tell the types of its contents
    facts: dict[str, str] = {}
    for name, value in page.items():
        if name not in known or not isinstance(value, str) or len(value) > LONGEST_ADDRESS:
            raise ValueError("the facts about the page are not facts")
        facts[str(name)] = value
    return PageFacts(**facts)


def facts_of(text: str) -> PageFacts:
    """Return what the text of a page says of itself."""
    reader = PageParser()
    reader.feed(text)
    reader.close()
    linked = _linked(reader.scripts)
    said = {fact: reader.first(names) for fact, names in METAS.items()}
    facts = {fact: said.get(fact) or linked.get(fact, "") for fact in (*METAS, "author_url")}
    if not facts["author_url"].startswith(("https://", "http://")):
        facts["author_url"] = linked.get("author_url", "")
    elif facts["author_name"] == facts["author_url"]:
        facts["author_name"] = linked.get("author_name", "")
    facts |= {
        "title": facts["title"] or reader.title.strip(),
        "language": reader.language or facts["language"],
        "oembed": reader.oembed,
        "base": reader.base,
    }
    return PageFacts(
        **{name: value[: LONGEST_ADDRESS if name in ADDRESSES else LONGEST_TEXT] for name, value in facts.items()}
    )


def frame_of(html: str) -> dict[str, str]:
    """Return the attributes of the first `<iframe>` in a short piece of HTML."""
    reader = PageParser()
    reader.feed(html)
    return reader.frame


class PageParser(HTMLParser):
    """Gathers the facts from the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.language = ""
        self.oembed = ""
        self.base = ""
        self.scripts: list[str] = []
        self.frame: dict[str, str] = {}
        self._metas: dict[str, str] = {}
        self._inside = ""  # the title, or a script with JSON-LD
        self._drawings = 0  # SVG has titles of its own

    def first(self, names: tuple[str, ...]) -> str:
        """Return the first of these that the page states."""
        return next((value for name in names if (value := self._metas.get(name))), "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in reversed(attrs)}  # the first one of a name counts
        match tag:
            case "meta":
                for name in (given.get("property"), given.get("name")):
                    if name and given.get("content"):
                        self._metas.setdefault(name.lower(), given["content"][:LONGEST_ADDRESS])
            case "link":
                self._take_link(given)
            case "html":
                self.language = self.language or given.get("lang", "")
            case "base":
                self.base = self.base or given.get("href", "")
            case "title" if not self._drawings and not self.title:
                self._inside = "title"
            case "script" if given.get("type", "").lower() == "application/ld+json":
                if len(self.scripts) < MOST_SCRIPTS:
                    self.scripts.append("")
                    self._inside = "script"
            case "svg":
                self._drawings += 1
            case "iframe":
                self.frame = self.frame or given
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""
        elif tag == "svg":
            self._drawings = max(0, self._drawings - 1)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip `<![`. In HTML it begins a comment; the library raises for most of what may follow."""
        return self.parse_bogus_comment(i)

    def handle_data(self, data: str) -> None:
        if self._inside == "title" and len(self.title) < LONGEST_TEXT:
            self.title += data
        elif self._inside == "script" and len(self.scripts[-1]) < LONGEST_LINKED_DATA:
            self.scripts[-1] += data

    def _take_link(self, given: Mapping[str, str]) -> None:
        relations = given.get("rel", "").lower().split()
        if "alternate" in relations and given.get("type", "").lower() == "application/json+oembed":
            self.oembed = self.oembed or given.get("href", "")


def _text_encoding(name: str) -> str | None:
    """Return Python's name of an encoding of texts. None for a name that is none."""
    with suppress(LookupError, ValueError):
        known = codecs.lookup(name.strip().strip("\"'"))
        if getattr(known, "_is_text_encoding", False) and known.name not in NO_CHARSETS:
            return FALLBACK if known.name in LATIN else known.name
    return None


# Python's own, which no page is in; their decoders can be slow.
NO_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7", "mbcs"})


def _decoded(data: bytes, charset: str) -> str:
    if charset:
        return data.decode(charset, "replace").removeprefix("\ufeff")
    try:
        # The end may be in the middle of a character, because long pages are cut.
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return data.decode(FALLBACK, "replace")


# JSON-LD ------------------------------------------------------------------------------------------------------------


def _linked(scripts: list[str]) -> dict[str, str]:
    """Return the facts of the first work that the scripts describe."""
    for script in scripts:
        try:
            root = json.loads(script)
        except (ValueError, RecursionError):
            continue
        for number, found in enumerate(_objects(root, DEEPEST)):
            if number == MOST_OBJECTS:
                break
            if _types(found) & WORKS and (facts := _facts(found)):
                return facts
    return {}


def _objects(value: object, depth: int) -> Iterator[dict[str, object]]:
    """Return an object and the objects in it, from the outside in."""
    if depth == 0:
        return
    if isinstance(value, list):
        for one in cast("list[object]", value)[:MOST_OBJECTS]:  # isinstance does not tell the types of its contents
            yield from _objects(one, depth - 1)
    elif isinstance(value, dict):
        named = cast("dict[str, object]", value)  # isinstance does not tell the types of its contents
        yield named
        for name in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _objects(named.get(name), depth - 1)


def _types(found: dict[str, object]) -> set[str]:
    given = found.get("@type")
    # isinstance does not tell the types of its contents
    types = cast("list[object]", given) if isinstance(given, list) else [given]
    return {one.lower() for one in types if isinstance(one, str)}


def _facts(found: dict[str, object]) -> dict[str, str]:
    facts = {
        "title": _text(found.get("headline")) or _text(found.get("name")),
        "description": _text(found.get("description")),
        "provider_name": _text(found.get("publisher"), "name"),
        "author_name": _text(found.get("author"), "name"),
        "author_url": _text(found.get("author"), "url"),
        "image": _text(found.get("image"), "url") or _text(found.get("thumbnailUrl")),
        "language": _text(found.get("inLanguage")),
        "published_at": _text(found.get("datePublished")) or _text(found.get("uploadDate")),
    }
    return {name: value for name, value in facts.items() if value}


def _text(value: object, key: str = "") -> str:
    """Return a text, or the text under `key` of an object; of a list those of the first one. Empty if there is none."""
    if isinstance(value, list):
        several = cast("list[object]", value)  # isinstance does not tell the types of its contents
        value = several[0] if several else None
    if isinstance(value, dict) and key:
        value = cast("dict[str, object]", value).get(key)  # isinstance does not tell the types of its contents
    return _whole(value.strip()) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """Return a text without halves of characters: JSON may have them, where a program cut a text."""
    return text.encode("utf-8", "replace").decode()
