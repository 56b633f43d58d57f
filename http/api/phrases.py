"""The viewer's filters in version 1 of the API, where each phrase is a filter.

A V1::Filter is a keyword with the terms of its filter. Its id is the id of the keyword.
"""

from __future__ import annotations

from ...actors.commands.filters import (
    ChangePhrase,
    CreateFilter,
    DeletePhrase,
    FilterExpiry,
    KeywordChange,
    phrase_title,
)
from ...storage.filters import Filter, FilterAction
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import NotFound, invalid
from ..entities.filter import phrase_fields
from ..intake.parameters import Flag, Line, MaybeFlag
from ..router import api
from .filters import READ, WRITE, Contexts, Lifetime, context_complaints, filters_of, keyword_complaints


class PhraseForm(Lifetime):
    phrase: Line = ""
    context: Contexts = None
    irreversible: Flag = False
    whole_word: MaybeFlag = None

    def check(self, *, whole: bool) -> None:
        """Raise 422 for blank or too long values and, for a new filter, for missing contexts."""
        found = keyword_complaints(self.phrase, "Phrase")
        if self.context is not None or whole:
            found += context_complaints(self.context or ())
        if found:
            raise invalid(*found)

    @property
    def action(self) -> FilterAction:
        return "hide" if self.irreversible else "warn"


@api.get("/api/v1/filters", auth="user", scopes=READ, returns="[V1.Filter]")
async def show_all(context: HttpContext, viewer: Viewer) -> Answer:
    """All phrases that the viewer filters."""
    rows = (await filters_of(context, viewer)).rows
    return json([phrase_fields(row, keyword) for row in rows for keyword in row.keywords])


@api.post("/api/v1/filters", auth="user", scopes=WRITE, returns="V1.Filter")
async def create(viewer: Viewer, form: PhraseForm) -> Answer:
    """Filter a phrase. By default it matches whole words, and the filter never expires."""
    form.check(whole=True)
    keyword = KeywordChange(keyword=form.phrase, whole_word=form.whole_word)
    new = CreateFilter(
        phrase_title(form.phrase), form.context or (), form.action, form.expiry() or FilterExpiry(None), (keyword,)
    )  # fmt: skip
    made = await viewer.ask(new)
    return json(phrase_fields(made, made.keywords[0]))


@api.get("/api/v1/filters/<id>", auth="user", scopes=READ, returns="V1.Filter")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return _answer((await filters_of(context, viewer)).with_keyword(id), id)


@api.put("/api/v1/filters/<id>", auth="user", scopes=WRITE, returns="V1.Filter")
async def change(viewer: Viewer, id: int, form: PhraseForm) -> Answer:
    """Change a phrase and its filter. If `context`, `whole_word` or `expires_in` is not sent, it keeps its value."""
    form.check(whole=False)
    changed = ChangePhrase(id, form.phrase, form.context, form.action, form.whole_word, form.expiry())
    return _answer(await viewer.ask(changed), id)


@api.delete("/api/v1/filters/<id>", auth="user", scopes=WRITE, returns="{}")
async def delete(viewer: Viewer, id: int) -> Answer:
    """Remove a phrase. An empty filter is removed too."""
    await viewer.ask(DeletePhrase(id))
    return EMPTY


def _answer(row: Filter | None, id: int) -> Answer:
    found = next((keyword for keyword in row.keywords if keyword.id == id), None) if row is not None else None
    if row is None or found is None:
        raise NotFound
    return json(phrase_fields(row, found))
