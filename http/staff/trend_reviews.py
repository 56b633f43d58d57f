"""The page on which staff review trends: hashtags, links and publishers, posts and authors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...actors.commands.trend_reviews import Kind, ReviewTrend
from ...actors.kernel import Refused
from ...actors.rules.identity import domain_of
from ...actors.rules.roles import Permission
from ...actors.rules.trends import publishers_of
from ...actors.shown.trends import find_links, find_statuses, find_tags
from ...storage.preview_cards import PreviewCard
from ..access.context import HttpContext
from ..admin.trend_reviews import find_public
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import UNKNOWN_ID, Choice, Flag, Text, as_id
from ..web.posts import PostView, posts_in
from .member import StaffForm, StaffMember, sentence_of
from .staff_page import Done, Facts, StaffPage

PATH = "/admin/trends"
SHOWN = 50  # entries of a list; entries after these are hardly seen
Listed = Literal["tags", "links", "posts"]
LISTS: dict[Kind, Listed] = {"tag": "tags", "link": "links", "publisher": "links", "status": "posts", "author": "posts"}
TABS: Sequence[tuple[Listed, str]] = (("tags", "Hashtags"), ("links", "Links"), ("posts", "Posts"))
TRENDS = StaffPage(
    PATH,
    Permission.MANAGE_TAXONOMIES,
    {"allowed": "It may trend.", "forbidden": "It is kept out of the trends."},
)


class TrendQuery(Done):
    """The list to show."""

    list: Annotated[Listed, Choice] = "tags"


class ReviewForm(StaffForm):
    """A decision. The key is the name of a hashtag, the domain of a publisher, or another id."""

    kind: Annotated[Kind, Choice]
    key: Text = ""
    trendable: Flag = False

    def named(self) -> int | str:
        """Return the key for the command. Raises NotFound if it is invalid."""
        if self.kind == "tag":
            return self.key
        found = domain_of(self.key) if self.kind == "publisher" else as_id(self.key)
        if found is None or found == UNKNOWN_ID:
            raise NotFound
        return found


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that trends, waits or was forbidden. `trendable` is the decision of staff; None without a decision.

    It has either a name, or a card, or a post.
    """

    kind: Kind
    key: int | str
    trendable: bool | None
    accounts: int  # accounts on the day of the most uses, or all accounts that responded to a post
    name: str = ""
    card: PreviewCard | None = None
    publisher: str = ""
    post: PostView | None = None
    author_id: int = 0


@TRENDS.get("trends.html")
async def show(me: StaffMember, wanted: TrendQuery) -> Facts:
    """Show the entries that trend or wait, the strongest first."""
    find = {"tags": _tags, "links": _links, "posts": _posts}[wanted.list]
    return {
        "tabs": TABS,
        "shown": wanted.list,
        "candidates": await find(me.context),
        "review": me.context.settings.trends_review,
    }


@TRENDS.post()
async def review(me: StaffMember, posted: ReviewForm) -> Answer:
    """Allow or forbid an entry in trends."""
    key, shown = posted.named(), LISTS[posted.kind]
    if posted.kind == "status" and isinstance(key, int):
        await find_public(me.context, key)
    try:
        await me.ask(ReviewTrend(me.staff, posted.kind, key, posted.trendable))
    except Refused as refused:
        return me.page("trends.html", problem=sentence_of(refused), **await show(me, TrendQuery(list=shown)))
    return redirect(f"{PATH}?list={shown}&done={'allowed' if posted.trendable else 'forbidden'}")


async def _tags(context: HttpContext) -> list[Candidate]:
    found = await context.database.read(find_tags, context.clock.now())
    return [
        Candidate("tag", row.tag.name, row.trendable, max(row.accounts), name=row.tag.display_name or row.tag.name)
        for row in found[:SHOWN]
    ]


async def _links(context: HttpContext) -> list[Candidate]:
    found = await context.database.read(find_links, context.clock.now())
    return [
        Candidate(
            "link", row.link.card.id, row.trendable, max(row.link.accounts), card=row.link.card,
            publisher=publishers_of(row.link.card.url)[0],
        )
        for row in found[:SHOWN]
    ]  # fmt: skip


async def _posts(context: HttpContext) -> list[Candidate]:
    found = (await context.database.read(find_statuses, context.clock.now()))[:SHOWN]
    known = await context.statuses.show_many(row.status.id for row in found)
    kept = [row for row in found if row.status.id in known and not known[row.status.id].is_withdrawn]
    posts = posts_in(context, [known[row.status.id] for row in kept])
    return [
        Candidate(
            "status", row.status.id, row.trendable, row.status.accounts, post=post, author_id=row.status.account_id
        )
        for row, post in zip(kept, posts, strict=True)
    ]
