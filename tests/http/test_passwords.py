"""What a sign-in does to the hash of a password."""

from typing import Any

import trio

from troupe.actors.rules.passwords import hashed_quickly, outdated
from troupe.http.oauth import passwords
from troupe.storage import users


async def test_a_sign_in_renews_a_weaker_hash(stage: Any, ada: Any) -> None:
    weak = hashed_quickly("open sesame")
    await stage.sql("UPDATE users SET password_hash = $2 WHERE account_id = $1", ada.account.id, weak)
    await passwords.renew(stage.http_context, ada.account.id, weak, "open sesame")
    user = await stage.http_context.database.read(users.find_user, ada.account.id)
    assert not outdated(user.password_hash)
    assert await passwords.matches(user.password_hash, "open sesame", trio.CapacityLimiter(1))


async def test_a_password_changed_in_the_meantime_stays_changed(stage: Any, ada: Any) -> None:
    before = await stage.http_context.database.read(users.find_user, ada.account.id)
    await passwords.renew(stage.http_context, ada.account.id, hashed_quickly("old"), "old")
    after = await stage.http_context.database.read(users.find_user, ada.account.id)
    assert after.password_hash == before.password_hash
