"""A parent grants all below it, and nothing beside."""

import pytest

from troupe.actors.rules import scopes


@pytest.mark.parametrize(
    ("held", "needed"),
    [
        (("read",), ("read:statuses",)),
        (("read:statuses",), ("read:statuses",)),
        (("write",), ("write:follows", "follow")),
        (("follow",), ("write:follows", "follow")),
        (("follow",), ("read:blocks",)),
        (("profile",), ("profile", "read:accounts")),
        (("admin:read",), ("admin:read:reports",)),
        ((), ()),
    ],
)
def test_granted(held: tuple[str, ...], needed: tuple[str, ...]) -> None:
    assert scopes.granted(held, needed)


@pytest.mark.parametrize(
    ("held", "needed"),
    [
        (("read",), ("write:statuses",)),
        (("read:accounts",), ("read:statuses",)),
        (("read:statuses",), ("read",)),
        (("follow",), ("read:statuses",)),
        (("read", "write"), ("admin:read:reports",)),
        (("read", "write"), ("push",)),
        (("read",), ("profile",)),
    ],
)
def test_not_granted(held: tuple[str, ...], needed: tuple[str, ...]) -> None:
    assert not scopes.granted(held, needed)


def test_an_authorization_stays_inside_its_app() -> None:
    assert scopes.covers_all(("read", "write:statuses"), ("read:accounts", "write:statuses"))
    assert not scopes.covers_all(("read:accounts",), ("read",))


@pytest.mark.parametrize("text", ["read write", "read+write", "read,write", " read  write read "])
def test_scopes_are_read_with_any_separator(text: str) -> None:
    assert scopes.parse(text) == ("read", "write")


def test_retired_scopes_may_still_be_asked_for() -> None:
    assert scopes.known(("read", "crypto"))
    assert not scopes.known(("read", "everything"))


@pytest.mark.parametrize("scope", sorted(scopes.ALL))
def test_every_scope_has_words_for_people(scope: str) -> None:
    words = scopes.in_words(scope)
    assert " " in words
    assert ":" not in words
    assert "_" not in words


def test_the_broad_ones_are_the_coarse_ones_and_the_far_reaching_all_of_admin() -> None:
    assert {"read", "write", "follow"} == scopes.BROAD
    assert {scope for scope in scopes.ALL if scope.startswith("admin:")} == scopes.FAR_REACHING
