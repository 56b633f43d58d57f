"""Requests files from other servers: each server that a redirect leads to is checked like the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..activitypub.uris import web_address
from ..outgoing.client import REDIRECTS, OutgoingAnswer
from ..outgoing.messages import AnswerTooLarge
from ..outgoing.targets import RequestTarget, redirected

HOPS = 3

# Returns the target of a URL. Raises ForbiddenTarget for a server from which no files are requested.
FindTarget = Callable[[str], RequestTarget]


async def request_file(
    url: str, find_target: FindTarget, send: Callable[[str], Awaitable[OutgoingAnswer]]
) -> OutgoingAnswer:
    """Return the answer of the server that has a file. Raise OutgoingFailure if there is no answer, or too many
    redirects."""
    # Browsers percent-encode them too: some servers write spaces into addresses.
    target = find_target(web_address(url))
    for _ in range(HOPS + 1):
        answer = await send(target.url)
        location = answer.headers.get("location")
        if answer.status not in REDIRECTS or location is None:
            return answer
        target = redirected(target, web_address(location.strip()), find_target)
    raise AnswerTooLarge("too many redirects")
