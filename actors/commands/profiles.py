"""Changing the profile and the defaults for new posts, in the turn of the account."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from ...storage import accounts, moderation, profiles, users
from ...storage.engine.json_values import JsonObject
from ...storage.profiles import Defaults, Profile
from ..account import AccountActor, AccountChange
from ..effects.files import files_placed, files_unused, pictures_of
from ..effects.reminders import Unlocked, reminder
from ..effects.sending import account_changed
from ..facts.accounts import ChangedAccount, ChangedUser
from ..kernel import Command, turn
from ..rules import text
from .follow_requests import accept_waiting
from .statuses import find_mentioned, target_of


@dataclass(frozen=True, slots=True)
class UpdateProfile(Command[None]):
    """Command: change the given values.

    The note comes as `note_source`; `fields` is the whole list of names and values.
    """

    profile: Profile = field(default_factory=Profile)
    fields: tuple[tuple[str, str], ...] | None = None
    defaults: Defaults = field(default_factory=Defaults)


@turn(AccountActor, UpdateProfile)
async def update_profile(account: AccountActor, message: UpdateProfile) -> None:
    profile = await compose(account, message)
    if await account.change(_update, profile, message.defaults):
        await accept_waiting(account)


async def compose(account: AccountActor, message: UpdateProfile) -> Profile:
    """Return the profile with its note and fields as HTML."""
    profile, fields = message.profile, message.fields
    note = profile.note_source
    texts = [*([] if note is None else [note]), *(value for _, value in fields or ())]
    local_domain, base_url = account.context.local_domain, account.context.base_url
    handles = dict.fromkeys(handle for written in texts for handle in text.scan(written).handles(local_domain))
    found = await find_mentioned(account, tuple(handles))
    how: JsonObject = {
        "mentions": {handle: target_of(mentioned) for handle, mentioned in found.items()},
        "tag_url": partial(text.tag_url, base_url),
        "local_domain": local_domain,
    }
    if note is not None:
        profile = replace(profile, note=text.render_note(note, **how))
    if fields is not None:
        verified = await _verified(account)
        profile = replace(profile, fields=[
            {
                "name": name, "value": text.render_field_value(value, **how), "source": value,
                "verified_at": verified.get((name, value)),
            }
            for name, value in fields
        ])  # fmt: skip
    return profile


async def _verified(account: AccountActor) -> dict[tuple[str, str], str | None]:
    """Return when each field was verified. A field that is unchanged stays verified."""
    row = await account.context.accounts.find(account.id)
    fields = row.fields if row is not None else []
    return {(field["name"], field.get("source", field["value"])): field.get("verified_at") for field in fields}


async def _update(change: AccountChange, profile: Profile, defaults: Defaults) -> bool:
    """Store the new values. True if the account was unlocked: its follow requests are to be accepted."""
    db, account_id = change.db, change.account.id
    before = (await accounts.find_many(db, [account_id]))[account_id]
    unlocked = await profiles.update(db, account_id, profile, change.now)
    await profiles.update_defaults(db, account_id, defaults)
    after = (await accounts.find_many(db, [account_id]))[account_id]
    change.publish(ChangedUser(account_id, await users.find_user(db, account_id)), ChangedAccount(account_id, after))
    if replaced := pictures_of(before) - pictures_of(after):
        change.promise(files_unused(replaced))
    if replace(after, updated_at=before.updated_at) != before:
        change.promise(account_changed(account_id))
    if await moderation.is_suspended(db, account_id):  # at this moment, by the command line
        change.promise(files_placed(account_id))
    if unlocked:
        change.promise(reminder(account_id, Unlocked()))  # in case of a crash before they are accepted
    return unlocked
