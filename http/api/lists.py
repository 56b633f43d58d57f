"""The viewer's lists and their members."""

from __future__ import annotations

from ...actors.broadcast.broadcast import list_address
from ...actors.commands.lists import AddToList, ChangeList, CreateList, DeleteList, RemoveFromList, shown_replies
from ...actors.rules.limits import LIST_TITLE_CHARACTERS
from ...storage import lists
from ...storage.lists import List
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, in_steps, json
from ..answers.errors import NotFound, Unprocessable, invalid, missing
from ..entities.account import account_json
from ..entities.timeline import list_fields
from ..intake.paging import Paged, links
from ..intake.parameters import Ids, Input, MaybeFlag, MaybeLine, MaybeText
from ..intake.request import Request
from ..router import api

READ = ("read:lists",)
WRITE = ("write:lists",)
POLICIES = ("list", "followed", "none")
ON_A_PAGE = 40


class ListTerms(Input):
    title: MaybeLine = None
    replies_policy: MaybeText = None
    exclusive: MaybeFlag = None
    show_replies: MaybeFlag = None

    def checked_title(self) -> str | None:
        """Return the title, if it is given. Raises 422."""
        if self.title is None:
            return None
        if not self.title:
            raise invalid("Title can't be blank")
        if len(self.title) > LIST_TITLE_CHARACTERS:
            raise invalid(f"Title is too long (maximum is {LIST_TITLE_CHARACTERS} characters)")
        return self.title

    def checked_policy(self) -> str | None:
        """Return the replies policy, if it is given. Raises 422."""
        if not self.replies_policy:
            return None
        if self.replies_policy not in POLICIES:
            raise Unprocessable(f"'{self.replies_policy}' is not a valid replies_policy")
        return self.replies_policy


class Members(Input):
    account_ids: Ids = ()

    def given(self) -> tuple[int, ...]:
        if not self.account_ids:
            raise missing("account_ids")
        return self.account_ids


@api.get("/api/v1/lists", auth="user", scopes=READ, returns="[List]")
async def show_all(context: HttpContext, viewer: Viewer) -> Answer:
    """All lists of the viewer, on one page."""
    return json([list_fields(list) for list in await context.database.read(lists.all_of, viewer.account_id)])


@api.post("/api/v1/lists", auth="user", scopes=WRITE, returns="List")
async def create(viewer: Viewer, terms: ListTerms) -> Answer:
    title = terms.checked_title()
    if title is None:
        raise invalid("Title can't be blank")
    policy = terms.checked_policy() or shown_replies(terms.show_replies, "list") or "list"
    return json(list_fields(await viewer.ask(CreateList(title, policy, bool(terms.exclusive)))))


@api.get("/api/v1/lists/<id>", auth="user", scopes=READ, returns="List")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return json(list_fields(await _find(context, viewer, id)))


@api.put("/api/v1/lists/<id>", auth="user", scopes=WRITE, returns="List")
async def change(viewer: Viewer, id: int, terms: ListTerms) -> Answer:
    """Change a list. A parameter that is not sent keeps its value."""
    change = ChangeList(
        viewer.account_id, terms.checked_title(), terms.checked_policy(), terms.show_replies, terms.exclusive
    )
    return json(list_fields(await viewer.ask(change, list_address(id))))


@api.delete("/api/v1/lists/<id>", auth="user", scopes=WRITE, returns="{}")
async def delete(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DeleteList(viewer.account_id), list_address(id))
    return EMPTY


@api.get("/api/v1/lists/<id>/accounts", auth="user", scopes=READ, returns="[Account]")
async def show_members(context: HttpContext, request: Request, viewer: Viewer, id: int, paged: Paged) -> Answer:
    """A page of a list's members; all of them with `limit=0`."""
    await _find(context, viewer, id)
    page = paged.page(ON_A_PAGE)
    ids = await context.database.read(lists.members_page, id, page)
    found = await context.accounts.find_many(ids)
    bodies = await in_steps(
        account_json(account, context.rendered, context.settings.base_url) for account in found.values()
    )
    if not page.limit:
        return array(bodies)
    url = context.settings.base_url + request.path
    return array(bodies, links(url, request.query_texts, ids, prev="since_id", full=len(ids) == page.limit))


@api.post("/api/v1/lists/<id>/accounts", auth="user", scopes=WRITE, returns="{}")
async def add(viewer: Viewer, id: int, members: Members) -> Answer:
    """Add accounts to a list: all or none."""
    await viewer.ask(AddToList(viewer.account_id, members.given()), list_address(id))
    return EMPTY


@api.delete("/api/v1/lists/<id>/accounts", auth="user", scopes=WRITE, returns="{}")
async def remove(viewer: Viewer, id: int, members: Members) -> Answer:
    await viewer.ask(RemoveFromList(viewer.account_id, members.given()), list_address(id))
    return EMPTY


async def _find(context: HttpContext, viewer: Viewer, id: int) -> List:
    """Return a list of the viewer. Raises NotFound for lists of others, as for missing lists."""
    found = await context.database.read(lists.find, id)
    if found is None or found.account_id != viewer.account_id:
        raise NotFound
    return found
