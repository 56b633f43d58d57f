"""The viewer's own account, shown with its private parts, and changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BeforeValidator

from ...actors.account import CredentialsOf
from ...actors.commands.profiles import UpdateProfile
from ...actors.rules import lengths, limits, text
from ...actors.rules.complaints import Complaint, refusal, too_long
from ...actors.rules.identity import pasted_domain
from ...actors.rules.languages import language_code
from ...storage import featured_tags
from ...storage.profiles import Defaults, Profile
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import credential_account_json, profile_fields
from ..intake.decoding import Upload, Value, written_in
from ..intake.parameters import (
    Choice,
    Fields,
    Input,
    MaybeFlag,
    MaybeLine,
    MaybeProse,
    MaybeText,
    MaybeUpload,
    Several,
    Text,
)
from ..router import api
from ..views.accounts import find_own
from ..views.uploads import PICTURE_BODY, picture

READ = ("profile", "read:accounts")
WRITE = ("write:accounts",)
MOST_DOMAINS = 10
# The largest texts in code points. A text that looks short may have many invisible characters.
NAME_CODE_POINTS = 2048
NOTE_CODE_POINTS = 20_480


class ProfileDefaults(Input):
    privacy: Annotated[Literal["public", "unlisted", "private", "direct"] | None, Choice] = None
    sensitive: MaybeFlag = None
    language: MaybeText = None
    quote_policy: Annotated[Literal["public", "followers", "nobody"] | None, Choice] = None

    def defaults(self) -> Defaults:
        """Return the defaults for new statuses. Empty: no default language; unknown: no change."""
        code = language_code(self.language)
        given = self.language is not None and (code is not None or not self.language.strip())
        return Defaults(self.privacy, self.sensitive, self.quote_policy, given, code)


def _source(value: Value) -> Value:
    """Return the `source`, which may be JSON in a text. An empty text, list or null counts as not given."""
    value = written_in(value)
    return value if isinstance(value, dict) else {}


class ProfileChange(Input):
    """The changes of the viewer's account. A parameter that is not given keeps its value."""

    display_name: MaybeLine = None
    note: MaybeProse = None
    avatar: MaybeUpload = None
    avatar_description: MaybeProse = None
    header: MaybeUpload = None
    header_description: MaybeProse = None
    locked: MaybeFlag = None
    bot: MaybeFlag = None
    discoverable: MaybeFlag = None
    indexable: MaybeFlag = None
    hide_collections: MaybeFlag = None
    show_media: MaybeFlag = None
    show_media_replies: MaybeFlag = None
    show_featured: MaybeFlag = None
    attribution_domains: Annotated[list[Text] | None, Several] = None
    fields_attributes: Fields = None
    source: Annotated[ProfileDefaults, BeforeValidator(_source)] = ProfileDefaults()

    def command(self) -> UpdateProfile:
        """Return the command. Raises 422 if a value is too long."""
        fields = _fields(self.fields_attributes)
        written = self.attribution_domains
        domains = None if written is None else [pasted_domain(name) for name in written if name.strip()]
        profile = Profile(
            display_name=self.display_name,
            note_source=self.note,
            avatar_description=self.avatar_description,
            header_description=self.header_description,
            locked=self.locked,
            bot=self.bot,
            discoverable=self.discoverable,
            indexable=self.indexable,
            hide_collections=self.hide_collections,
            show_media=self.show_media,
            show_media_replies=self.show_media_replies,
            show_featured=self.show_featured,
            attribution_domains=None if domains is None else tuple(dict.fromkeys(name or "" for name in domains)),
        )
        if complaints := [*_complaints(profile), *_complaints_about_fields(fields)]:
            raise refusal(complaints)
        return UpdateProfile(profile, fields, self.source.defaults())


def _fields(given: tuple[tuple[str, str], ...] | None) -> tuple[tuple[str, str], ...] | None:
    """Return names and values, cut to their largest lengths. Empty entries are left out."""
    if given is None:
        return None
    fields = [
        (
            lengths.cut(text.one_line(name), limits.FIELD_NAME_CHARACTERS)[:NAME_CODE_POINTS],
            lengths.cut(text.trimmed(value), limits.FIELD_VALUE_CHARACTERS)[:NAME_CODE_POINTS],
        )
        for name, value in given
    ]
    return tuple((name, value) for name, value in fields if name or value)


