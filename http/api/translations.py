"""Translations of statuses, and the available languages."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...actors.translation.port import NotTranslatable, QuotaUsedUp, TooManyRequests, TranslationFailed
from ...actors.translation.translations import all_targets, with_own_codes
from ...storage import users
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import BackendFailed, Forbidden, NotFound
from ..entities.status_version import translation_fields
from ..intake.parameters import Input, Text
from ..router import api
from ..views.statuses import find_visible

# Translation sends the text to another program, so private statuses are not translated.
TRANSLATED = ("public", "unlisted")
DEFAULT = "en"  # the language of users whose locale is not known
UNKNOWN = "und"  # the language of statuses without a language

QUOTA = "The server-wide usage quota for the translation service has been exceeded."
TOO_MANY = "There have been too many requests to the translation service recently."


class TranslationRequest(Input):
    lang: Text = ""


@api.post(
    "/api/v1/statuses/<id>/translate",
    auth="user",
    scopes=("read:statuses",),
    rates=(rates.TRANSLATIONS,),
    returns="Translation",
)
async def translate(context: HttpContext, viewer: Viewer, id: int, wish: TranslationRequest) -> Answer:
    """Translate a public or unlisted status. The default language is the viewer's locale."""
    shown = await find_visible(context, viewer, id)
    status = (shown.boosted or shown).status
    if not context.translations.enabled:
        raise NotFound
    if status.visibility not in TRANSLATED:
        raise Forbidden
    language = wish.lang.strip()
    if not language:
        user = await context.database.read(users.find_user, viewer.account_id)
        language = (user and user.locale) or DEFAULT
    with _explained():
        return json(translation_fields(status, await context.translations.translate(status, language)))


@api.get("/api/v1/instance/translation_languages", returns="{[lang]}")
async def show_languages(context: HttpContext) -> Answer:
    """The target languages by source language; empty if this server does not translate."""
    with _explained():
        offered = with_own_codes(await context.translations.languages())
    return json({**offered, UNKNOWN: all_targets(offered)} if offered else {})


@contextmanager
def _explained() -> Generator[None]:
    """Turn errors of the translation into HTTP errors."""
    try:
        yield
    except NotTranslatable:
        raise Forbidden from None
    except QuotaUsedUp:
        raise BackendFailed(QUOTA) from None
    except TooManyRequests:
        raise BackendFailed(TOO_MANY) from None
    except TranslationFailed:
        raise BackendFailed from None
