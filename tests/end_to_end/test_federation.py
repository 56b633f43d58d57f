"""Two servers of this software, by real sockets and real TLS: people here and there read and answer each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from ..data_folders import passable_folder
from .apps import App
from .federated import FederatedServer, federated
from .patience import PATIENCE, eventually


@pytest.fixture(scope="module")
def servers(prepared: Path) -> Iterator[list[FederatedServer]]:
    """Two servers for the tests of this file. The last ones kill them, and have them run again."""
    with passable_folder() as folder, federated(folder, prepared, ["north.test", "south.test"]) as made:
        for one in made:
            one.start()
        yield made


class Pair:
    """Una in the north and Sol in the south, and how each finds the other."""

    def __init__(self, north: FederatedServer, south: FederatedServer) -> None:
        (self.una,), (self.sol,) = north.people("una"), south.people("sol")
        self.north, self.south = self.una.app, self.sol.app
        self.sol_in_north = found(self.north, f"@{self.sol.name}@{south.domain}")
        self.una_in_south = found(self.south, f"@{self.una.name}@{north.domain}")

    def befriend(self) -> None:
        """Both follow each other."""
        self.north.account_follow(self.sol_in_north.id)
        self.south.account_follow(self.una_in_south.id)
        eventually(lambda: self.north.account_relationships(self.sol_in_north.id)[0].followed_by)
        eventually(lambda: self.south.account_relationships(self.una_in_south.id)[0].followed_by)

    def notice(self, app: App, kind: str, of: Any = None) -> Any:
        """The one notification of a kind, once it has come; of those with a status, the one with this status."""

        def told() -> list[Any]:
            notices = app.notifications(types=[kind])
            return [one for one in notices if of is None or one.status.uri == of.uri]

        (notice,) = eventually(told)
        return notice

    def in_south(self, status: Any) -> Any:
        """A status of the north as the south shows it."""
        return eventually(lambda: one(self.south.timeline_home(limit=40), lambda each: each.uri == status.uri))

    def in_north(self, status: Any) -> Any:
        return eventually(lambda: one(self.north.timeline_home(limit=40), lambda each: each.uri == status.uri))


def found(app: App, handle: str) -> Any:
    (account,) = app.search_v2(handle, resolve=True, result_type="accounts").accounts
    return account


def poll_of(app: App, status: Any) -> Any:
    return app.status(status.id).poll


def one(many: list[Any], wanted: Callable[[Any], bool]) -> Any:
    return next((each for each in many if wanted(each)), None)


@pytest.fixture(scope="module")
def pair(servers: list[FederatedServer]) -> Pair:
    """Two people who follow each other, for the tests of what they write."""
    pair = Pair(*servers)
    pair.befriend()
    return pair


@pytest.fixture
def own_pair(servers: list[FederatedServer]) -> Pair:
    """Two people who follow each other, for a test after which they do not, or are gone."""
    pair = Pair(*servers)
    pair.befriend()
    return pair


def test_an_account_of_the_other_server_is_found_and_followed(servers: list[FederatedServer]) -> None:
    pair = Pair(*servers)
    assert pair.sol_in_north.acct == f"{pair.sol.name}@south.test"
    assert pair.north.account_follow(pair.sol_in_north.id).following
    notice = pair.notice(pair.south, "follow")
    assert notice.account.acct == f"{pair.una.name}@north.test"
    eventually(lambda: pair.south.account_relationships(pair.una_in_south.id)[0].followed_by)
    pair.north.account_unfollow(pair.sol_in_north.id)
    eventually(lambda: not pair.south.account_relationships(pair.una_in_south.id)[0].followed_by)


def test_a_locked_account_is_asked_before_it_is_followed(servers: list[FederatedServer]) -> None:
    pair = Pair(*servers)
    pair.south.account_update_credentials(locked=True)
    pair.north.account_follow(pair.sol_in_north.id)
    (asking,) = eventually(pair.south.follow_requests)
    assert not pair.south.account_relationships(asking.id)[0].followed_by
    pair.south.follow_request_authorize(asking.id)
    private = pair.south.status_post("for followers", visibility="private")
    eventually(lambda: one(pair.north.timeline_home(), lambda each: each.uri == private.uri))


def test_a_status_with_all_its_parts_arrives(pair: Pair) -> None:
    status = pair.north.status_post(
        f"@{pair.sol.name}@south.test look at #tea https://north.test/x",
        spoiler_text="tea",
        sensitive=True,
        language="de",
    )
    there = pair.in_south(status)
    assert (there.spoiler_text, there.sensitive, there.language, there.visibility) == ("tea", True, "de", "public")
    assert [tag.name for tag in there.tags] == ["tea"]
    assert [mention.acct for mention in there.mentions] == [pair.sol.name]
    assert there.account.acct == f"{pair.una.name}@north.test"
    notice = pair.notice(pair.south, "mention", status)
    assert notice.status.id == there.id


@pytest.mark.parametrize("visibility", ["public", "unlisted", "private", "direct"])
def test_each_visibility_arrives_as_it_is(pair: Pair, visibility: str) -> None:
    status = pair.north.status_post(f"@{pair.sol.name}@south.test hello", visibility=visibility)
    assert pair.notice(pair.south, "mention", status).status.visibility == visibility


def test_an_answer_is_in_the_thread_on_both_sides(pair: Pair) -> None:
    question = pair.north.status_post("who is there?")
    there = pair.in_south(question)
    answer = pair.south.status_post(f"@{pair.una.name}@north.test me", in_reply_to_id=there.id)
    assert pair.notice(pair.north, "mention", answer).status.in_reply_to_id == question.id
    assert [each.uri for each in pair.north.status_context(question.id).descendants] == [answer.uri]
    assert pair.north.status(question.id).replies_count == 1


def test_favourites_and_boosts_are_counted_and_taken_back(pair: Pair) -> None:
    status = pair.north.status_post("like me")
    there = pair.in_south(status)
    pair.south.status_favourite(there.id)
    pair.south.status_reblog(there.id)
    eventually(lambda: pair.north.status(status.id).favourites_count == pair.north.status(status.id).reblogs_count == 1)
    north = pair.north
    notices = north.notifications(types=["favourite", "reblog"])
    assert {each.type for each in notices if each.status.id == status.id} == {"favourite", "reblog"}
    boost = eventually(
        lambda: one(pair.north.account_statuses(pair.sol_in_north.id), lambda each: each.reblog is not None)
    )
    assert boost.reblog.id == status.id
    pair.south.status_unfavourite(there.id)
    pair.south.status_unreblog(there.id)
    eventually(lambda: pair.north.status(status.id).favourites_count == pair.north.status(status.id).reblogs_count == 0)


def test_an_edit_and_a_deletion_arrive(pair: Pair) -> None:
    status = pair.north.status_post("frist")
    there = pair.in_south(status)
    pair.north.status_update(status.id, "first")
    edited = eventually(lambda: one([pair.south.status(there.id)], lambda each: each.edited_at is not None))
    assert "first" in edited.content
    assert len(pair.south.status_history(there.id)) == 2
    pair.north.status_delete(status.id)
    eventually(lambda: not one(pair.south.timeline_home(limit=40), lambda each: each.uri == status.uri))


def test_votes_are_counted_at_the_poll_and_shown_on_both_sides(pair: Pair) -> None:
    status = pair.north.status_post(
        "tea or coffee?", poll=pair.north.make_poll(["tea", "coffee"], expires_in=3600, multiple=True)
    )
    there = pair.in_south(status)
    assert [option.title for option in there.poll.options] == ["tea", "coffee"]
    pair.south.poll_vote(there.poll.id, [0, 1])
    tallied = eventually(lambda: one([poll_of(pair.north, status)], lambda poll: poll.votes_count == 2))
    assert tallied.voters_count == 1
    eventually(lambda: poll_of(pair.south, there).votes_count == 2)


def test_a_changed_profile_arrives(pair: Pair) -> None:
    pair.north.account_update_credentials(display_name="Una of the north", note="I drink tea")
    eventually(lambda: pair.south.account(pair.una_in_south.id).display_name == "Una of the north")
    assert "tea" in pair.south.account(pair.una_in_south.id).note


def test_a_new_key_is_announced_and_what_it_signs_is_believed(own_pair: Pair, servers: list[FederatedServer]) -> None:
    north, south = servers
    before = public_key(north, own_pair.una.name)
    assert north.troupe("accounts", "rotate-keys", own_pair.una.name).returncode == 0
    eventually(lambda: public_key(north, own_pair.una.name) != before)
    own_pair.in_south(own_pair.north.status_post("signed with the new key"))
    done = south.troupe("accounts", "refresh", f"{own_pair.una.name}@{north.domain}")
    assert done.stdout == "Fetching 1 account again\n"


def public_key(server: FederatedServer, name: str) -> str:
    """The key in the document of an account."""
    request = Request(f"{server.url}/users/{name}", headers={"Accept": "application/activity+json"})
    with urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)["publicKey"]["publicKeyPem"]


def test_a_pinned_status_is_pinned_on_both_sides(pair: Pair) -> None:
    status = pair.north.status_post("remember this")
    there = pair.in_south(status)
    pair.north.status_pin(status.id)
    eventually(
        lambda: [each.id for each in pair.south.account_statuses(pair.una_in_south.id, pinned=True)] == [there.id]
    )
    pair.north.status_unpin(status.id)
    eventually(lambda: not pair.south.account_statuses(pair.una_in_south.id, pinned=True))


def test_who_is_blocked_gets_nothing_more(own_pair: Pair) -> None:
    own_pair.north.account_block(own_pair.sol_in_north.id)
    eventually(lambda: not own_pair.south.account_relationships(own_pair.una_in_south.id)[0].followed_by)
    secret = own_pair.north.status_post("not for sol", visibility="private")
    mark = own_pair.north.status_post("a public one")
    assert not one(own_pair.south.timeline_home(limit=40), lambda each: each.uri in (secret.uri, mark.uri))


def test_a_deleted_account_is_gone_on_the_other_side(own_pair: Pair, servers: list[FederatedServer]) -> None:
    status = own_pair.north.status_post("my last words")
    own_pair.in_south(status)
    assert servers[0].troupe("accounts", "delete", own_pair.una.name, "--yes").returncode == 0
    eventually(lambda: not one(own_pair.south.timeline_home(limit=40), lambda each: each.uri == status.uri))


def test_what_was_said_during_an_outage_arrives_after_it_once(servers: list[FederatedServer]) -> None:
    north, south = servers
    pair = Pair(north, south)
    pair.befriend()
    south.front.close()
    said = [pair.north.status_post(f"during the outage {number}") for number in range(5)]
    south.front.open()
    arrived = eventually(lambda: all_of(pair.south.timeline_home(limit=40), said))
    assert [each.uri for each in arrived] == [each.uri for each in reversed(said)]


@pytest.mark.parametrize("which", ["sender", "receiver"])
def test_a_kill_amid_deliveries_loses_nothing_and_doubles_nothing(servers: list[FederatedServer], which: str) -> None:
    north, south = servers
    pair = Pair(north, south)
    pair.befriend()
    killed = north if which == "sender" else south
    said: list[Any] = []
    for number in range(5):
        said += [pair.north.status_post(f"number {number}, {part}") for part in range(4)]
        killed.kill()
        killed.start()
    arrived = eventually(lambda: all_of(pair.south.timeline_home(limit=40), said))
    assert sorted(each.uri for each in arrived) == sorted(each.uri for each in said)


def all_of(timeline: list[Any], said: list[Any]) -> list[Any]:
    """The statuses of a timeline that were said, once all of them are there."""
    uris = [each.uri for each in said]
    there = [each for each in timeline if each.uri in uris]
    return there if {each.uri for each in there} == set(uris) else []
