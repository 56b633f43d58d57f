"""The page of a status with its thread, and its embedded page for frames on other sites."""

from __future__ import annotations

from dataclasses import replace

from ...actors.rules.visibility import ANONYMOUS
from ...actors.shown.statuses import ShownStatus
from ...storage.media import Media
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..entities.account import avatar_url
from ..entities.media import media_fields
from ..federation.objects import status_document
from ..intake.negotiation import asks_for_document
from ..intake.request import Request
from ..pages.times import shown_time
from ..router import api
from ..views.accounts import find_local
from ..views.statuses import find_visible
from ..views.threads import thread_around
from ..views.titles import summary_of, title_of
from . import posts
from .heads import Head, HeadImage, asks_not_to_be_indexed, embed_address
from .layout import public_page


@api.get("/@<name>/<id>", page=True, documents="too")
async def show(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """A status with its thread. A boost redirects to the original."""
    if asks_for_document(request):
        return await status_document(context, request, name, id)
    shown = await _find(context, name, id)
    if shown.boosted is not None:
        return redirect(posts.path_of(shown.boosted))
    thread = await thread_around(context, shown.id, ANONYMOUS)
    known = posts.handles_in([*thread.above, shown, *thread.below], context.settings.local_domain)
    return await public_page(
        context,
        request,
        "status.html",
        head=_head(context, shown),
        above=posts.posts_in(context, thread.above),
        post=posts.post_of(context, shown, known),
        below=posts.replies_in(context, thread.below, known),
        is_cut=thread.is_cut,
    )


@api.get("/@<name>/<id>/embed", page=True)
async def show_embedded(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """A status without its thread, which other sites may show in a frame."""
    shown = await _find(context, name, id)
    if shown.boosted is not None:
        raise NotFound
    head = replace(_head(context, shown), noindex=True)
    return await public_page(context, request, "embed.html", framed=True, head=head, post=posts.post_of(context, shown))


async def _find(context: HttpContext, name: str, id: int) -> ShownStatus:
    """Return a status of this account that visitors may see. Raises NotFound."""
    account = await find_local(context, name)
    shown = await find_visible(context, None, id)
    if shown.author.id != account.id:
        raise NotFound
    return shown


def _head(context: HttpContext, shown: ShownStatus) -> Head:
    settings, author, status = context.settings, shown.author, shown.status
    url = f"{settings.base_url}{posts.path_of(shown)}"
    pictures = tuple(_image(medium, settings.base_url) for medium in _pictures(shown))
    return Head(
        title=title_of(shown),
        url=url,
        description=summary_of(shown),
        kind="article",
        images=pictures or (HeadImage(avatar_url(author, settings.base_url), author.avatar_description),),
        large_image=bool(pictures),
        handle=f"@{author.username}@{settings.local_domain}",
        published=shown_time(status.created_at, context.clock.now()).iso,
        embed=embed_address(settings.base_url, url),
        noindex=asks_not_to_be_indexed([shown]),
        document=status.uri,
    )


def _pictures(shown: ShownStatus) -> list[Media]:
    """The files whose pictures other sites may show with a link to the status: none that people must choose to see."""
    if shown.status.sensitive or shown.status.spoiler_text or shown.author.sensitized_at is not None:
        return []
    made = (medium for medium in shown.status.media if medium.file is not None)
    return [medium for medium in made if medium.type == "image" or medium.thumbnail_file is not None]


def _image(medium: Media, base_url: str) -> HeadImage:
    """Return a picture itself, or what stands for a film or for sound."""
    fields, is_picture = media_fields(medium, base_url), medium.type == "image"
    size = medium.meta.get("original" if is_picture else "small", {})
    url = str(fields["url"] if is_picture else fields["preview_url"])
    return HeadImage(url, medium.description, size.get("width"), size.get("height"))
