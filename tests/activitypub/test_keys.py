"""The keys with which this server signs, when one is replaced while it is read."""

from collections.abc import Callable
from typing import Any, cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.signing import another_key
from troupe.actors.activitypub.keys import SigningKeys, private_pem, public_pem
from troupe.actors.activitypub.names import LocalNames
from troupe.storage.engine.database import Database
from troupe.storage.federation.signing_keys import KeyPair

ADA = "https://ours.test/users/ada"


class Rows:
    """Reads the key of an account. Each read waits until it may go on, and returns what was stored when it began."""

    def __init__(self, stored: KeyPair) -> None:
        self.stored = stored
        self.held: list[trio.Event] = []

    async def read(self, *_: Any) -> KeyPair:
        found = self.stored
        self.held.append(trio.Event())
        await self.held[-1].wait()
        return found


def forget_one(keys: SigningKeys) -> None:
    keys.forget(1)


@pytest.mark.parametrize("forget", [forget_one, SigningKeys.clear])
async def test_after_a_key_was_replaced_nobody_signs_with_the_one_before(
    nursery: trio.Nursery, forget: Callable[[SigningKeys], None]
) -> None:
    before, after = (KeyPair(ADA, private_pem(key), public_pem(key)) for key in (another_key(), another_key()))
    rows = Rows(before)
    keys = SigningKeys(cast("Database", rows), LocalNames("https://ours.test"))
    signed_with: dict[str, str] = {}

    async def sign(name: str) -> None:
        signed_with[name] = public_pem((await keys.of_account(1)).private)

    nursery.start_soon(sign, "early")
    await wait_all_tasks_blocked()
    rows.stored = after
    forget(keys)
    nursery.start_soon(sign, "late")
    nursery.start_soon(sign, "late too")
    await wait_all_tasks_blocked()
    assert len(rows.held) == 2, "those who come at the same time read once"
    for held in rows.held:
        held.set()
    await wait_all_tasks_blocked()
    assert signed_with == {"early": before.public_key, "late": after.public_key, "late too": after.public_key}
    await sign("later")
    assert signed_with["later"] == after.public_key
    assert len(rows.held) == 2
