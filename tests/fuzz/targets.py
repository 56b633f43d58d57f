"""The readers of foreign texts, each with the largest size that is let in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from troupe.actors.activitypub.notes import read_note
from troupe.actors.federation.actor_documents import own_handle_of, profile_of
from troupe.actors.rules import filters, lengths, markup, text
from troupe.actors.rules.limits import TEXT_CODE_POINTS
from troupe.storage.filters import Filter, FilterKeyword
from troupe.storage.statuses import Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACTOR = "https://a.example/users/ada"


@dataclass(frozen=True)
class Target:
    """A reader: it gets texts of `size` characters."""

    name: str
    size: int
    read: Callable[[str], object]


class Shown:
    """The parts of a status that filters read."""

    id = 1
    spoiler_text = ""
    edited_at = poll = None
    media = ()

    def __init__(self, content: str) -> None:
        self.content = content


def _written(content_type: text.ContentType) -> Callable[[str], object]:
    """Return what a post goes through: texts that are too long are refused before the rest."""

    def write(source: str) -> object:
        if lengths.is_too_long(source):
            return None
        text.scan(source, content_type)
        return text.render(
            text.without_local_domain(source, "here.example"), mentions={}, tag_url=lambda name: f"/tags/{name}",
            local_domain="here.example", content_type=content_type,
        )  # fmt: skip

    return write


def _note(**parts: Any) -> object:
    document = {"id": f"{ACTOR}/1", "type": "Note", "attributedTo": ACTOR, "to": "as:Public", "content": "", **parts}
    return read_note(document, None, NOW)


def _tags(source: str) -> object:
    """Hashtags, people and emoji, as many as a document of the largest size has, named by pieces of the source."""
    names = [source[start : start + 120] for start in range(0, len(source), 120)]
    kinds = ({"type": "Hashtag"}, {"type": "Mention", "href": ACTOR}, {"type": "Emoji", "icon": {"url": ACTOR}})
    return _note(tag=[{**kind, "name": f"#{name}"} for name in names for kind in kinds])


def _profile(source: str) -> object:
    rows = [source[start : start + 2_000] for start in range(0, len(source), 2_000)]
    fields = [{"type": "PropertyValue", "name": row, "value": row} for row in rows]
    document = {
        "id": ACTOR, "type": "Person", "inbox": f"{ACTOR}/inbox", "preferredUsername": "ada", "name": source,
        "summary": source, "attachment": fields, "tag": [{"type": "Hashtag", "name": row} for row in rows],
    }  # fmt: skip
    return profile_of(document, own_handle_of(document), NOW)


def _found(source: str) -> object:
    """The search of 1,000 keywords of one viewer in a status that no viewer has searched before."""
    keywords = [
        FilterKeyword(n, source[n % 50 : n % 50 + 2 + n % 8] + chr(97 + n % 26), n % 2 == 0) for n in range(1_000)
    ]
    rows = [Filter(n, "", ("home",), "warn", None, tuple(keywords[n * 5 : n * 5 + 5])) for n in range(200)]
    searched = filters.Filters(tuple(rows))
    status = cast(Status, Shown(source))
    return searched.matches(status, None, filters.filter_text, NOW)


TARGETS = (
    Target("sanitise", markup.HTML_CHARACTERS, markup.sanitise),
    Target("a post of another server", 200_000, lambda source: _note(content=source)),
    Target("its warning", 200_000, lambda source: _note(summary=source)),
    Target("its tags", 300_000, _tags),
    Target("a profile of another server", 200_000, _profile),
    Target("a plain post", TEXT_CODE_POINTS, _written("text/plain")),
    Target("a post in Markdown", text.MARKDOWN_CHARACTERS, _written("text/markdown")),
    Target("a post in HTML", TEXT_CODE_POINTS, _written("text/html")),
    Target("a display name", TEXT_CODE_POINTS, markup.one_line),
    Target("filters", markup.HTML_CHARACTERS, _found),
    Target("a whole hashtag", 10_000, text.whole_hashtag),
)
