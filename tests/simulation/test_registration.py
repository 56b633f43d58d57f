"""Each sign-up gets its promised mail, also after faults, and each name has one owner."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from troupe.actors.commands.registration import ConfirmEmail, ResendConfirmation, SignUp
from troupe.actors.kernel import Address, Message, Refused
from troupe.actors.mail.templates import Letter
from troupe.storage.secrets import hash_of
from troupe.storage.users import User
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, insist, stage

R = TypeVar("R")

with_mail = partial(stage, mail=True)

USERS = "SELECT account_id, email, confirmed_at IS NOT NULL AS confirmed FROM users ORDER BY account_id"
# Half made (without an address), or not promised a mail.
LEFT_ALONE = """
    SELECT u.email FROM accounts a LEFT JOIN users u ON u.account_id = a.id
    LEFT JOIN account_counts c ON c.account_id = a.id
    WHERE u.account_id IS NULL OR c.account_id IS NULL OR NOT EXISTS (
        SELECT FROM outbox o WHERE o.kind = 'mail'
        AND o.payload = jsonb_build_object('letter', 'confirmation', 'account', u.account_id)
    )
"""
TAKEN = [{"error": "ERR_TAKEN", "description": "has already been taken"}]


async def sign_up(sim: Simulation, name: str, email: str) -> User | None:
    """As the API does it: another try is another account. None when a name or an address is taken by then."""

    async def attempt() -> User:
        command = SignUp(name, email, "hash", "en", None, approved=True)
        return await sim.runtime.ask(Address("account", str(sim.new_id())), command)

    answer = await insist(sim, name, lambda: told(attempt))
    if isinstance(answer, User):
        return answer
    details = answer.details or {}
    assert answer.status == 422
    assert set(details) in ({"username"}, {"email"})
    assert all(said == TAKEN for said in details.values())
    return None


async def told(attempt: Callable[[], Awaitable[User]]) -> User | Refused:
    try:
        return await attempt()
    except Refused as refusal:
        return refusal


def secret_in(letter: Letter) -> str:
    return letter.body.partition("confirmation_token=")[2].split()[0]


@simulation(seeds=16, at_most=60, faults=3, pinned=[(21, "random"), (45, "random")], world=with_mail)
async def test_a_name_has_one_owner_and_every_owner_gets_a_mail(sim: Simulation) -> None:
    made: list[User | None] = []

    def nobody_is_half_made_or_left_without_a_mail() -> bool:
        arrived = {letter.to for letter in sim.mails}
        return all(row["email"] in arrived for row in sim.database.rows(LEFT_ALONE))

    sim.always(nobody_is_half_made_or_left_without_a_mail)

    async def attempt(name: str, email: str) -> None:
        made.append(await sign_up(sim, name, email))

    async with sim.together() as go:
        go(attempt, "eve", "eve@example.org", name="phone")
        go(attempt, "EVE", "other@example.org", name="laptop")
        go(attempt, "bob", "Eve@Example.org", name="bob")
    await sim.calm()

    rows = sim.database.rows(USERS)
    assert 1 <= len(rows) <= 2  # bob and the laptop may both have been faster than the phone
    assert {user.account_id for user in made if user is not None} <= {row["account_id"] for row in rows}
    assert {letter.to for letter in sim.mails} == {row["email"] for row in rows}
    assert len({letter.id for letter in sim.mails}) == len(rows)
    sim.sometimes(len(sim.mails) > len(rows), "a mail came twice")
    sim.sometimes(len(rows) == 2, "both who differ from the third were faster")
    sim.sometimes(made.count(None) == 3, "an answer was lost, and the name was taken by the same sign-up")
    sim.sometimes(sim.logged("outbox.retry", effect="mail") > 0, "the mail server was away")


@simulation(seeds=12, faults=3, world=with_mail)
async def test_every_link_that_arrived_confirms_and_asking_again_brings_another(sim: Simulation) -> None:
    eve = await sign_up(sim, "eve", "eve@example.org")
    if eve is None:
        return  # a lost answer: the app does not know the account that it has
    address = Address("account", str(eve.account_id))

    async def ask(message: Message[R]) -> R:
        return await insist(sim, "eve", lambda: sim.runtime.ask(address, message))

    async with sim.together() as go:
        go(ask, ResendConfirmation(), name="app")
        go(ask, ResendConfirmation("eve@new.example"), name="page")
    await sim.calm()
    newest = sim.mails[-1]
    assert newest.to == "eve@new.example"
    for letter in sim.mails[:-1]:
        if letter.to == "eve@example.org":
            assert await ask(ConfirmEmail(hash_of(secret_in(letter)))) is None, "the address is another one now"
    assert await ask(ConfirmEmail(hash_of("guessed"))) is None
    assert not any(row["confirmed"] for row in sim.database.rows(USERS))

    async with sim.together() as go:
        for who in ("scanner", "eve"):
            go(ask, ConfirmEmail(hash_of(secret_in(newest))), name=who)
    assert await ask(ConfirmEmail(hash_of(secret_in(newest)))) is False
    (row,) = sim.database.rows(USERS)
    assert row["confirmed"]
    account = await insist(sim, "bob", lambda: sim.actors.accounts.find(eve.account_id))
    assert account is not None
    assert not account.pending, "a confirmed account exists for others"
