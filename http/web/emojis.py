"""Custom emoji on pages: pictures in place of names in colons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.rules.emojis import USE
from ...actors.rules.markup import escape, escape_attribute, map_text
from ...storage.custom_emojis import RemoteEmoji
from ..entities.custom_emoji import emoji_fields, remote_emoji_fields

# The base of picture URLs on pages. They are relative, so that they work under each domain of the server.
HERE = ""

# Returns the fields of the API for the emoji with a name; None if the text may not use it.
FindEmoji: TypeAlias = Callable[[str], Mapping[str, object] | None]


def local_emojis(emojis: CustomEmojis) -> FindEmoji:
    """Return the emoji of this server, which texts of its accounts may use."""

    def find(shortcode: str) -> Mapping[str, object] | None:
        emoji = emojis.find(shortcode)
        return None if emoji is None else emoji_fields(emoji, HERE)

    return find


def remote_emojis(emojis: Iterable[RemoteEmoji]) -> FindEmoji:
    """Return the emoji of a text of another server. Its names mean emoji of that server."""
    return {emoji.shortcode: remote_emoji_fields(emoji, HERE) for emoji in emojis}.get


def text_with_emojis(text: str, find: FindEmoji) -> str:
    """Return plain text as safe HTML with the pictures of its emoji."""
    return html_with_emojis(escape(text), find)


def html_with_emojis(html: str, find: FindEmoji) -> str:
    """Return safe HTML with the pictures of its emoji. Attributes, code and the texts of links are not changed.

    A picture in the text of a link could hide a part of its URL.
    """
    if ":" not in html:
        return html

    def write(before: str, text: str) -> str:
        line, done = before + text, len(before)
        pieces: list[str] = []
        for found in USE.finditer(line, done):
            if (emoji := find(found["shortcode"])) is not None:
                pieces += (escape(line[done : found.start()]), _picture(emoji))
                done = found.end()
        return "".join((*pieces, escape(line[done:])))

    return map_text(html, write)


def _picture(fields: Mapping[str, object]) -> str:
    """Return the picture. It is not animated for people whose system prefers reduced motion."""
    still, moving, name = (escape_attribute(str(fields[key])) for key in ("static_url", "url", "shortcode"))
    return (
        f'<picture><source srcset="{still}" media="(prefers-reduced-motion: reduce)">'
        f'<img class="emoji" src="{moving}" alt=":{name}:" title=":{name}:" loading="lazy"></picture>'
    )
