"""Who may quote a status, for policies that statuses of other servers may have, too."""

from dataclasses import replace

import pytest

from troupe.actors.rules.visibility import Following, Perspective, approval_for
from troupe.storage.quotes import QuotedStatus

ADA, BOB = 1, 2
STRANGER = Perspective(BOB)
FOLLOWER = replace(STRANGER, following={ADA: Following()})


@pytest.mark.parametrize(
    ("visibility", "policy", "manual", "stranger", "follower", "author"),
    [
        ("public", "public", "nobody", "automatic", "automatic", "automatic"),
        ("unlisted", "followers", "public", "manual", "automatic", "automatic"),
        ("public", "nobody", "followers", "denied", "manual", "automatic"),
        ("public", "nobody", "nobody", "denied", "denied", "automatic"),
        ("private", "public", "public", "denied", "denied", "automatic"),
        ("direct", "public", "public", "denied", "denied", "denied"),
    ],
)
def test_policies_and_visibility_decide(
    visibility: str, policy: str, manual: str, stranger: str, follower: str, author: str
) -> None:
    status = QuotedStatus(ADA, True, visibility, (BOB,), policy, manual)
    viewers = (STRANGER, FOLLOWER, Perspective(ADA), Perspective())
    assert [approval_for(status, viewer) for viewer in viewers] == [stranger, follower, author, "denied"]


@pytest.mark.parametrize("how", ["blocking", "blocked_by"])
def test_blocks_forbid_both_ways(how: str) -> None:
    status = QuotedStatus(ADA, True, "public", (), "public", "public")
    assert approval_for(status, replace(FOLLOWER, **{how: frozenset({ADA})})) == "denied"
