"""Media types and header fields with parameters, as RFC 9110 writes them: `type/subtype; name=value; name="value"`.

Names and types are compared without regard to case, and values may be quoted. Spaces and the order of parameters do not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .vocabulary import CONTENT_TYPE

LONGEST_FIELD = 8192  # characters of a header field that are read

JSON_LD = "application/ld+json"
PROFILE = "https://www.w3.org/ns/activitystreams"

WORD = r"[\w!#$%&'*+.^`|~-]++"
PARAMETER = rf'\s*+;\s*+(?P<name>{WORD})?+\s*+(?:=\s*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<bare>[^\s;,"]*+)))?+'
EACH_PARAMETER = re.compile(PARAMETER)
PARAMETERS = rf"(?:{re.sub(r'[?]P<[a-z]+>', '?:', PARAMETER)})*+"
ENTRY = re.compile(rf"(?P<value>[^\s;,\"<>]++)(?P<parameters>{PARAMETERS})")
LINK = re.compile(rf"<(?P<value>[^<>]{{1,2048}})>(?P<parameters>{PARAMETERS})")
ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Entry:
    """An element of a header field: a media type or the address of a link, with its parameters by their names in
    lower case. If a parameter is there twice, the first counts."""

    value: str
    parameters: dict[str, str]


def entries_of(field: str) -> Iterator[Entry]:
    """Yield the media types of a field such as `Accept`, in lower case."""
    for found in ENTRY.finditer(field[:LONGEST_FIELD]):
        yield Entry(found["value"].lower(), _parameters(found["parameters"]))


def links_of(field: str) -> Iterator[Entry]:
    """Yield the links of a field `Link` (RFC 8288). Their addresses may be relative."""
    for found in LINK.finditer(field[:LONGEST_FIELD]):
        yield Entry(found["value"].strip(), _parameters(found["parameters"]))


def names_document(media_type: str) -> bool:
    """True for the two media types of ActivityPub: its own, and JSON-LD with the profile of ActivityStreams."""
    entry = next(entries_of(media_type), None)
    if entry is None:
        return False
    # A profile is a list of URIs, separated by spaces.
    return entry.value == CONTENT_TYPE or (
        entry.value == JSON_LD and PROFILE in entry.parameters.get("profile", "").split()
    )


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for found in EACH_PARAMETER.finditer(text):
        quoted = found["quoted"]
        value = (found["bare"] or "") if quoted is None else ESCAPED.sub(r"\1", quoted)
        parameters.setdefault((found["name"] or "").lower(), value)
    return parameters
