"""The reader of a document: the actor of another server that has signed the request, or an unknown reader.

Documents follow the rules of visibility, from the perspective of the actor's account. Unless signatures are demanded, a
request whose signature can't be verified is answered as an unsigned request.
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
# The time to fetch an unknown key. The other server may not serve its key while it waits for our answer.
SECONDS_FOR_KEY = 5.0


class Unsigned(HttpError):
    """Raised if a request without a valid signature needs a signature."""

    status = 401

    def __init__(self, text: str = "Request not signed") -> None:
        super().__init__(text)


def demands_signatures(context: HttpContext) -> bool:
    """True if all documents require a signature."""
    return context.settings.authorized_fetch or context.settings.limited_federation


def is_signed(request: Request) -> bool:
    """True if a request has a signature, valid or not."""
    return any(request.header(name) is not None for name in SIGNATURES)


def received(context: HttpContext, request: Request, body: bytes = b"") -> ReceivedRequest:
    """Return the parts of a request that signatures cover."""
    query = request.query_string.decode("latin-1")
    path = f"{request.path}?{query}" if query else request.path
    return ReceivedRequest(request.method, context.settings.base_url, path, request.headers, body)


async def perspective_of_signer(context: HttpContext, request: Request, uri: str | None, owner: Account) -> Perspective:
    """Return the perspective of an actor on the objects of an account of this server. Raises 403 if it is suspended."""
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
    """Return the URI of the actor that has signed a request; None without a valid signature.

    Raises 403 for actors of suspended domains. If signatures are demanded, raises 401 for a missing or invalid
    signature, and 503 if the key can't be fetched.
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
    """Return None, or raise the error if signatures are demanded."""
    if demands_signatures(context):
        raise error


def _blocked(perspective: Perspective, owner_id: int) -> Perspective:
    """Return the perspective of an actor whose domain the owner blocks. It sees as little as a blocked actor."""
    return perspective.after(owner_id, replace(perspective.relation(owner_id), blocked_by=True))
