"""The facts that a web page states for its preview, as the confined process that read the page returns them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, fields
from html import unescape

from ...storage.engine.json_values import JsonObject, is_object
from .jobs import Job

LONGEST_ADDRESS = 2048  # characters
BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs of which nothing is seen


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
    refresh: str = ""  # the address that the page leads to at once, if it states nothing else
    base: str = ""  # the base of its relative addresses, if it is not its own address


def page_of(result: JsonObject, job: Job) -> PageFacts:
    """Return the facts of a result. An attacker may control the process, so each part is checked. Raises ValueError."""
    known = {field.name for field in fields(PageFacts)}
    page = result["page"]
    if not is_object(page):
        raise ValueError("the facts about the page are not facts")
    facts: dict[str, str] = {}
    for name, value in page.items():
        if name not in known or not isinstance(value, str) or len(value) > LONGEST_ADDRESS:
            raise ValueError("the facts about the page are not facts")
        facts[name] = value
    return PageFacts(**facts)


def has_letters(text: str) -> bool:
    """True if there is anything to see in a text: more than spaces, controls and characters that are not shown."""
    return any(unicodedata.category(letter)[0] not in "CZ" and letter not in BLANK_LETTERS for letter in text)


def as_meant(text: str, shown: str) -> str:
    """Return a text of JSON whose author may have escaped it for HTML, as WordPress does: without these references.

    They stay where the page itself shows them, because then the text is about them.
    """
    decoded = unescape(text)
    return text if decoded == text or text.strip() in shown else decoded
