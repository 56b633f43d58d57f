"""The HTML of statuses, biographies and profile fields, made from the texts of people (contract 1 and 15)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args
from urllib.parse import quote

import regex

from . import markdown, markup
from .markup import one_line, plain, sanitise, tidy, trimmed
from .scan import Entity, EntityFinder, FoundLink, FoundMention, Hashtag, Scan, find, tag_name, whole_hashtag

__all__ = [
    "ContentType",
    "Entity",
    "FoundLink",
    "FoundMention",
    "Hashtag",
    "MentionTarget",
    "Scan",
    "content_type",
    "one_line",
    "plain",
    "render",
    "render_elsewhere",
    "render_field_value",
    "render_note",
    "sanitise",
    "scan",
    "tag_name",
    "tag_url",
    "tidy",
    "trimmed",
    "whole_hashtag",
    "without_local_domain",
]

ContentType = Literal["text/plain", "text/markdown", "text/html"]
CONTENT_TYPES: tuple[ContentType, ...] = get_args(ContentType)

# The shown part of a link, after the scheme and `www.`. A longer text ends in an ellipsis, which the style sheet draws.
SHOWN_OF_LINK = 30
# The Markdown parser needs 5 ms for this length, but seconds for the worst texts of ten times the length. A status has
# 500 visible characters; longer texts are filled with invisible characters.
MARKDOWN_CHARACTERS = 10_000
# Characters with a meaning for the parser, line feeds included. They take most of its time.
MARKDOWN_SIGNS = 1_500
LINE_FEED = "\n"
# Of a link, this is not shown. Other schemes are, because a reader would take the rest for the address of a web page.
HIDDEN_PREFIX = regex.compile(r"(?i:https?://(?:www\.)?|xmpp:)?")
MARKDOWN_SIGN = regex.compile(r"[\n*_~`\[\]<>&!\\]")


@dataclass(frozen=True, slots=True)
class MentionTarget:
    """The account that a handle stands for. `domain` is None for accounts of this server."""

    username: str
    domain: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Targets:
    """The addresses that mentions and hashtags link to. Hashtags stay text without `tag_url`."""

    mentions: Mapping[str, MentionTarget]
    tag_url: Callable[[str], str] | None
    local_domain: str


def content_type(asked: str | None) -> ContentType:
    """Return the content type that a client asked for. An unknown one is plain text."""
    return asked if asked in CONTENT_TYPES else "text/plain"


def tag_url(base_url: str, name: str) -> str:
    """Return the page of a hashtag, percent-encoded: names may be in any script."""
    return f"{base_url}/tags/{quote(name)}"


def tagged_url(profile: str, name: str) -> str:
    """Return the page of an account's statuses with a hashtag, percent-encoded. `profile` is its other page."""
    return f"{profile}/tagged/{quote(name)}"


def scan(text: str, content_type: ContentType = "text/plain") -> Scan:
    """Return the links, mentions and hashtags of a text.

    Positions are positions in `tidy(text)`. In Markdown and HTML, where code and the text of links do not count, they
    are positions in the run of text that contains the entity.
    """
    if _is_plain(text, content_type):
        return Scan(tuple(find(tidy(text))))
    found: list[Entity] = []
    finder = EntityFinder()

    def note(before: str, run: str) -> str:
        found.extend(finder.find(before + run, len(before)))
        return ""

    markup.map_text(_safe_html(text, content_type), note)
    return Scan(tuple(found))


def render(
    text: str,
    *,
    mentions: Mapping[str, MentionTarget],
    tag_url: Callable[[str], str],
    local_domain: str,
    content_type: ContentType = "text/plain",
) -> str:
    """Return a status as safe HTML. `mentions` has the accounts by `FoundMention.handle`. Other handles stay text."""
    return _rendered(text, Targets(mentions, tag_url, local_domain), content_type)


def render_elsewhere(text: str, content_type: ContentType) -> str:
    """Return a status that another server wrote as plain text or Markdown as safe HTML.

    Handles and hashtags stay text: only their server knows which accounts and pages they mean. In long texts, so do
    addresses.
    """
    if len(text) > MARKDOWN_CHARACTERS:
        return sanitise(f"<p>{markup.escape(tidy(text)).replace(LINE_FEED, '<br>')}</p>")
    return _rendered(text, Targets({}, None, ""), content_type)


def _rendered(text: str, targets: Targets, content_type: ContentType) -> str:
    finder = EntityFinder()
    if _is_plain(text, content_type):
        return "".join(f"<p>{paragraph}</p>" for paragraph in _paragraphs(tidy(text), targets, finder))

    def write(before: str, run: str) -> str:
        return _linked(before + run, targets, finder, len(before))

    return sanitise(markup.map_text(_safe_html(text, content_type), write))


