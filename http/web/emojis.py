"""Custom emoji on pages: pictures in the place of their names in colons."""

from __future__ import annotations

from ...actors.custom_emojis import CustomEmojis
from ...actors.rules.emojis import USE
from ...actors.rules.markup import escape, escape_attribute, map_text
from ...storage.custom_emojis import CustomEmoji
from ..entities.custom_emoji import emoji_fields

# Pages name pictures without the server, so that they are seen under each name of it.
HERE = ""


def text_with_emojis(text: str, emojis: CustomEmojis) -> str:
    """Return plain text as safe HTML with the pictures of its emoji."""
    return html_with_emojis(escape(text), emojis)


def html_with_emojis(html: str, emojis: CustomEmojis) -> str:
    """Return safe HTML with the pictures of its emoji. Attributes, code and the texts of links stay as they are.

    A picture in the text of a link could hide a part of the address.
    """
    if ":" not in html:
        return html

    def write(before: str, text: str) -> str:
        line, done = before + text, len(before)
        pieces: list[str] = []
        for found in USE.finditer(line, done):
            if (emoji := emojis.find(found["shortcode"])) is not None:
                pieces += (escape(line[done : found.start()]), _picture(emoji))
                done = found.end()
        return "".join((*pieces, escape(line[done:])))

    return map_text(html, write)


def _picture(emoji: CustomEmoji) -> str:
    """The picture, which does not move for people who have asked their system for less motion."""
    fields = emoji_fields(emoji, HERE)
    still, moving, name = (escape_attribute(str(fields[key])) for key in ("static_url", "url", "shortcode"))
    return (
        f'<picture><source srcset="{still}" media="(prefers-reduced-motion: reduce)">'
        f'<img class="emoji" src="{moving}" alt=":{name}:" title=":{name}:" loading="lazy"></picture>'
    )
