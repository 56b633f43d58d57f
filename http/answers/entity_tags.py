"""Entity tags, by which a client asks whether the copy that it has is still the newest (RFC 9110, section 13)."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256

from .answer import Answer

ETAG = re.compile(r'"[^"]*"')  # weak ones too, which are compared by their text


def is_known(tag: str, if_none_match: str | None) -> bool:
    """True if the header If-None-Match of a request has this entity tag."""
    return tag in ETAG.findall(if_none_match or "")


def tagged(answer: Answer, if_none_match: str | None) -> Answer:
    """Return the answer with an entity tag made of its body, or a 304 without a body if the client has it already."""
    tag = f'"{sha256(answer.body).hexdigest()[:32]}"'
    answer = replace(answer, headers=(*answer.headers, ("ETag", tag)))
    return replace(answer, body=b"", status=304) if is_known(tag, if_none_match) else answer
