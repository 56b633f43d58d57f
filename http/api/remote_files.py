"""A proxy for files of other servers."""

from __future__ import annotations

from typing import get_args

from ...storage.federation.remote_files import Kind
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from .files import serve

KINDS: tuple[Kind, ...] = get_args(Kind)


@api.get("/media_proxy/<kind>/<id>/<digest>")
async def show(context: HttpContext, request: Request, kind: str, id: int, digest: str) -> Answer:
    """A picture, a video or sound; of video and sound also a requested range."""
    return await _answer(context, request, kind, id, digest, small=False)


@api.get("/media_proxy/<kind>/<id>/<digest>/small")
async def show_small(context: HttpContext, request: Request, kind: str, id: int, digest: str) -> Answer:
    """The small version of a picture, or the first picture of a video."""
    return await _answer(context, request, kind, id, digest, small=True)


async def _answer(context: HttpContext, request: Request, kind: str, id: int, digest: str, *, small: bool) -> Answer:
    if kind not in KINDS:
        raise NotFound("Not Found")
    name = await context.remote_files.find(kind, id, digest, small=small)
    if name is None:
        raise NotFound("Not Found")
    return await serve(context, request, name)
