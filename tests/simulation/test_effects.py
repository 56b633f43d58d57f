"""Rows of the outbox, as each version of the server writes them: all later versions carry them out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeGuard

import pytest

from troupe.actors.effects.account_deletions import EraseAccount
from troupe.actors.effects.deliveries import DeliverActivity
from troupe.actors.effects.files import PlaceFiles, RemoveFiles, files_unused
from troupe.actors.effects.imports import LookUp, RunImport
from troupe.actors.effects.mail import SendMail, SendNotice
from troupe.actors.effects.moderation import EraseSuspended
from troupe.actors.effects.moves import MoveFollowers
from troupe.actors.effects.polls import ClosePoll
from troupe.actors.effects.previews import ForgetCard, PreviewLink
from troupe.actors.effects.received_activities import ReceivedActivity, UnverifiedActivity
from troupe.actors.effects.refollows import AskNewActor
from troupe.actors.effects.refreshes import RefreshAccount
from troupe.actors.effects.registry import KINDS, NAMES
from troupe.actors.effects.reminders import DomainBlocked, MuteEnded, Remind, StatusDue, Unlocked
from troupe.actors.effects.reports import SendReport
from troupe.actors.effects.sending import RotateKey, SendAccount, SendDeletion, SendTallies
from troupe.actors.effects.strikes import CarryOutStrike, SendAppeal, SendStrike
from troupe.actors.facts.access import EndedAccess
from troupe.actors.facts.announcements import ChangedAnnouncement, CountedReaction
from troupe.actors.facts.conversations import ChangedConversation
from troupe.actors.facts.lists import ChangedList
from troupe.actors.facts.moderation import ModeratedAccount, ModeratedDomain
from troupe.actors.facts.notifications import AddedNotification, MergedNotifications
from troupe.actors.facts.relations import ChangedPairs
from troupe.actors.facts.statuses import ChangedStatus, EditedStatus, PublishedStatus
from troupe.actors.kernel import Address
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.promises import Effect
from troupe.actors.push.promises import SendPush
from troupe.storage import outbox
from troupe.storage.outbox import NewEffect
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage

AT = "2026-05-01T12:00:00Z"
WHEN = datetime(2026, 5, 1, 12, tzinfo=UTC)

# Rows are written by one version of the server and may be read by the next: a payload may win keys and lose none.
ROWS: list[tuple[str, dict[str, Any], Effect]] = [
    ("status", {"id": 7, "account": 3, "gone": False, "news": True}, PublishedStatus(7, 3)),
    ("edit", {"id": 7}, EditedStatus(7)),
    ("counts", {"id": 7}, ChangedStatus(7)),
    ("relation", {"accounts": [3, 4, 5]}, ChangedPairs((3, 4, 5))),
    ("notification", {"id": 7, "account": 3}, AddedNotification(7, 3)),
    ("merge", {"account": 3}, MergedNotifications(3)),
    ("conversation", {"id": 7, "account": 3}, ChangedConversation(7, 3)),
    ("list", {"id": 7, "account": 3}, ChangedList(7, 3)),
    ("announcement", {"id": 7}, ChangedAnnouncement(7)),
    ("reaction", {"announcement_id": 7, "name": "👍"}, CountedReaction(7, "👍")),
    ("poll", {"id": 7}, ClosePoll(7)),
    ("files", {"names": ["a.png", "b.png"]}, RemoveFiles(("a.png", "b.png"))),
    ("moderated_domain", {"domain": "a.example"}, ModeratedDomain("a.example")),
    ("place_files", {"account": 3}, PlaceFiles(3)),
    ("preview", {"status_id": 7, "account_id": 3, "url": "https://a.example/"}, PreviewLink(7, 3, "https://a.example/")),
    ("card", {"card_id": 7}, ForgetCard(7)),
    (
        "activity",
        {"signer": "https://a.example/u", "body": "{}", "recipient": "ada", "tried": True, "followers": "d"},
        ReceivedActivity("https://a.example/u", "{}", "ada", True, "d"),
    ),
    (
        "unverified", {
            "path": "/inbox", "body": "{}", "key_id": "https://a.example/u#key", "received_at": AT,
            "headers": {"host": "b.example"}, "recipient": None,
        },
        UnverifiedActivity("/inbox", "{}", "https://a.example/u#key", WHEN, {"host": "b.example"}),
    ),
    ("move", {"account": 3, "target": 4}, MoveFollowers(3, 4)),
    ("push", {"notification_id": 7, "subscription_id": 3}, SendPush(7, 3)),
    (
        "delivery", {"activity_id": 7, "inbox": "https://a.example/inbox", "domain": "a.example"},
        DeliverActivity(7, "https://a.example/inbox", "a.example"),
    ),
    ("send_account", {"account": 3}, SendAccount(3)),
    ("send_deletion", {"account": 3, "after": "https://a.example/inbox"}, SendDeletion(3, "https://a.example/inbox")),
    ("rotate_key", {"account": 3}, RotateKey(3)),
    ("refresh", {"account": 3}, RefreshAccount(3)),
    ("tallies", {"status_id": 7, "account": 3}, SendTallies(7, 3)),
    ("mail", {"letter": "confirmation", "account": 3}, SendMail("confirmation", 3)),
    ("import", {"id": 7, "account": 3}, RunImport(7, 3)),
    ("lookup", {"id": 7, "account": 3, "target": "eve@b.example"}, LookUp(7, 3, "eve@b.example")),
    ("access", {"account": 3}, EndedAccess(3)),
    ("moderation", {"account": 3}, ModeratedAccount(3)),
    ("moderated_domain", {"domain": "b.example"}, ModeratedDomain("b.example")),
    ("strike", {"strike": 7, "account": 3}, CarryOutStrike(7, 3)),
    ("strike_mail", {"strike": 7, "account": 3}, SendStrike(7, 3)),
    ("appeal_mail", {"strike": 7, "account": 3}, SendAppeal(7, 3)),
    ("report_mail", {"report": 7, "account": 3}, SendReport(7, 3)),
    ("suspension", {"account": 3, "since": AT}, EraseSuspended(3, AT)),
    ("erase", {"account": 3, "with_row": False}, EraseAccount(3)),
    ("erase", {"account": 3, "with_row": True}, EraseAccount(3, with_row=True)),
    (
        "notice", {"letter": "password_changed", "to": "ada@example.org", "username": "ada", "locale": "de"},
        SendNotice("password_changed", "ada@example.org", "ada", "de"),
    ),
    ("refollow", {"account": 3}, AskNewActor(3)),
    ("reminder", {"account": 3, "of": "Unlocked", "with": {}}, Remind(3, Unlocked())),
    ("reminder", {"account": 3, "of": "DomainBlocked", "with": {"domain": "t"}}, Remind(3, DomainBlocked("t"))),
    ("reminder", {"account": 3, "of": "MuteEnded", "with": {"target_id": 4}}, Remind(3, MuteEnded(4))),
    ("reminder", {"account": 3, "of": "StatusDue", "with": {"id": 7, "at": AT}}, Remind(3, StatusDue(7, AT))),
]  # fmt: skip


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


@pytest.mark.parametrize(("kind", "row", "effect"), ROWS)
def test_a_row_is_read_and_written_as_ever(kind: str, row: dict[str, Any], effect: Effect) -> None:
    assert type(effect).of_row(row) == effect
    assert type(effect).of_row(row | {"of a later version": 1}) == effect
    written = effect.as_row()
    assert {key: list(value) if is_tuple(value) else value for key, value in written.items()} == row
    assert NAMES[type(effect)] == kind


def test_a_row_of_an_earlier_version_has_the_defaults() -> None:
    assert PublishedStatus.of_row({"id": 7, "account": 3, "gone": False}) == PublishedStatus(7, 3, news=True)
    assert EraseAccount.of_row({"account": 3}) == EraseAccount(3, with_row=False)


def test_a_conversation_that_is_marked_as_read_is_not_stored_for_streams() -> None:
    facts = [ChangedConversation(7, 3), ChangedConversation(8, 3, news=False)]
    promises = ChangedConversation.promised(facts, Address("account", "3"))
    assert [promise.effect for promise in promises] == facts[:1]


def test_every_kind_is_among_these_rows() -> None:
    assert {kind for kind, _, _ in ROWS} == set(NAMES.values()) == KINDS.keys()


def test_an_effect_without_a_partition_gets_one_of_its_own() -> None:
    rows = [new_effect(id, files_unused(["a.png"])) for id in (1, 2)]
    assert [row.key for row in rows] == ["files/1", "files/2"]


@simulation(seeds=5, world=stage)
async def test_rows_of_the_version_before_are_carried_out(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    status, account = await ada.publish(), f"account/{ada.id}"
    payloads: list[tuple[str, str, dict[str, Any]]] = [
        ("status", account, {"id": status, "account": ada.id}),
        ("status", account, {"id": 1, "account": ada.id}),  # which is not there
        ("edit", account, {"id": status}),
        ("counts", account, {"id": status}),
        ("relation", account, {"accounts": [ada.id, bob.id]}),
        ("notification", account, {"id": 1, "account": ada.id}),
        ("merge", account, {"account": ada.id}),
        ("conversation", account, {"id": 1, "account": bob.id}),
        ("list", account, {"id": 1, "account": ada.id}),
        ("status", account, {"id": 1, "account": ada.id, "gone": True, "news": True}),
        ("reaction", account, {"announcement_id": 1, "name": "👍"}),
        ("announcement", "announcement/1", {"id": 1}),
        ("access", f"access/{ada.id}", {"account": ada.id}),
        ("moderation", f"moderation/{ada.id}", {"account": ada.id}),
        ("moderated_domain", "domain/b.example", {"domain": "b.example"}),
        ("poll", "poll/1", {"id": 1}),
        ("files", "files/1", {"names": ["a.png"]}),
        ("card", "card/1", {"card_id": 1}),
        ("reminder", f"unlocked/{ada.id}", {"account": ada.id, "of": "Unlocked", "with": {}}),
        ("reminder", f"domains/{ada.id}", {"account": ada.id, "of": "DomainBlocked", "with": {"domain": "b.example"}}),
        ("reminder", f"mute/{ada.id}/{bob.id}", {"account": ada.id, "of": "MuteEnded", "with": {"target_id": bob.id}}),
        ("reminder", "scheduled/1", {"account": ada.id, "of": "StatusDue", "with": {"id": 1, "at": AT}}),
    ]
    rows = [NewEffect(sim.new_id(), KINDS[kind].queue.name, kind, key, payload) for kind, key, payload in payloads]
    late = sim.late
    sim.database.arrange(outbox.insert_many, rows, sim.run.clock.now())
    await sim.calm()
    assert sim.late >= late + len(rows)  # more when they promise something themselves
    assert not sim.logged("outbox.retry")
