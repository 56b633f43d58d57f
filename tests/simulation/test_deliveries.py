"""Activities reach other servers: each once in its effect, in the order of its author, also after crashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from json import dumps
from typing import Any
from unittest.mock import patch

import pytest
import trio
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from troupe.actors.activitypub.documents.tags import instant
from troupe.actors.activitypub.follower_lists import HEADER, FollowerList, digest_of, read_header
from troupe.actors.activitypub.requests import ReceivedRequest
from troupe.actors.activitypub.signatures import claim_of, holds
from troupe.actors.commands.account_deletions import DeleteAccount
from troupe.actors.commands.blocks import Block, Unblock
from troupe.actors.commands.bookmarks import Bookmark
from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.favourites import Favourite, Unfavourite
from troupe.actors.commands.featured_tags import FeatureTag, RemoveFeaturedTag, UnfeatureTag
from troupe.actors.commands.follow_requests import AuthorizeRequest, RemoveFollower
from troupe.actors.commands.follows import Follow, Unfollow
from troupe.actors.commands.moves import AddAlias, MoveAway, MoveBack, RemoveAlias
from troupe.actors.commands.pins import Pin, Unpin
from troupe.actors.commands.polls import Vote
from troupe.actors.commands.profiles import UpdateProfile
from troupe.actors.commands.quotes import RevokeQuote
from troupe.actors.commands.reblogs import Reblog, Unreblog
from troupe.actors.commands.statuses import DeleteStatus, PublishStatus
from troupe.actors.context import ActorContext
from troupe.actors.deliveries.sender import DeliveryReply
from troupe.actors.effects.sending import RotateKeyNow
from troupe.actors.kernel import Refused
from troupe.actors.rules.polls import PollTerms
from troupe.actors.sending import accounts as sending_accounts
from troupe.actors.sending.delivery_promises import Recipients
from troupe.storage import follows
from troupe.storage.engine.database import Connection
from troupe.storage.federation import follower_lists
from troupe.storage.federation.activities import FoundInbox, RemoteFollowers, find_remote_followers
from troupe.storage.follows import FollowTerms
from troupe.storage.profiles import Profile
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.server import Delivered

from .foreign import Foreigner, all_delivered

with_servers = partial(stage, deliveries=True)
DELIVERIES = "SELECT id FROM outbox WHERE queue = 'deliveries'"
TELLING = "SELECT FROM outbox WHERE kind IN ('send_account', 'send_deletion')"


def kinds(sim: Simulation, inbox: str | None = None) -> list[str]:
    """The types of the activities that were taken, each once, in the order in which they first came."""
    taken = {one.activity["id"]: one.activity["type"] for one in sim.delivered if inbox in (None, one.inbox)}
    return list(taken.values())


def objects(sim: Simulation, kind: str, inbox: str) -> list[Any]:
    """The objects of the activities of a type that an inbox has got, each once."""
    taken = {one.activity["id"]: one.activity for one in sim.delivered if one.inbox == inbox}
    return [activity["object"] for activity in taken.values() if activity["type"] == kind]


async def post_of(person: Person, post: PublishStatus) -> Status:
    """Publish, and return the status."""
    status = await person.insist(post)
    assert isinstance(status, Status)
    return status


@simulation(seeds=8, at_most=20, faults=2, world=with_servers)
async def test_a_post_reaches_the_servers_of_its_authors_followers_once_each(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "b.example")
    dan = Foreigner(sim, "dan", "d.example", shared=False)
    for follower in (bob, cat, dan):
        follower.follows(sim, ada)
    async with sim.together() as go:
        go(ada.publish, "hello", name="ada")
    await all_delivered(sim)
    (status,) = ada.published
    for inbox in (bob.inbox, dan.inbox):
        assert [one["id"] for one in objects(sim, "Create", inbox)] == [
            f"https://troupe.test/users/ada/statuses/{status}"
        ]
    assert {one.inbox for one in sim.delivered} == {bob.inbox, dan.inbox}
    assert len({one.body for one in sim.delivered}) == 1, "the body is the same at each try"
    assert all("signature" in {name.lower() for name in one.headers} for one in sim.delivered)
    sim.sometimes(len(sim.delivered) > 2, "one came twice")


@simulation(seeds=4, faults=0, world=with_servers)
async def test_a_post_is_the_same_whether_one_statement_stores_it_or_a_transaction(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    await ada.publish("the next ones are stored by one statement")
    plain = PublishStatus("hello https://page.example/", sensitive=True, spoiler_text="tea", language="de")
    posts = [await post_of(ada, plain)]
    posts += [await post_of(ada, replace(plain, in_reply_to_id=posts[0].id, visibility="private"))]
    with patch("troupe.actors.commands.statuses._stands_alone", return_value=False):
        posts += [await post_of(ada, plain)]
        posts += [await post_of(ada, replace(plain, in_reply_to_id=posts[0].id, visibility="private"))]
    await all_delivered(sim)
    notes = objects(sim, "Create", bob.inbox)[1:]
    texts = [
        dumps(note).replace(f"/{post.id}", "/1").replace(instant(post.created_at), "then")
        for note, post in zip(notes, posts, strict=True)
    ]
    assert texts[:2] == texts[2:]
    assert [note["inReplyTo"] for note in notes] == [None, posts[0].uri] * 2


@simulation(seeds=2, faults=0, world=with_servers)
async def test_a_hashtag_is_sent_as_it_was_first_written(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    for text in ("#Tea", "no hashtag", "#TEA"):
        await ada.publish(text)
    await all_delivered(sim)
    assert [[tag["name"] for tag in note["tag"]] for note in objects(sim, "Create", bob.inbox)] == [
        ["#Tea"], [], ["#Tea"]
    ]  # fmt: skip


@simulation(seeds=4, faults=0, world=with_servers)
async def test_a_follower_who_comes_after_the_others_were_read_gets_the_post(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    bob.follows(sim, ada)
    await ada.publish("hello bob")

    async def read(db: Connection, account_id: int) -> RemoteFollowers:
        found = await find_remote_followers(db, account_id)
        await follows.insert_follow(db, FollowTerms(sim.new_id(), cat.id, ada.id), sim.run.clock.now())
        return found

    with patch("troupe.actors.commands.statuses.find_remote_followers", read):
        await ada.publish("hello both")
    await ada.publish("hello again")
    await all_delivered(sim)
    assert kinds(sim, bob.inbox) == ["Create"] * 3
    assert kinds(sim, cat.inbox) == ["Create"] * 2


@simulation(seeds=10, faults=0, world=with_servers)
async def test_a_follow_goes_out_and_its_undo_has_the_same_follow(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    await ada.follow(bob)
    await ada.unfollow(bob)
    await all_delivered(sim)
    assert kinds(sim) == ["Follow", "Undo"]
    follow, undo = (one.activity for one in sim.delivered)
    assert follow["object"] == bob.uri
    assert undo["object"]["id"] == follow["id"]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_what_concerns_nobody_elsewhere_stays_here(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    eve.has_followed(ada)
    Foreigner(sim, "bob", "b.example")
    await ada.publish("hello @eve")
    await ada.follow(eve)
    await ada.block(eve)
    await all_delivered(sim)
    assert not sim.delivered


@simulation(seeds=5, faults=0, world=with_servers)
async def test_a_favourite_goes_to_the_author_of_the_status_alone(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    cat.follows(sim, ada)
    status = bob.has_published(sim, "hello")
    await ada.insist(Favourite(status))
    await ada.insist(Unfavourite(status))
    await ada.insist(Bookmark(status))
    await ada.mute(bob)
    await all_delivered(sim)
    assert kinds(sim) == kinds(sim, bob.inbox) == ["Like", "Undo"]
    like, undo = (one.activity for one in sim.delivered)
    assert like["object"] == f"{bob.uri}/statuses/{status}"
    assert undo["object"] == {name: value for name, value in like.items() if name != "@context"}


@simulation(seeds=5, faults=0, world=with_servers)
async def test_what_other_servers_people_do_is_sent_by_their_servers_alone(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    status = bob.has_published(sim, "hello")
    cat.follows(sim, bob)
    await cat.insist(Favourite(status, uri=f"{cat.uri}#likes/1"))
    await cat.insist(Unfavourite(status))
    await cat.insist(Reblog(status, "public", uri=f"{cat.uri}#boosts/1"))
    await cat.insist(Unreblog(status))
    await cat.insist(Unfollow(bob.id))
    await cat.insist(Block(ada.id, uri=f"{cat.uri}#blocks/1"))
    await cat.insist(Unblock(ada.id))
    await bob.insist(DeleteStatus(status))
    await all_delivered(sim)
    assert not sim.delivered


@simulation(seeds=5, faults=0, world=with_servers)
async def test_a_boost_goes_to_the_followers_and_to_the_author(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    cat.follows(sim, ada)
    status = bob.has_published(sim, "hello")
    await ada.insist(Reblog(status))
    await all_delivered(sim)
    await ada.insist(Unreblog(status))
    await all_delivered(sim)
    for inbox in (bob.inbox, cat.inbox):
        assert kinds(sim, inbox) == ["Announce", "Undo"]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_an_edit_and_a_deletion_reach_those_who_have_the_post(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    dan = Foreigner(sim, "dan", "d.example")
    cat.follows(sim, ada)
    status = await ada.publish("hello @bob@b.example")
    await dan.insist(Favourite(status))
    await ada.insist(EditStatus(status, "hello again @bob@b.example"))
    await ada.delete(status)
    await all_delivered(sim)
    assert kinds(sim, bob.inbox) == kinds(sim, cat.inbox) == ["Create", "Update", "Delete"]
    assert kinds(sim, dan.inbox) == ["Update", "Delete"]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_follows_from_elsewhere_are_answered(sim: Simulation) -> None:
    ada = await sim.account("ada")
    lea = await sim.account("lea", locked=True)
    bob = Foreigner(sim, "bob", "b.example")
    for target in (ada, lea):
        await bob.insist(Follow(target.id, uri=f"{bob.uri}#follows/{target.name}"))
    await lea.insist(AuthorizeRequest(bob.id))
    await lea.insist(RemoveFollower(bob.id))
    await ada.block(bob)
    await bob.attempt(Follow(ada.id, uri=f"{bob.uri}#follows/again"))
    await all_delivered(sim)
    answers: dict[str, list[str]] = {"ada": [], "lea": []}
    for one in sim.delivered:
        answers[one.activity["actor"].rpartition("/")[2]].append(one.activity["type"])
    assert answers == {"ada": ["Accept", "Reject", "Block", "Reject"], "lea": ["Accept", "Reject"]}
    accepted = {one.activity["object"]["id"] for one in sim.delivered if one.activity["type"] == "Accept"}
    assert accepted == {f"{bob.uri}#follows/ada", f"{bob.uri}#follows/lea"}


@simulation(seeds=5, faults=0, world=with_servers)
async def test_what_is_shown_on_a_profile_is_told_to_followers(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    status = await ada.publish("pin me")
    secret = await ada.publish("pin me too", visibility="private")
    for one in (status, secret):
        await ada.insist(Pin(one))
        await ada.insist(Unpin(one))
    tag = await ada.insist(FeatureTag("tea", "Tea"))
    await ada.insist(RemoveFeaturedTag(tag.id))
    await ada.insist(UnfeatureTag(tag.tag_id))
    await all_delivered(sim)
    assert kinds(sim) == ["Create", "Create", "Add", "Remove", "Add", "Remove"]
    assert objects(sim, "Add", bob.inbox)[0] == f"https://troupe.test/users/ada/statuses/{status}"
    assert [one["name"] for one in objects(sim, "Remove", bob.inbox)[1:]] == ["#Tea"]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_a_direct_post_goes_to_the_mentioned_alone(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    cat.follows(sim, ada)
    await ada.publish("for you @bob@b.example", visibility="direct")
    await all_delivered(sim)
    assert kinds(sim, bob.inbox) == ["Create"]
    assert kinds(sim, cat.inbox) == []


@simulation(seeds=5, faults=0, world=partial(stage, deliveries=True, mail=True))
async def test_a_changed_profile_is_told_and_a_deleted_account_to_all(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    bob.follows(sim, ada)
    await ada.publish("makes a key")
    await all_delivered(sim)
    await ada.insist(UpdateProfile(Profile(display_name="Ada L.")))
    await ada.insist(UpdateProfile(Profile(display_name="Ada L.")))
    await eve.insist(UpdateProfile(Profile(display_name="Eve")))
    await all_delivered(sim)
    assert kinds(sim) == ["Create", "Update"]
    assert objects(sim, "Update", bob.inbox)[0]["name"] == "Ada L."
    await ada.insist(DeleteAccount())
    await all_delivered(sim)
    assert kinds(sim, cat.inbox) == ["Delete"]
    assert kinds(sim, bob.inbox)[2:] == ["Delete"], "which says it all: nothing of what the account did is undone"


@simulation(seeds=10, faults=3, pinned=[(1100040, "random")], world=partial(stage, deliveries=True, mail=True))
async def test_all_servers_are_told_of_a_deletion_in_steps_that_survive_crashes(sim: Simulation) -> None:
    ada = await sim.account("ada")
    told = [Foreigner(sim, f"fay{number}", f"{number}.example", shared=number % 2 == 0) for number in range(7)]
    others = [Foreigner(sim, f"gil{number}", "0.example") for number in range(3)]  # behind the same shared inbox
    told[0].follows(sim, ada)
    await ada.publish("makes a key")
    await all_delivered(sim)
    promised = set[int]()

    def note_deliveries() -> None:
        promised.update(row["id"] for row in sim.database.rows(DELIVERIES))

    sim.always(note_deliveries, "deliveries are noted")
    with patch.object(sending_accounts, "INBOXES_AT_ONCE", 3):
        async with sim.together() as go:
            go(ada.insist, DeleteAccount(), name="ada")
        await Eventually(lambda: not sim.database.rows(TELLING), "every step is made", within=600).wait_until_true()
        await all_delivered(sim)
    deleted = [one.inbox for one in sim.delivered if one.activity["type"] == "Delete"]
    assert set(deleted) == {one.inbox for one in (*told, *others)}
    sim.sometimes(len(deleted) == len(set(deleted)), "each came once")
    assert len(promised) == len(set(deleted)), "a crash may repeat a delivery, and never what earlier steps have told"


@simulation(seeds=5, faults=0, world=with_servers)
async def test_a_changed_profile_goes_to_all_servers_that_keep_a_copy(sim: Simulation) -> None:
    ada = await sim.account("ada")
    names = ("follower", "followed", "asked", "named", "boosted", "liked", "stranger")
    people = {name: Foreigner(sim, name, f"{name}.example") for name in names}
    people["follower"].follows(sim, ada)
    ada.has_followed(people["followed"])
    await ada.publish("hello @named@named.example")
    await ada.follow(people["asked"])
    await ada.insist(Reblog(people["boosted"].has_published(sim, "boost me")))
    await ada.insist(Favourite(people["liked"].has_published(sim, "like me")))
    people["stranger"].has_published(sim, "nobody has seen me")
    await all_delivered(sim)
    await ada.insist(UpdateProfile(Profile(display_name="Ada L.")))
    await all_delivered(sim)
    reached = {name for name, one in people.items() if "Update" in kinds(sim, one.inbox)}
    assert reached == {*names} - {"stranger"}


@simulation(seeds=5, faults=0, world=with_servers)
async def test_who_quotes_asks_and_who_is_quoted_may_end_it(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    theirs = bob.has_published(sim, "quote me", quote_policy="public")
    quoting = await post_of(ada, PublishStatus("look", quoted_status_id=theirs))
    await all_delivered(sim)
    assert kinds(sim, bob.inbox) == ["Create", "QuoteRequest"]
    request = sim.delivered[-1].activity
    assert (request["object"], request["instrument"]["id"]) == (f"{bob.uri}/statuses/{theirs}", quoting.uri)
    mine = await ada.publish("quote me too")
    quote = bob.has_published(sim, "as she says", quote_of_id=mine, quote_state="accepted")
    await ada.insist(RevokeQuote(mine, quote))
    await all_delivered(sim)
    (gone,) = objects(sim, "Delete", bob.inbox)
    assert gone["id"] == f"https://troupe.test/users/ada/quote_authorizations/{quote}"


@simulation(seeds=5, faults=0, world=with_servers)
async def test_votes_go_out_one_by_one_and_tallies_together(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    terms = PollTerms(("tea", "milk"), multiple=True, seconds=86400)
    status = await post_of(ada, PublishStatus("which?", poll=terms))
    await eve.insist(Vote(status.id, status.poll_id or 0, (0, 1)))
    await bob.insist(Vote(status.id, status.poll_id or 0, (1,)))
    await trio.sleep(200)
    await all_delivered(sim)
    assert kinds(sim) == ["Create", "Update"]
    (question,) = objects(sim, "Update", bob.inbox)
    assert [option["replies"]["totalItems"] for option in question["anyOf"]] == [1, 2]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_the_outcome_of_a_poll_does_not_wait_for_more_votes(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    status = await post_of(ada, PublishStatus("which?", poll=PollTerms(("tea", "milk"), seconds=20)))
    await eve.insist(Vote(status.id, status.poll_id or 0, (0,)))
    await trio.sleep(25)
    await all_delivered(sim)
    (question,) = objects(sim, "Update", bob.inbox)
    assert [option["replies"]["totalItems"] for option in question["oneOf"]] == [1, 0]
    assert "closed" in question


@simulation(seeds=10, faults=2, world=partial(stage, deliveries=True, mail=True))
async def test_followers_elsewhere_learn_of_a_move_after_the_actor_that_proves_it(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    new = Foreigner(sim, "ann", "d.example")
    bob.follows(sim, ada)
    await ada.publish("hello")
    await all_delivered(sim)  # which makes the key: an account that has none is not told of
    for message in (
        AddAlias(cat.uri),
        AddAlias(cat.uri),
        MoveAway(new.id),
        RemoveAlias(cat.uri),
        MoveBack(),
        MoveBack(),
    ):
        await ada.insist(message)
        await trio.sleep(1)
    with pytest.raises(Refused, match="seven days"):
        await ada.insist(MoveAway(new.id))
    await all_delivered(sim)
    taken = list({one.activity["id"]: one.activity for one in sim.delivered}.values())[1:]
    assert [one["type"] for one in taken] == ["Update", "Update", "Move", "Update", "Update"]
    actors = [one["object"] for one in taken if one["type"] == "Update"]
    assert [one.get("alsoKnownAs") for one in actors] == [[cat.uri], [cat.uri], None, None]
    assert [one.get("movedTo") for one in actors] == [None, new.uri, new.uri, None]
    move = taken[2]
    assert move["actor"] == move["object"] == actors[0]["id"]
    assert (move["target"], move["to"]) == (new.uri, [actors[0]["followers"]])
    assert {one.inbox for one in sim.delivered} == {bob.inbox}


@simulation(seeds=10, at_most=30, faults=2, world=with_servers)
async def test_what_was_committed_before_a_crash_is_delivered_after_it(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    for follower in (bob, cat):
        follower.follows(sim, ada)

    async def post() -> None:
        for number in range(3):
            await ada.publish(f"number {number}")

    async def die() -> None:
        await sim.kill()
        await sim.start()

    async with sim.together() as go:
        go(post, name="ada")
        go(die, name="machine")
    await all_delivered(sim)
    for follower in (bob, cat):
        ids = [int(one["id"].rpartition("/")[2]) for one in objects(sim, "Create", follower.inbox)]
        assert ids == ada.published, "all, once in their effect, in the order of their author"
    sim.sometimes(len(sim.delivered) > 6, "one came twice")


@simulation(seeds=12, faults=1, world=with_servers)
async def test_after_a_block_is_acknowledged_nothing_more_goes_to_the_blocked(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    after: list[int] = []

    async def post() -> None:
        for number in range(4):
            blocked = acknowledged.is_set()
            status = await ada.publish(f"number {number}", visibility="private")
            if blocked:
                after.append(status)

    async def block() -> None:
        await ada.block(bob)
        acknowledged.set()

    acknowledged = trio.Event()
    async with sim.together() as go:
        go(post, name="ada")
        go(block, name="ada too")
    after.append(await ada.publish("unseen", visibility="private"))
    await all_delivered(sim)
    ids = [int(one["id"].rpartition("/")[2]) for one in objects(sim, "Create", bob.inbox)]
    assert not {*ids} & {*after}
    assert ids == [status for status in ada.published if status in ids]
    told = kinds(sim, bob.inbox)
    assert told[-2:] == ["Reject", "Block"], "which come after every post that was sent before"
    sim.sometimes(bool(ids), "a post was before the block")
    sim.sometimes(len(after) > 1, "a post was after it")


def signed_by(one: Delivered, pem: str) -> bool:
    """True if a key has signed a delivery to b.example."""
    headers = {"host": "b.example"} | {name.lower(): value for name, value in one.headers.items()}
    request = ReceivedRequest("POST", "https://b.example", "/inbox", headers, one.body)
    return holds(claim_of(request, parsedate_to_datetime(headers["date"])), pem)


# The pinned run finds a key that was read after a replacement, and an activity that was read before it.
@simulation(seeds=5, faults=0, pinned=[(1100173, "random")], world=with_servers)
async def test_the_old_key_signs_what_was_before_the_new_one_and_tells_of_it(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    await ada.publish("makes a key")
    await all_delivered(sim)
    (old,) = sim.database.rows("SELECT public_key FROM accounts WHERE id = $1", ada.id)

    async def is_away(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.lowlevel.checkpoint()
        return DeliveryReply(500)

    sim.answers["b.example"] = is_away
    await ada.publish("waits")
    with patch("troupe.actors.commands.sending.make_key", another_key):
        await ada.insist(RotateKeyNow())
    await ada.publish("has the new key")
    sim.answers.clear()
    await all_delivered(sim)
    (new,) = sim.database.rows("SELECT public_key FROM accounts WHERE id = $1", ada.id)
    assert kinds(sim) == ["Create", "Create", "Update", "Create"]
    update = sim.delivered[2].activity
    assert update["object"]["publicKey"]["publicKeyPem"] == new["public_key"] != old["public_key"]
    assert [signed_by(one, old["public_key"]) for one in sim.delivered] == [True, True, True, False]
    assert signed_by(sim.delivered[3], new["public_key"])
    # A server that starts now has the new key from its row.
    await sim.stop()
    await sim.start()
    await ada.publish("after a restart")
    await all_delivered(sim)
    assert signed_by(sim.delivered[4], new["public_key"])


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_server_that_knows_the_new_key_already_takes_what_the_old_one_would_sign(sim: Simulation) -> None:
    ada = await sim.account("ada")
    Foreigner(sim, "bob", "b.example").follows(sim, ada)
    await ada.publish("the key is made")
    await all_delivered(sim)
    refused = 0

    async def refuses_twice(headers: Mapping[str, str]) -> DeliveryReply:
        nonlocal refused
        refused += 1
        await trio.lowlevel.checkpoint()
        return DeliveryReply(401 if refused <= 2 else 202)  # both kinds of signatures with the old key

    sim.answers["b.example"] = refuses_twice
    with patch("troupe.actors.commands.sending.make_key", another_key):
        await ada.insist(RotateKeyNow())
    await all_delivered(sim)
    (new,) = sim.database.rows("SELECT public_key FROM accounts WHERE id = $1", ada.id)
    assert kinds(sim) == ["Create", "Update"]
    assert signed_by(sim.delivered[1], new["public_key"])
    assert not sim.logged("outbox.retry")


async def another_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@simulation(seeds=2, faults=0, world=with_servers)
async def test_a_local_post_asks_for_no_inboxes_and_one_for_others_does(sim: Simulation) -> None:
    """The statement that stores a status says whether it leaves the server: a local one costs no query more."""
    ada, eve = await sim.people("ada", "eve")
    bob = Foreigner(sim, "bob", "b.example")
    eve.has_followed(ada)
    asked: list[Recipients] = []

    async def find(db: Connection, context: ActorContext, account_id: int, recipients: Recipients) -> list[FoundInbox]:
        asked.append(recipients)
        return []

    async def read(db: Connection, account_id: int) -> RemoteFollowers:
        asked.append(Recipients(followers=True))
        return await find_remote_followers(db, account_id)

    with (
        patch("troupe.actors.sending.statuses.find_inboxes", find),
        patch("troupe.actors.commands.statuses.find_remote_followers", read),
    ):
        status = await ada.publish("hello @eve")
        await eve.insist(PublishStatus("@ada hello", in_reply_to_id=status))
        await eve.insist(Reblog(status))
        assert not asked
        await ada.publish("hello @bob@b.example", visibility="direct")
        assert len(asked) == 1
        bob.follows(sim, ada)
        await ada.publish("hello")
        await ada.publish("@eve", visibility="direct")
        assert len(asked) == 2


@simulation(seeds=5, faults=0, world=with_servers)
async def test_a_server_is_told_with_a_followers_only_post_which_followers_it_has(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "b.example")
    dan, eve = Foreigner(sim, "dan", "d.example"), Foreigner(sim, "eve", "e.example")
    for follower in (bob, cat, dan):
        follower.follows(sim, ada)
    for visibility in ("public", "unlisted", "direct"):
        await ada.publish("hello @eve@e.example", visibility=visibility)
    await ada.publish("psst @eve@e.example", visibility="private")
    await all_delivered(sim)
    told = {one.inbox: one.headers[HEADER] for one in sim.delivered if HEADER in one.headers}
    assert sum(HEADER in one.headers for one in sim.delivered) == 3, "with the followers-only post alone"
    url = "https://troupe.test/users/ada/followers"
    for inbox, uris in ((bob.inbox, [cat.uri, bob.uri]), (dan.inbox, [dan.uri]), (eve.inbox, [])):
        expected = FollowerList(url, f"{url}_synchronization", digest_of(uris))
        assert read_header(told[inbox], "https://troupe.test/users/ada") == expected


@simulation(seeds=5, faults=0, world=with_servers)
async def test_digests_of_followers_are_one_query_for_all_servers(sim: Simulation) -> None:
    ada = await sim.account("ada")
    for number in range(5):
        Foreigner(sim, "bob", f"b{number}.example").follows(sim, ada)
    asked: list[int] = []
    digests = follower_lists.digests

    async def counted(db: Connection, account_id: int) -> dict[str, str]:
        asked.append(account_id)
        return await digests(db, account_id)

    with patch("troupe.storage.federation.follower_lists.digests", counted):
        await ada.publish("psst", visibility="private")
        await all_delivered(sim)
    assert len(asked) == 1
    assert len({one.headers[HEADER] for one in sim.delivered}) == 5


AWAY = DeliveryReply(503)
POSTS = 3


@simulation(seeds=10, faults=1, pinned=[(1100004, "random")], world=with_servers)
async def test_what_a_server_has_not_got_is_withdrawn_and_what_it_may_have_is_deleted(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "c.example")
    theirs = cat.has_published(sim, "boost me")
    for follower in (bob, cat):
        follower.follows(sim, ada)
    answers = [AWAY]

    async def is_away(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.sleep(1)
        return answers[0]

    sim.answers["b.example"] = is_away
    tried = await ada.publish("tried once, and perhaps taken")
    await trio.sleep(10)
    untried = await ada.publish("behind the first")
    await ada.insist(EditStatus(untried, "behind the first, and better"))
    boost = await ada.insist(Reblog(theirs))
    assert boost is not None
    for one in (untried, tried):
        await ada.delete(one)
    await ada.insist(Unreblog(theirs))
    kept = await ada.publish("kept")
    answers[0] = DeliveryReply(202)
    await all_delivered(sim)
    uri = "https://troupe.test/users/ada/statuses/"
    told = [(kind, one if isinstance(one, str) else one["id"]) for kind, one in what(sim, bob.inbox)]
    if sim.logged("storage.lost"):
        # The relay may have claimed again what it could not put off, together with what waited behind it.
        assert told[0] == ("Create", f"{uri}{tried}")
        assert told[-1] == ("Create", f"{uri}{kept}")
        assert ("Delete", f"{uri}{tried}") in told
        assert (("Create", f"{uri}{untried}") in told) is (("Delete", f"{uri}{untried}") in told)
    else:
        assert told == [("Create", f"{uri}{tried}"), ("Delete", f"{uri}{tried}"), ("Create", f"{uri}{kept}")]
    told = [(kind, one if isinstance(one, str) else one["id"]) for kind, one in what(sim, cat.inbox)]
    assert {kind for kind, one in told if one == f"{uri}{tried}"} == {"Create", "Delete"}


@simulation(seeds=8, faults=2, world=with_servers)
async def test_a_post_that_is_deleted_while_it_is_delivered_is_deleted_there_too(sim: Simulation) -> None:
    """Whenever it is deleted: a server that has got a post gets its deletion too, and after it."""
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)

    async def is_slow(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.sleep(0.2 * sim.run.random.random())
        return DeliveryReply(202)

    sim.answers["b.example"] = is_slow

    async def post_and_delete() -> None:
        for _ in range(POSTS):
            status = await ada.publish("regretted")
            await trio.sleep(sim.run.random.choice((0.0, 0.1, 0.3, 1.0)))
            await ada.delete(status)

    async def crash() -> None:
        await trio.sleep(0.5 * sim.run.random.random())
        await sim.kill()
        await sim.start()

    async with sim.together() as go:
        go(post_and_delete, name="ada")
        go(crash, name="SIGKILL")
    await all_delivered(sim)
    taken = what(sim, bob.inbox)
    created = {one["id"] for kind, one in taken if kind == "Create"}
    deleted = {one["id"] for kind, one in taken if kind == "Delete"}
    assert created <= deleted, "nothing stays there"
    sim.sometimes(len(created) < POSTS, "a post was deleted before it was sent")
    sim.sometimes(bool(created), "something was sent")


@simulation(seeds=5, faults=0, world=with_servers)
async def test_what_others_have_answered_is_deleted_there_also_before_it_was_sent(sim: Simulation) -> None:
    """A server that shows an answer has fetched what it answers."""
    ada, eve = await sim.people("ada", "eve")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    answers = [AWAY]

    async def is_away(headers: Mapping[str, str]) -> DeliveryReply:
        return answers[0]

    sim.answers["b.example"] = is_away
    await ada.publish("first")
    await trio.sleep(10)
    status = await ada.publish("answer me")
    await eve.insist(PublishStatus("@ada yes", in_reply_to_id=status))
    await ada.delete(status)
    answers[0] = DeliveryReply(202)
    await all_delivered(sim)
    assert [kind for kind, _ in what(sim, bob.inbox)] == ["Create", "Create", "Delete"]


@simulation(seeds=5, faults=0, world=partial(stage, deliveries=True, mail=True))
async def test_with_a_deleted_account_all_is_withdrawn_that_nobody_has_got(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    bob.follows(sim, ada)
    answers = [AWAY]

    async def is_away(headers: Mapping[str, str]) -> DeliveryReply:
        return answers[0]

    sim.answers["b.example"] = is_away
    await ada.publish("tried")
    await trio.sleep(10)
    await ada.publish("not tried")
    await ada.insist(DeleteAccount())
    await trio.sleep(10)
    answers[0] = DeliveryReply(202)
    await all_delivered(sim)
    assert [kind for kind, _ in what(sim, bob.inbox)] == ["Create", "Delete"]


def what(sim: Simulation, inbox: str) -> list[tuple[str, Any]]:
    """The types and objects of what an inbox has taken, in order, each once."""
    taken = {one.activity["id"]: one.activity for one in sim.delivered if one.inbox == inbox}
    return [(activity["type"], activity["object"]) for activity in taken.values()]
