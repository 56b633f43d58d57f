"""The matrix: each activity and object that is read, in each spelling, is read as the plain one is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from troupe.actors.activitypub.normalization import MOST_SHAPED, normalize, read_document
from troupe.actors.activitypub.notes import is_post, read_note, read_vote, time_of, visibility_of
from troupe.actors.activitypub.spellings import MOST_NAMES
from troupe.actors.activitypub.vocabulary import (
    MalformedDocument,
    list_of,
    types_of,
    uri_of,
)
from troupe.actors.federation.activities import HANDLERS
from troupe.actors.federation.actor_documents import keys_of, moved_to, profile_of
from troupe.actors.federation.collections import items_of
from troupe.actors.federation.inbox import subject_of
from troupe.actors.federation.webfinger import Handle
from troupe.storage.engine.json_values import JsonObject, is_list, is_object

from .spelled import FOLLOWERS, PLAIN, SPELLINGS, Document, Spelling, mixed

NOW = datetime(2026, 11, 27, tzinfo=UTC)
HANDLE = Handle("eve", "far.test")
MIXED = {f"mixed, {seed}": mixed(seed) for seed in range(24)}


def meaning(thing: Any) -> object:
    """Return what the readers take of a thing: what the handlers of activities, posts and actors look at."""
    if is_list(thing):
        return [meaning(one) for one in thing]
    if not is_object(thing):
        return thing
    if is_post(thing):
        return read_vote(thing) or read_note(thing, FOLLOWERS, NOW)
    if "inbox" in thing:
        return profile_of(thing, HANDLE, NOW), keys_of(thing, NOW), moved_to(thing)
    if "orderedItems" in thing:
        return thing["totalItems"], [meaning(one) for one in items_of(thing)]
    if HANDLERS.keys().isdisjoint(types_of(thing)):
        return uri_of(thing)
    named = {name: meaning(thing.get(name)) for name in ("actor", "target", "instrument", "result")}
    return {
        "id": uri_of(thing), "kinds": [kind for kind in types_of(thing) if kind in HANDLERS],
        "content": thing.get("content"),
        "objects": [meaning(one) for one in list_of(thing.get("object"))], "subject": subject_of(thing),
        "published": time_of(thing.get("published")) if "Announce" in types_of(thing) else None,
        "visibility": visibility_of(thing, FOLLOWERS), **named,
    }  # fmt: skip


def read(document: Document) -> object:
    return meaning(read_document(json.dumps(document).encode()))


@pytest.mark.parametrize("spell", [pytest.param(spell, id=name) for name, spell in (SPELLINGS | MIXED).items()])
def test_a_document_is_read_as_its_plain_form(spell: Spelling) -> None:
    wrong = {
        name: (read(spell(plain)), read(plain)) for name, plain in PLAIN.items() if read(spell(plain)) != read(plain)
    }
    assert wrong == {}


def test_the_matrix_is_large() -> None:
    assert len(PLAIN) * len(SPELLINGS | MIXED) >= 2_000


def test_plain_documents_mean_something() -> None:
    """The matrix would hold, too, if nothing were read."""
    for name, plain in PLAIN.items():
        assert read(plain) not in (None, [], {}), name


def test_a_document_with_too_many_odd_values_is_refused() -> None:
    odd = {f"k{number}": {"name": 1, "summary": 2} for number in range(MOST_SHAPED // 2 + 1)}
    with pytest.raises(MalformedDocument, match="too many values"):
        read(odd)
    odd.popitem()
    assert read_document(json.dumps(odd).encode())["k0"] == {"name": "1", "summary": "2"}


def test_of_odd_names_only_so_many_are_looked_up() -> None:
    names = [f"as:{number}" for number in range(MOST_NAMES)]
    document = normalize(dict.fromkeys(names, 1) | {"as:content": "late"})
    assert document["as:content"] == "late"
    assert normalize(dict.fromkeys(names[1:], 1) | {"as:content": "in time"})["content"] == "in time"


def test_a_plain_name_means_itself_whatever_a_context_says() -> None:
    context = {"content": "as:summary", "Note": "as:Person", "toot": "https://ext.test/ns#", "x": "as:summary"}
    document = normalize({"@context": [context], "type": "Note", "content": "tea", "toot:sensitive": True, "x": "hot"})
    assert document == {"type": ["Note"], "content": "tea", "toot:sensitive": True, "summary": "hot"}


def test_of_two_spellings_of_a_property_the_plain_one_counts() -> None:
    assert normalize({"as:content": "other", "content": "tea"})["content"] == "tea"
    assert normalize({"as:content": "tea", "content": None})["content"] == "tea"


@pytest.mark.parametrize("place", ["", "object", "@context"])
@pytest.mark.parametrize("name", ["@graph", "@included", "@reverse"])
def test_what_reshapes_a_document_is_refused_wherever_it_stands(place: str, name: str) -> None:
    reshaping: JsonObject = {name: []}
    with pytest.raises(MalformedDocument, match="reshapes"):
        normalize({place: [{"x": reshaping}]} if place else reshaping)
