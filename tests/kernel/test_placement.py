"""Which account's owner handles a message: of the account of an address, or of the sender of a command to a list."""

from __future__ import annotations

import pytest

from troupe.actors.account import PerspectiveOf
from troupe.actors.broadcast.broadcast import account_address, home_address, list_address
from troupe.actors.cluster.commands import owner_account
from troupe.actors.commands.blocks import Block
from troupe.actors.commands.lists import AddToList, ChangeList, CreateList, DeleteList, RemoveFromList
from troupe.actors.commands.moderation import TellStates
from troupe.actors.kernel import Address, Message
from troupe.actors.timelines.home import HomePage
from troupe.actors.timelines.list import ListOwner, ListPage, ListTimeline
from troupe.storage.upkeep.paging import Page

ADA, BOB, LIST = 103, 104, 9001


@pytest.mark.parametrize("message", [Block(BOB), TellStates(), CreateList("friends", "list", exclusive=False)])
def test_a_command_to_an_account_is_handled_by_its_owner(message: Message[object]) -> None:
    assert owner_account(account_address(ADA), message) == ADA


@pytest.mark.parametrize(
    "message", [ChangeList(ADA, "friends"), DeleteList(ADA), AddToList(ADA, (BOB,)), RemoveFromList(ADA, (BOB,))]
)
def test_a_command_to_a_list_is_handled_by_the_owner_of_its_sender(message: Message[object]) -> None:
    assert owner_account(list_address(LIST), message) == ADA


def test_each_command_to_a_list_names_its_sender() -> None:
    commands = [message for message in ListTimeline.turns if message.at_owner]
    assert len(commands) == 4
    assert all("viewer_id" in message.__annotations__ for message in commands)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (account_address(ADA), PerspectiveOf()),
        (home_address(ADA), HomePage(Page(20))),
        (list_address(LIST), ListPage(ADA, Page(20))),
        (list_address(LIST), ListOwner()),
    ],
)
def test_a_query_is_handled_in_each_process(address: Address, message: Message[object]) -> None:
    assert owner_account(address, message) is None


def test_a_command_to_a_list_without_its_sender_is_an_error() -> None:
    with pytest.raises(TypeError, match="Block to list/9001 names no account"):
        owner_account(list_address(LIST), Block(BOB))
