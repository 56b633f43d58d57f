"""Staff who block, change and unblock domains at the same time, while actors crash and commits are lost."""

from contextlib import suppress
from functools import partial

from troupe.actors.commands.blocked_domains import (
    DomainTerms,
    ImposeDomainBlock,
    ImposeListedBlocks,
    LiftDomainBlock,
    ListedBlock,
)
from troupe.actors.kernel import Refused
from troupe.actors.staff.acts import Staff
from troupe.storage.accounts import NewAccount
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import Budget, Fault, simulation, sweep
from troupe.supervision.testing.stage import Simulation, stage
from troupe.supervision.testing.stage.people import Person

from ..rows import create_account

DOMAINS = ("bad.example", "sub.bad.example")
STATES = "SELECT domain, silenced_at, suspended_at FROM accounts WHERE domain IS NOT NULL"
with_loaders = partial(stage, loaders=True)
BLOCKS = "SELECT id, domain, severity, created_at FROM blocked_domains"


async def promote(db: Connection, account_id: int) -> None:
    await db.execute("UPDATE users SET role = 'admin' WHERE account_id = $1", account_id)


@simulation(seeds=20, faults=2, world=with_loaders)
async def test_the_states_of_accounts_are_those_of_the_blocks(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    for person in (ada, bob):
        sim.database.arrange(promote, person.id)
    for domain in DOMAINS:
        uri = f"https://{domain}/users/far"
        new = NewAccount(sim.new_id(), "far", domain, uri, uri)
        sim.database.arrange(create_account, new, sim.run.clock.now())

    async def block(person: Person, domain: str, terms: DomainTerms, *, then_lift: bool) -> None:
        staff = Staff(person.id, "staff")
        imposed = await person.insist(ImposeDomainBlock(staff, domain, terms))
        if then_lift:
            with suppress(Refused):  # lifted by the try before, whose answer was lost
                await person.insist(LiftDomainBlock(staff, imposed.block.id))

    async with sim.together() as go:
        go(lambda: block(ada, DOMAINS[0], DomainTerms("suspend"), then_lift=False), name="ada")
        go(lambda: block(bob, DOMAINS[1], DomainTerms("suspend"), then_lift=True), name="bob")
    await sim.calm()

    blocks = {row["domain"]: row for row in sim.database.rows(BLOCKS)}
    assert list(blocks) == [DOMAINS[0]]
    for row in sim.database.rows(STATES):
        assert (row["silenced_at"], row["suspended_at"]) == (None, blocks[DOMAINS[0]]["created_at"]), row["domain"]
    assert sim.actors.blocks.domains.standing_of(DOMAINS[1]).suspended


@sweep(faults=Budget(1, frozenset(Fault)), world=with_loaders)
async def test_the_blocks_in_memory_are_those_that_are_stored(sim: Simulation) -> None:
    """Whatever fails, also if staff never ask again: a commit whose answer was lost has changed the rows too."""
    (ada,) = await sim.people("ada")
    sim.database.arrange(promote, ada.id)
    await ada.attempt(ImposeDomainBlock(Staff(ada.id, "staff"), DOMAINS[0], DomainTerms("suspend")))
    await sim.calm()
    stored = bool(sim.database.rows(BLOCKS))
    assert sim.actors.blocks.domains.standing_of(DOMAINS[0]).suspended == stored


@simulation(seeds=20, faults=2, world=with_loaders)
async def test_a_list_is_imported_as_a_whole_once(sim: Simulation) -> None:
    """Two members of staff import lists that have a domain in common."""
    people = await sim.people("ada", "bob")
    for person in people:
        sim.database.arrange(promote, person.id)
    for domain in DOMAINS:
        uri = f"https://{domain}/users/far"
        sim.database.arrange(create_account, NewAccount(sim.new_id(), "far", domain, uri, uri), sim.run.clock.now())
    lists = [("bad.example", "one.example"), ("bad.example", "two.example")]

    async def bring(person: Person, domains: tuple[str, ...]) -> None:
        lines = tuple(ListedBlock(domain, DomainTerms("suspend")) for domain in domains)
        await person.insist(ImposeListedBlocks(Staff(person.id, "staff"), lines))

    async with sim.together() as go:
        for person, domains in zip(people, lists, strict=True):
            go(lambda person=person, domains=domains: bring(person, domains), name=person.name)
    await sim.calm()

    blocks = {row["domain"]: row for row in sim.database.rows(BLOCKS)}
    assert sorted(blocks) == ["bad.example", "one.example", "two.example"]
    acts = [row["target"] for row in sim.database.rows("SELECT target FROM audit_log")]
    assert sorted(acts) == sorted(blocks)
    for row in sim.database.rows(STATES):
        assert (row["silenced_at"], row["suspended_at"]) == (None, blocks["bad.example"]["created_at"]), row["domain"]