def render_note(
    text: str, *, mentions: Mapping[str, MentionTarget], tag_url: Callable[[str], str], local_domain: str
) -> str:
    """Return a biography as safe HTML."""
    return render(text, mentions=mentions, tag_url=tag_url, local_domain=local_domain)


def render_field_value(
    value: str, *, mentions: Mapping[str, MentionTarget], tag_url: Callable[[str], str], local_domain: str
) -> str:
    """Return the value of a profile field as safe HTML: a single line, with `rel="me"` on its links.

    `sanitise` removes `rel="me"`, because HTML of other people must not claim a link in this server's name.
    """
    line = " ".join(tidy(value).split("\n"))
    return _linked(line, Targets(mentions, tag_url, local_domain), EntityFinder(), rel=f"me {markup.LINK_REL}")


def without_local_domain(text: str, local_domain: str) -> str:
    """Return the text as it is stored: accounts of this server are mentioned without their domain."""
    text = tidy(text)
    pieces: list[str] = []
    done = 0
    for entity in find(text):
        if isinstance(entity, FoundMention) and entity.domain == local_domain.lower():
            pieces += [text[done : entity.start], "@", entity.name]
            done = entity.end
    return "".join([*pieces, text[done:]])


def _is_plain(text: str, content_type: ContentType) -> bool:
    """True for plain text, and for Markdown that would take the parser too long."""
    if content_type != "text/markdown":
        return content_type == "text/plain"
    return len(text) > MARKDOWN_CHARACTERS or len(MARKDOWN_SIGN.findall(text)) > MARKDOWN_SIGNS


# A post is scanned, then rendered: the slow part, common to both, is done once.
@lru_cache(maxsize=4)
def _safe_html(text: str, content_type: ContentType) -> str:
    if content_type == "text/markdown":
        return sanitise(markdown.to_html(tidy(text)))
    return markup.unwrap(sanitise(text), " ")


def _paragraphs(text: str, targets: Targets, finder: EntityFinder) -> Iterator[str]:
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.strip():
            lines.append(_linked(line, targets, finder))
        elif lines:
            yield "<br>".join(lines)
            lines = []


def _linked(text: str, targets: Targets, finder: EntityFinder, start: int = 0, rel: str = markup.LINK_REL) -> str:
    """Return text from `start` on as HTML, with links, mentions and hashtags made links."""
    pieces: list[str] = []
    done = start
    for entity in finder.find(text, start):
        pieces.append(markup.escape(text[done : entity.start]))
        pieces.append(_entity(entity, targets, rel) or markup.escape(text[entity.start : entity.end]))
        done = entity.end
    pieces.append(markup.escape(text[done:]))
    return "".join(pieces)


def _entity(entity: Entity, targets: Targets, rel: str) -> str | None:
    if isinstance(entity, FoundLink):
        return _link(entity.url, rel)
    if isinstance(entity, Hashtag):
        return None if targets.tag_url is None else _hashtag(entity, targets.tag_url(entity.name))
    target = targets.mentions.get(entity.handle(targets.local_domain))
    return _mention(target) if target else None


def _link(url: str, rel: str) -> str:
    hidden = HIDDEN_PREFIX.match(url)
    shown_from = hidden.end() if hidden else 0
    shown_to = shown_from + SHOWN_OF_LINK
    prefix, shown, rest = (markup.escape(part) for part in (url[:shown_from], url[shown_from:shown_to], url[shown_to:]))
    middle = '<span class="ellipsis">' if rest else "<span>"
    return (
        markup.anchor({"href": markup.escape_attribute(url), "rel": rel, "translate": "no"})
        + f'<span class="invisible">{prefix}</span>{middle}{shown}</span><span class="invisible">{rest}</span></a>'
    )


def _mention(target: MentionTarget) -> str | None:
    # The address comes from the account's own server, which may not hand out `javascript:`.
    if not target.url.startswith(("https://", "http://")):
        return None
    opening = markup.anchor({"href": markup.escape_attribute(target.url), "class": "u-url mention"})
    name = markup.escape(target.username)
    return f'<span class="h-card" translate="no">{opening}@<span>{name}</span></a></span>'


def _hashtag(hashtag: Hashtag, url: str) -> str:
    opening = markup.anchor({"href": markup.escape_attribute(url), "class": "mention hashtag"})
    return f"{opening}#<span>{markup.escape(hashtag.text)}</span></a>"
