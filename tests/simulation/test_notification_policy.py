"""A policy that changes while notifications come in, and requests that are accepted meanwhile."""

from troupe.actors.commands.notification_policy import ChangeNotificationPolicy
from troupe.actors.commands.notification_requests import AcceptNotificationRequests, DismissNotificationRequests
from troupe.actors.kernel import Message
from troupe.storage import notification_requests, notifications
from troupe.storage.notification_policy import Action, PolicyChange
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage

MENTIONS = "SELECT id, status_id, filtered FROM notifications WHERE type = 'mention'"
WITHOUT_REQUEST = """
    SELECT FROM notifications n WHERE n.filtered AND NOT EXISTS (
        SELECT FROM notification_requests r WHERE r.account_id = n.account_id AND r.from_account_id = n.from_account_id
    )
"""


async def act(person: Person, action: Action) -> None:
    """Have the policy do this with accounts that the person does not follow."""
    await person.insist(ChangeNotificationPolicy(PolicyChange(not_following=action)))


def open_requests(sim: Simulation, person: Person) -> tuple[int, ...]:
    """Return the requests that the API would show."""
    found = sim.database.arrange(notification_requests.page, person.id, Page(9))
    return tuple(request.id for request in found)


async def mentioned_amid(sim: Simulation, ada: Person, bob: Person, posts: int, command: Message[bool]) -> list[int]:
    """Have bob mention ada while she gives a command. Return the statuses that he published after the answer to it."""
    answered = False
    later: list[int] = []

    async def write() -> None:
        for _ in range(posts):
            before = answered
            id = await bob.publish("@ada hello")
            if before:
                later.append(id)

    async def decide() -> None:
        nonlocal answered
        await ada.insist(command)
        answered = True

    async with sim.together() as go:
        go(write, name="bob")
        go(decide, name="ada")
    await sim.calm()
    return later


@simulation(seeds=14, faults=3, world=stage)
async def test_a_policy_changes_amid_mentions(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    stream = await ada.stream()
    state = "accept"
    surely: dict[str, list[int]] = {"accept": [], "filter": [], "drop": []}  # mentions made under one policy

    async def write() -> None:
        for _ in range(6):
            before = state
            id = await bob.publish("@ada hello")
            if state == before != "":
                surely[state].append(id)

    async def change() -> None:
        nonlocal state
        actions: tuple[Action, ...] = ("filter", "drop")
        for action in actions:
            state = ""
            await act(ada, action)
            state = action
            await ada.publish("something else")

    async with sim.together() as go:
        go(write, name="bob")
        go(change, name="ada")
    await sim.calm()

    rows = sim.database.rows(MENTIONS)
    shown = {row["status_id"]: row["id"] for row in rows if not row["filtered"]}
    hidden = {row["status_id"]: row["id"] for row in rows if row["filtered"]}
    assert set(surely["accept"]) <= shown.keys()
    assert set(surely["filter"]) <= hidden.keys()
    assert not set(surely["drop"]) & (shown.keys() | hidden.keys())
    assert not set(hidden.values()) & set(stream.notified)
    assert stream.cuts or set(shown.values()) == set(stream.notified)
    assert len(open_requests(sim, ada)) == bool(hidden)
    sim.sometimes(bool(hidden), "a mention was filtered")
    sim.sometimes(len(rows) < len(bob.published), "a mention was dropped")


@simulation(seeds=12, faults=3, pinned=[(111, "pct")], world=stage)
async def test_a_request_is_accepted_amid_mentions(sim: Simulation) -> None:
    """Every mention is shown once: on the stream when it comes, or after the merge that the stream tells of."""
    ada, bob = await sim.people("ada", "bob")
    stream = await ada.stream()
    await act(ada, "filter")
    await bob.publish("@ada first")
    later = await mentioned_amid(sim, ada, bob, 4, AcceptNotificationRequests(open_requests(sim, ada)))

    assert open_requests(sim, ada) == ()
    page = sim.database.arrange(notifications.page, ada.id, Page(9))
    assert [one.status_id for one in page] == bob.published[::-1]
    assert not any(one.filtered for one in page)
    assert stream.cuts or stream.merges > 0
    assert stream.cuts or {one.id for one in page if one.status_id in later} <= set(stream.notified)
    sim.sometimes(len(later) < 4, "a mention raced with the acceptance")
    sim.sometimes(bool(later), "a mention came after the acceptance")


@simulation(seeds=20, at_most=40, faults=3, world=stage)
async def test_a_request_is_dismissed_amid_mentions(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    stream = await ada.stream()
    await act(ada, "filter")
    await bob.publish("@ada first")
    later = await mentioned_amid(sim, ada, bob, 3, DismissNotificationRequests(open_requests(sim, ada)))

    left = [row["status_id"] for row in sim.database.rows(MENTIONS)]
    assert bob.published[0] not in left
    assert set(later) <= set(left)
    assert sim.database.rows(WITHOUT_REQUEST) == []
    assert len(open_requests(sim, ada)) == bool(left)
    assert stream.notified == []
    sim.sometimes(bool(later), "a mention came after the dismissal")
    sim.sometimes(not left, "the dismissal was last")
