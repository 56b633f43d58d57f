"""The viewer's filters: their terms, keywords and statuses. Filters of others are answered with 404."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from ...actors.commands.filters import (
    AddFilterKeyword,
    AddFilterStatus,
    ChangeFilter,
    ChangeFilterKeyword,
    CreateFilter,
    DeleteFilter,
    DeleteFilterKeyword,
    DeleteFilterStatus,
    FilterExpiry,
    KeywordChange,
)
from ...actors.rules.filters import Filters, says_something
from ...actors.rules.limits import (
    FILTER_KEYWORD_CHARACTERS,
    FILTER_KEYWORDS,
    FILTER_SECONDS,
    FILTER_TITLE_CHARACTERS,
)
from ...storage import filters
from ...storage.filters import Filter, FilterAction
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import NotFound, invalid, missing
from ..entities.filter import entry_fields, filter_fields, keyword_fields
from ..intake.decoding import Value
from ..intake.parameters import (
    DIGITS,
    Flag,
    Input,
    Line,
    MaybeFlag,
    MaybeLine,
    MaybeSeconds,
    MaybeTexts,
    StatusId,
    Text,
    as_forms,
)
from ..router import api

READ = ("read:filters",)
WRITE = ("write:filters",)
CONTEXTS = ("home", "notifications", "public", "thread", "account")
ACTIONS: tuple[FilterAction, ...] = get_args(FilterAction)
NO_CONTEXT = "Context None or invalid context supplied"


class KeywordForm(Input):
    """An entry of `keywords_attributes`."""

    id: StatusId = None
    keyword: MaybeLine = None
    whole_word: MaybeFlag = None
    destroy: Flag = False

    def change(self) -> KeywordChange:
        return KeywordChange(self.id, self.keyword, self.whole_word, self.destroy)

    def complaints(self) -> list[str]:
        return keyword_complaints(self.keyword or "") if self.keyword is not None or self.id is None else []


def _each_once(contexts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return each context once. Forms send an empty element for an empty list; it is left out."""
    return None if contexts is None else tuple(dict.fromkeys(name for given in contexts if (name := given.strip())))


Contexts = Annotated[MaybeTexts, AfterValidator(_each_once)]


def _keywords(value: Value) -> list[Value]:
    """Return the forms in a list or a hash. A scalar in place of a form is ignored."""
    return [{**entry, "destroy": entry.get("_destroy")} for entry in as_forms(value)]


KEYWORDS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "id": DIGITS,
            "keyword": {"type": "string"},
            "whole_word": {"type": "boolean"},
            "_destroy": {"type": "boolean"},
        },
    },
}
Keywords = Annotated[tuple[KeywordForm, ...], BeforeValidator(_keywords), WithJsonSchema(KEYWORDS)]


class Lifetime(Input):
    expires_in: MaybeSeconds = None

    def expiry(self) -> FilterExpiry | None:
        """Return the expiry if it is given. An empty value means never."""
        if self.expires_in is not None and self.expires_in > FILTER_SECONDS:
            raise invalid("Expires in is too far into the future")
        return FilterExpiry(self.expires_in) if "expires_in" in self.model_fields_set else None


class FilterForm(Lifetime):
    title: MaybeLine = None
    context: Contexts = None
    filter_action: Text = ""
    keywords_attributes: Keywords = ()

    def check(self, *, whole: bool) -> None:
        """Raise 422 for blank or too long values and, for a new filter, for missing values."""
        found: list[str] = []
        if self.title is not None or whole:
            found += title_complaints(self.title or "")
        if self.context is not None or whole:
            found += context_complaints(self.context or ())
        changed = [keyword for keyword in self.keywords_attributes if not keyword.destroy]
        found += dict.fromkeys(text for keyword in changed for text in keyword.complaints())
        if len(changed) > FILTER_KEYWORDS:
            found.append(f"Keywords is too long (maximum is {FILTER_KEYWORDS} items)")
        if found:
            raise invalid(*found)

    def action(self) -> FilterAction | None:
        """Return the action if it is given. An unknown action becomes `warn`."""
        if not self.filter_action:
            return None
        return self.filter_action if self.filter_action in ACTIONS else "warn"

    def changes(self) -> tuple[KeywordChange, ...]:
        """Return the changes of keywords, without new keywords that are marked for removal."""
        return tuple(form.change() for form in self.keywords_attributes if not form.destroy or form.id is not None)


class NewKeyword(Input):
    keyword: Line = ""
    whole_word: MaybeFlag = None

    def check(self) -> None:
        if found := keyword_complaints(self.keyword):
            raise invalid(*found)


class ChangedKeyword(Input):
    """The terms of a keyword. A term that is left out does not change."""

    keyword: MaybeLine = None
    whole_word: MaybeFlag = None

    def check(self) -> None:
        if self.keyword is not None and (found := keyword_complaints(self.keyword)):
            raise invalid(*found)


class NamedStatus(Input):
    status_id: StatusId = None


def title_complaints(title: str) -> list[str]:
    if not title:
        return ["Title can't be blank"]
    too_long = len(title) > FILTER_TITLE_CHARACTERS
    return [f"Title is too long (maximum is {FILTER_TITLE_CHARACTERS} characters)"] if too_long else []


