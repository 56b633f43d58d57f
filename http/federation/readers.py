"""The reader of a document: an actor of another server that has signed the request, or an unknown one.

Documents are shown by the rules of visibility, from the perspective of the actor's account. Where signatures are not
demanded, a request whose signature can't be proven is answered as one without.
"""

from __future__ import annotations

from dataclasses import replace

import trio

from ...actors.account import PerspectiveOf
from ...actors.activitypub.requests import ReceivedRequest, SignatureRefused
from ...actors.activitypub.signatures import claim_of
from ...actors.activitypub.vocabulary import host_of
from ...actors.broadcast.broadcast import account_address
from ...actors.federation.key_directory import KeyUnavailable
from ...actors.rules.visibility import ANONYMOUS, Perspective
from ...storage.accounts import Account
from ...storage.federation import peer_readers
from ..access.context import HttpContext
from ..answers.errors import BackendFailed, Forbidden, HttpError
from ..intake.request import Request

SIGNATURES = (b"signature", b"signature-input")
# For a key that is not known yet. The other server may wait for our answer before it can show the key.
SECONDS_FOR_KEY = 5.0


class Unsigned(HttpError):
    """Raised if a request has no good signature where one is needed."""

    status = 401

    def __init__(self, text: str = "Request not signed") -> None:
        super().__init__(text)


def demands_signatures(context: HttpContext) -> bool:
    """True if documents are shown only to requests that are signed."""
    return context.settings.authorized_fetch or context.settings.limited_federation


def is_signed(request: Request) -> bool:
    """True if a request has a signature, good or not."""
    return any(request.header(name) is not None for name in SIGNATURES)


def received(context: HttpContext, request: Request, body: bytes = b"") -> ReceivedRequest:
    """Return a request as signatures see it."""
    query = request.query_string.decode("latin-1")
    path = f"{request.path}?{query}" if query else request.path
    return ReceivedRequest(request.method, context.settings.base_url, path, request.headers, body)


async def perspective_of_signer(context: HttpContext, request: Request, uri: str | None, owner: Account) -> Perspective:
    """Return the perspective of an actor on what an account of this server has. Raise 403 for suspended actors."""
    if uri is None:
        return ANONYMOUS
    reader = await context.database.read(peer_readers.find, uri, owner.id, host_of(uri) or "")
    if reader.barred:
        raise Forbidden
    perspective = ANONYMOUS
    if reader.account_id is not None:
        address = account_address(reader.account_id)
        perspective = await context.runtime.ask(address, PerspectiveOf(), origin=request.origin)
    return _blocked(perspective, owner.id) if reader.domain_blocked else perspective


async def signer_of(context: HttpContext, request: Request) -> str | None:
    """Return the URI of the actor that has signed a request; None if that is not known.

    Raise 403 for actors of suspended domains, and 401 if a signature is demanded and there is no good one.
    """
    if not is_signed(request):
        return _no_actor(context, Unsigned())
    try:
        return await _authenticated(context, request)
    except SignatureRefused as refusal:
        return _no_actor(context, Unsigned(str(refusal)))
    except KeyUnavailable:
        return _no_actor(context, BackendFailed("The key of the signature can't be fetched"))


async def _authenticated(context: HttpContext, request: Request) -> str:
    signed = received(context, request)
    host = host_of(claim_of(signed, context.clock.now()).key_id)
    if host is not None and context.blocks.domains.standing_of(host).suspended:
        raise Forbidden
    with trio.move_on_after(SECONDS_FOR_KEY):
        return (await context.federation.directory.authenticate(signed)).uri
    raise KeyUnavailable("no answer in time")


def _no_actor(context: HttpContext, error: HttpError) -> None:
    """Return no actor, unless one is needed."""
    if demands_signatures(context):
        raise error


def _blocked(perspective: Perspective, owner_id: int) -> Perspective:
    """Return the perspective of an actor whose domain the owner blocks: as if the owner blocked the actor."""
    return perspective.after(owner_id, replace(perspective.relation(owner_id), blocked_by=True))
