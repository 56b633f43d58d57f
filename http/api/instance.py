"""The description of this server, its activity and default pictures, and the domains that it blocks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache

import orjson

from ...actors.kernel.clock import first_id_at
from ...actors.rules.languages import LANGUAGES
from ...storage import instance, server_blocks
from ...storage.blocked_domains import BlockedDomain
from ..access.authentication import USER_REQUIRED, Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, Unauthorized
from ..entities.instance import About, activity_fields, instance_v1, instance_v2
from ..entities.server_block import public_domain_fields
from ..pictures import avatars
from ..pictures.png import plain_png
from ..router import api
from ..views.accounts import contact_account

MONTH = timedelta(days=30)
WEEK = timedelta(days=7)
WEEKS = 12  # in the activity
PNG = "image/png"
# A drawn picture depends only on its URL, so it never changes.
KEPT_BY_BROWSERS = (("Cache-Control", "public, max-age=86400"),)
KEPT_FOR_EVER = (("Cache-Control", "public, max-age=31536000, immutable"),)


@api.get("/api/v1/instance", returns="V1.Instance")
async def show_v1(context: HttpContext) -> Answer:
    return await _show(context, "v1", instance_v1)


@api.get("/api/v2/instance", returns="Instance")
async def show_v2(context: HttpContext) -> Answer:
    return await _show(context, "v2", instance_v2)


async def _show(context: HttpContext, version: str, fields: Callable[[About], dict[str, object]]) -> Answer:
    async def make() -> bytes:
        return orjson.dumps(fields(await _about(context)))

    return Answer(await context.kept.get(f"instance {version}", context.clock.now(), make))


async def _about(context: HttpContext) -> About:
    settings, texts = context.settings, await context.operator_texts.current()
    return About(
        domain=settings.local_domain,
        base_url=settings.base_url,
        streaming_url=settings.streaming_url,
        title=settings.title,
        description=settings.description,
        languages=settings.languages,
        email=settings.contact_email,
        registrations=context.sign_ups.rule,
        reason_required=context.sign_ups.reason_required,
        public_preview=settings.shows_previews,
        limited_federation=settings.limited_federation,
        vapid_public_key=context.push_key.public,
        takes_films=context.media.takes_films,
        translates=context.translations.enabled,
        numbers=await context.database.read(instance.numbers, context.clock.now() - MONTH),
        contact=await contact_account(context),
        rules=texts.rules,
        has_terms=bool(texts.terms),
        emojis=context.rendered.emojis,
    )


@api.get("/api/v1/instance/activity", returns="[InstanceActivity]")
async def show_activity(context: HttpContext) -> Answer:
    """Statuses, logins and registrations of the last weeks, the current week first. Every number is a text."""

    async def make() -> bytes:
        begins = weeks(context.clock.now())
        id_ranges = [(first_id_at(monday), first_id_at(monday + WEEK)) for monday in begins]
        counted = await context.database.read(instance.activity, id_ranges)
        return orjson.dumps([activity_fields(monday, week) for monday, week in zip(begins, counted, strict=True)])

    return Answer(await context.kept.get("activity", context.clock.now(), make))


@api.get("/api/v1/instance/languages", returns="[Language]")
def show_languages() -> Answer:
    """The languages that a status can have, with their English names."""
    return Answer(_languages())


@cache
def _languages() -> bytes:
    return orjson.dumps([{"code": code, "name": name} for code, name in LANGUAGES.items()])


def weeks(now: datetime) -> list[datetime]:
    """Return the beginnings of the last weeks in UTC, the current week first."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    return [monday - WEEK * ago for ago in range(WEEKS)]


@api.get("/avatars/original/missing.png", without_memory=True)
def show_missing_avatar() -> Answer:
    return Answer(plain_png(120, 120, (120, 119, 160)), 200, KEPT_BY_BROWSERS, PNG)


@api.get("/avatars/original/<name>", without_memory=True)
def show_drawn_avatar(name: str) -> Answer:
    """The drawn picture of an account without an avatar."""
    if not avatars.SEED.fullmatch(name):
        raise NotFound
    return Answer(avatars.draw(int(name[:4], 16)), 200, KEPT_FOR_EVER, PNG)


@api.get("/headers/original/missing.png", without_memory=True)
def show_missing_header() -> Answer:
    return Answer(plain_png(700, 335, (190, 189, 214)), 200, KEPT_BY_BROWSERS, PNG)


@api.get("/api/v1/instance/domain_blocks", returns="[DomainBlock]")
async def show_blocked_domains(context: HttpContext, viewer: Viewer | None) -> Answer:
    """The blocks that limit what users see, the strictest first. As in Mastodon, the operator chooses to show them."""
    match context.settings.domain_blocks_shown:
        case "nobody":
            raise NotFound
        case "users" if viewer is None:
            raise Unauthorized(USER_REQUIRED)
        case _:
            pass
    commented = context.settings.domain_blocks_comments
    with_comment = commented == "public" or (commented == "users" and viewer is not None)
    shown = [
        block
        for block in await context.database.read(server_blocks.find_all, BlockedDomain)
        if block.severity != "noop"
    ]
    shown.sort(key=_strictest_first)
    return json([public_domain_fields(block, with_comment=with_comment) for block in shown])


def _strictest_first(block: BlockedDomain) -> tuple[bool, str]:
    return block.severity != "suspend", block.domain
