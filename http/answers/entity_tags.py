"""Entity tags, by which clients revalidate their copies (RFC 9110, section 13).

Public pages and feeds (`cacheable` in `web/layout.py`) have a tag made of their body, media files (`api/files.py`) the
tag of their name. The JSON of the API has none: its answers have `no-store`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256

from .answer import Answer

# Weak ones too, which are compared by their text. Apache marks the tags of what it compresses, and asks with the mark.
ETAG = re.compile(r'"([^"]*?)(?:-(?:gzip|br|zstd|deflate))?"')


def is_known(tag: str, if_none_match: str | None) -> bool:
    """True if the header If-None-Match of a request has this entity tag."""
    return tag.strip('"') in ETAG.findall(if_none_match or "")


def tagged(answer: Answer, if_none_match: str | None, if_modified_since: str | None = None) -> Answer:
    """Return the answer with an entity tag made of its body, or a 304 without a body if the client has it already.

    A client that knows no tags names the time of its copy. It counts only if it is the answer's own `Last-Modified`, as
    nginx does it: after a deletion, this may be an earlier one.
    """
    tag = f'"{sha256(answer.body).hexdigest()[:32]}"'
    answer = replace(answer, headers=(*answer.headers, ("ETag", tag)))
    if if_none_match is None:
        has_copy = if_modified_since is not None and ("Last-Modified", if_modified_since) in answer.headers
    else:
        has_copy = is_known(tag, if_none_match)
    return replace(answer, body=b"", status=304) if has_copy else answer
