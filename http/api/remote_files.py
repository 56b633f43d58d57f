"""Files of other servers, which this one fetches for its readers."""

from __future__ import annotations

from typing import cast, get_args

from ...storage.federation.remote_files import Kind
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from .files import serve


@api.get("/media_proxy/<kind>/<id>/<digest>")
async def show(context: HttpContext, request: Request, kind: str, id: int, digest: str) -> Answer:
    """A picture, a film, or sound; of the last two also the part that a player asks for."""
    return await _answer(context, request, kind, id, digest, small=False)


@api.get("/media_proxy/<kind>/<id>/<digest>/small")
async def show_small(context: HttpContext, request: Request, kind: str, id: int, digest: str) -> Answer:
    """A picture, smaller; of a film its first picture."""
    return await _answer(context, request, kind, id, digest, small=True)


async def _answer(context: HttpContext, request: Request, kind: str, id: int, digest: str, *, small: bool) -> Answer:
    if kind not in get_args(Kind):
        raise NotFound("Not Found")
    # get_args tells no types.
    name = await context.remote_files.find(cast("Kind", kind), id, digest, small=small)
    if name is None:
        raise NotFound("Not Found")
    return await serve(context, request, name)