def _complaints(profile: Profile) -> Iterator[Complaint]:
    name, note, domains = profile.display_name or "", profile.note_source or "", profile.attribution_domains or ()
    if len(name) > NAME_CODE_POINTS or lengths.graphemes(name) > limits.DISPLAY_NAME_CHARACTERS:
        yield too_long("display_name", limits.DISPLAY_NAME_CHARACTERS)
    if len(note) > NOTE_CODE_POINTS or lengths.is_too_long(note, limit=limits.NOTE_CHARACTERS):
        yield too_long("note", limits.NOTE_CHARACTERS)
    for attribute in ("avatar_description", "header_description"):
        if len(getattr(profile, attribute) or "") > limits.MEDIA_DESCRIPTION_CHARACTERS:
            yield too_long(attribute, limits.MEDIA_DESCRIPTION_CHARACTERS)
    if len(domains) > MOST_DOMAINS:
        yield too_long("attribution_domains", MOST_DOMAINS)
    if "" in domains:
        yield Complaint("attribution_domains", "ERR_INVALID", "is invalid")


def _complaints_about_fields(fields: tuple[tuple[str, str], ...] | None) -> Iterator[Complaint]:
    if len(fields or ()) > limits.FIELDS:
        yield too_long("fields", limits.FIELDS)
    if any(value and not name for name, value in fields or ()):
        yield Complaint("fields", "ERR_INVALID", "contains values with missing labels")


@api.get("/api/v1/accounts/verify_credentials", auth="user", scopes=READ, returns="CredentialAccount")
async def show_own(context: HttpContext, viewer: Viewer) -> Answer:
    """The viewer's own account, with its private parts."""
    return await _own_account(context, viewer)


@api.put(
    "/api/v1/accounts/update_credentials",
    auth="user",
    scopes=WRITE,
    file_rates=(rates.MEDIA,),
    body_limit=PICTURE_BODY,
    returns="CredentialAccount",
)
async def update_own(context: HttpContext, viewer: Viewer, credentials: ProfileChange) -> Answer:
    """Change the parts of the account that are given."""
    await _update(context, viewer, credentials)
    return await _own_account(context, viewer)


@api.get("/api/v1/profile", auth="user", scopes=READ, returns="Profile")
async def show_profile(context: HttpContext, viewer: Viewer) -> Answer:
    """The viewer's profile, with the source of its texts."""
    return await _own_profile(context, viewer)


@api.put(
    "/api/v1/profile", auth="user", scopes=WRITE, file_rates=(rates.MEDIA,), body_limit=PICTURE_BODY, returns="Profile"
)
async def update_profile(context: HttpContext, viewer: Viewer, credentials: ProfileChange) -> Answer:
    """Change the parts of the account that are given. The answer is the profile."""
    await _update(context, viewer, credentials)
    return await _own_profile(context, viewer)


@api.delete("/api/v1/profile/avatar", auth="user", scopes=WRITE, returns="CredentialAccount")
async def remove_avatar(context: HttpContext, viewer: Viewer) -> Answer:
    await viewer.ask(UpdateProfile(Profile(avatar_file="", avatar_description="")))
    return await _own_account(context, viewer)


@api.delete("/api/v1/profile/header", auth="user", scopes=WRITE, returns="CredentialAccount")
async def remove_header(context: HttpContext, viewer: Viewer) -> Answer:
    await viewer.ask(UpdateProfile(Profile(header_file="", header_description="")))
    return await _own_account(context, viewer)


async def _own_profile(context: HttpContext, viewer: Viewer) -> Answer:
    account = await find_own(context, viewer)
    featured = await context.database.read(featured_tags.of_account, account.id)
    return json(profile_fields(account, featured, context.settings.base_url))


async def _own_account(context: HttpContext, viewer: Viewer) -> Answer:
    credentials = await viewer.ask(CredentialsOf())
    account = await find_own(context, viewer)
    moved = None if account.moved_to_id is None else await context.accounts.find(account.moved_to_id)
    if credentials.user is None:
        raise NotFound
    return Answer(
        credential_account_json(
            account, credentials.user, credentials.requests, moved, context.rendered, context.settings.base_url
        )
    )


async def _update(context: HttpContext, viewer: Viewer, credentials: ProfileChange) -> None:
    command = credentials.command()
    async with AsyncExitStack() as pictures:
        avatar = await pictures.enter_async_context(_picture(context, viewer, credentials.avatar, "avatar"))
        header = await pictures.enter_async_context(_picture(context, viewer, credentials.header, "header"))
        profile = replace(command.profile, avatar_file=avatar, header_file=header)
        await viewer.ask(replace(command, profile=profile))


@asynccontextmanager
async def _picture(
    context: HttpContext, viewer: Viewer, upload: Upload | None, which: Literal["avatar", "header"]
) -> AsyncGenerator[str | None]:
    """Yield the file name of a picture; None without a picture. If the block fails, the file is deleted."""
    if upload is None:
        yield None
        return
    async with picture(context, viewer, upload, which) as file:
        yield file