def context_complaints(contexts: tuple[str, ...]) -> list[str]:
    if not contexts:
        return ["Context can't be blank", NO_CONTEXT]
    return [] if set(contexts) <= set(CONTEXTS) else [NO_CONTEXT]


def keyword_complaints(keyword: str, name: str = "Keyword") -> list[str]:
    if len(keyword) > FILTER_KEYWORD_CHARACTERS:
        return [f"{name} is too long (maximum is {FILTER_KEYWORD_CHARACTERS} characters)"]
    return [] if says_something(keyword) else [f"{name} can't be blank"]


async def filters_of(context: HttpContext, viewer: Viewer) -> Filters:
    """Return the viewer's filters as they are stored. They may name deleted statuses."""
    return Filters(await context.database.read(filters.of_account, viewer.account_id))


async def find_filter(context: HttpContext, viewer: Viewer, id: int) -> Filter:
    found = (await filters_of(context, viewer)).find(id)
    if found is None:
        raise NotFound
    return found


@api.get("/api/v2/filters", auth="user", scopes=READ, returns="[Filter]")
async def show_all(context: HttpContext, viewer: Viewer) -> Answer:
    """All filters of the viewer, the oldest first."""
    return json([filter_fields(row) for row in (await filters_of(context, viewer)).rows])


@api.post("/api/v2/filters", auth="user", scopes=WRITE, returns="Filter")
async def create(viewer: Viewer, form: FilterForm) -> Answer:
    """Create a filter. Without an action it warns, without `expires_in` it never expires."""
    form.check(whole=True)
    new = CreateFilter(
        form.title or "", form.context or (), form.action() or "warn", form.expiry() or FilterExpiry(None),
        form.changes(),
    )  # fmt: skip
    return json(filter_fields(await viewer.ask(new)))


@api.get("/api/v2/filters/<id>", auth="user", scopes=READ, returns="Filter")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return json(filter_fields(await find_filter(context, viewer, id)))


@api.put("/api/v2/filters/<id>", auth="user", scopes=WRITE, returns="Filter")
async def change(viewer: Viewer, id: int, form: FilterForm) -> Answer:
    """Change a filter. A parameter that is not sent keeps its value."""
    form.check(whole=False)
    changed = ChangeFilter(id, form.title, form.context, form.action(), form.expiry(), form.changes())
    return json(filter_fields(await viewer.ask(changed)))


@api.delete("/api/v2/filters/<id>", auth="user", scopes=WRITE, returns="{}")
async def delete(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DeleteFilter(id))
    return EMPTY


@api.get("/api/v2/filters/<filter_id>/keywords", auth="user", scopes=READ, returns="[FilterKeyword]")
async def show_keywords(context: HttpContext, viewer: Viewer, filter_id: int) -> Answer:
    return json([keyword_fields(keyword) for keyword in (await find_filter(context, viewer, filter_id)).keywords])


@api.post("/api/v2/filters/<filter_id>/keywords", auth="user", scopes=WRITE, returns="FilterKeyword")
async def add_keyword(viewer: Viewer, filter_id: int, form: NewKeyword) -> Answer:
    form.check()
    added = await viewer.ask(AddFilterKeyword(filter_id, form.keyword, form.whole_word is not False))
    return json(keyword_fields(added))


@api.get("/api/v2/filters/keywords/<id>", auth="user", scopes=READ, returns="FilterKeyword")
async def show_keyword(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    rows = (await filters_of(context, viewer)).rows
    found = next((keyword for row in rows for keyword in row.keywords if keyword.id == id), None)
    if found is None:
        raise NotFound
    return json(keyword_fields(found))


@api.put("/api/v2/filters/keywords/<id>", auth="user", scopes=WRITE, returns="FilterKeyword")
async def change_keyword(viewer: Viewer, id: int, form: ChangedKeyword) -> Answer:
    form.check()
    return json(keyword_fields(await viewer.ask(ChangeFilterKeyword(id, form.keyword, form.whole_word))))


@api.delete("/api/v2/filters/keywords/<id>", auth="user", scopes=WRITE, returns="{}")
async def delete_keyword(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DeleteFilterKeyword(id))
    return EMPTY


@api.get("/api/v2/filters/<filter_id>/statuses", auth="user", scopes=READ, returns="[FilterStatus]")
async def show_statuses(context: HttpContext, viewer: Viewer, filter_id: int) -> Answer:
    return json([entry_fields(entry) for entry in (await find_filter(context, viewer, filter_id)).statuses])


@api.post("/api/v2/filters/<filter_id>/statuses", auth="user", scopes=WRITE, returns="FilterStatus")
async def add_status(viewer: Viewer, filter_id: int, form: NamedStatus) -> Answer:
    """Add a status that the viewer sees to a filter."""
    if form.status_id is None:
        raise missing("status_id")
    return json(entry_fields(await viewer.ask(AddFilterStatus(filter_id, form.status_id))))


@api.get("/api/v2/filters/statuses/<id>", auth="user", scopes=READ, returns="FilterStatus")
async def show_status(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    rows = (await filters_of(context, viewer)).rows
    found = next((entry for row in rows for entry in row.statuses if entry.id == id), None)
    if found is None:
        raise NotFound
    return json(entry_fields(found))


@api.delete("/api/v2/filters/statuses/<id>", auth="user", scopes=WRITE, returns="{}")
async def delete_status(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DeleteFilterStatus(id))
    return EMPTY
