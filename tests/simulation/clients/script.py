"""What random clients do: drawn by hypothesis, so that a failing script becomes a short one, or by a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from random import Random

from hypothesis import strategies as st


class Deed(Enum):
    """One thing that a client does. The first is nothing at all, which is what a script shrinks to."""

    REST = auto()
    PUBLISH = auto()
    ANSWER = auto()
    ASK = auto()  # a poll
    TAG = auto()  # a post with hashtags
    TAG_ANSWER = auto()
    EDIT = auto()
    DELETE = auto()
    REBLOG = auto()
    UNREBLOG = auto()
    FAVOURITE = auto()
    UNFAVOURITE = auto()
    BOOKMARK = auto()
    UNBOOKMARK = auto()
    PIN = auto()
    UNPIN = auto()
    VOTE = auto()
    FOLLOW = auto()
    UNFOLLOW = auto()
    QUOTE = auto()
    REVOKE = auto()
    CHANGE_POLICY = auto()
    FOLLOW_TAG = auto()
    UNFOLLOW_TAG = auto()
    LOCK = auto()
    UNLOCK = auto()
    AUTHORIZE = auto()
    REJECT = auto()
    BLOCK = auto()
    UNBLOCK = auto()
    MUTE = auto()
    UNMUTE = auto()
    LIST = auto()
    UNLIST = auto()
    MAKE_EXCLUSIVE = auto()  # the list: who is on it is not at home
    MAKE_INCLUSIVE = auto()
    RENAME = auto()
    MARK = auto()
    READ_MARKER = auto()
    READ_HOME = auto()
    READ_PUBLIC = auto()
    READ_LIST = auto()
    READ_PROFILE = auto()
    READ_THREAD = auto()
    READ_NOTIFICATIONS = auto()
    LISTEN = auto()
    HANG_UP = auto()
    WAIT = auto()
    KILL = auto()  # the server, which starts again

    def __repr__(self) -> str:
        return f"Deed.{self.name}"


OFTEN = (
    *(Deed.PUBLISH,) * 5, *(Deed.ANSWER,) * 2, *(Deed.REBLOG,) * 3, *(Deed.EDIT, Deed.DELETE, Deed.FAVOURITE) * 2,
    *(Deed.FOLLOW, Deed.TAG, Deed.QUOTE) * 2, Deed.FOLLOW_TAG, *(Deed.READ_HOME,) * 4,
    *(Deed.READ_NOTIFICATIONS, Deed.READ_PUBLIC, Deed.LISTEN) * 2,
)  # fmt: skip
DEEDS = tuple(Deed)[:-1] + OFTEN


@dataclass(frozen=True)
class Step:
    """Who does what, to which of their neighbours, and with which of the things at hand."""

    who: int
    deed: Deed
    whom: int = 0
    which: int = 0

    def __repr__(self) -> str:
        return f"Step({self.who}, {self.deed}, {self.whom}, {self.which})"


Rounds = list[list[Step]]  # in a round all act at once, each client's steps in order; after it everything is calm


NEIGHBOURS, THINGS = 8, 24  # that a step chooses among


def steps(people: int) -> st.SearchStrategy[Step]:
    """Any step of one of so many people."""
    return st.builds(
        Step, st.integers(0, people - 1), st.sampled_from(DEEDS), st.integers(0, NEIGHBOURS - 1),
        st.integers(0, THINGS - 1),
    )  # fmt: skip


def a_step(chance: Random, people: int, deeds: Sequence[Deed]) -> Step:
    """One of these steps, drawn by chance."""
    return Step(chance.randrange(people), chance.choice(deeds), chance.randrange(NEIGHBOURS), chance.randrange(THINGS))
