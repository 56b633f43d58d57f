"""Normalizes the documents of other servers, so that all other code reads a single form.

Servers write documents in many ways: names with prefixes, a value or a list with this value, an object or its id alone,
texts by language, numbers as texts. All of these are read. Forgeries are not found here: the readers check whether the
sender may make the statement.

In a normalized document

- names of properties and types are plain, without prefixes; `type` is a list;
- null occurs only in lists of unknown properties;
- the properties in `LISTS` are lists without inner lists; the properties in `ADDRESSES` hold URIs, each once;
- other known properties have a single value; `object`, `url`, `href`, `icon` and `image` may also be lists of at least
  two;
- an object that had only an `id` is replaced by this URI;
- texts, numbers and booleans have these types; if a text was given only by language, the plain property has it too;
- a post in a Create, an Invite or an Update has an author, an audience and a time, if the activity has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ...storage.engine.json_values import JsonObject, is_list, is_object
from .notes import is_post
from .spellings import PROPERTIES, TYPES, Spellings
from .vocabulary import (
    CONTAINERS,
    DEEPEST,
    MOST_ELEMENTS,
    PUBLIC,
    MalformedDocument,
    UnreadableJson,
    is_uri,
    json_object,
    objects_of,
    refuse_reshaping,
    types_of,
    uri_of,
)

PUBLIC_SPELLINGS = frozenset({PUBLIC, "as:Public", "Public", "http://www.w3.org/ns/activitystreams#Public"})
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAPS = {"contentMap": "content", "nameMap": "name", "summaryMap": "summary"}
NO_LANGUAGE = "und"
LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,8}")  # BCP 47, as far as servers use it
MOST_LANGUAGES = 100  # of one text
ACTIVITIES_OF_POSTS = frozenset({"Create", "Invite", "Update"})
AUDIENCE = ("to", "cc", "bto", "bcc", "audience")
ADDRESSES = frozenset({*AUDIENCE, "automaticApproval", "manualApproval"})
LISTS = frozenset(
    {
        "tag", "attachment", "oneOf", "anyOf", "alsoKnownAs", "items", "orderedItems", "publicKey", "assertionMethod",
        "focalPoint", "rel",
    }
)  # fmt: skip
TEXTS = frozenset({"content", "name", "summary", "value"})
STRINGS = frozenset({"mediaType", "preferredUsername", "webfinger", "publicKeyPem", "publicKeyMultibase", "blurhash"})
TIMES = frozenset({"published", "updated", "startTime", "endTime"})
NUMBERS = frozenset({"totalItems", "votersCount", "width", "height", "size"})
BOOLEANS = frozenset({"sensitive", "manuallyApprovesFollowers", "discoverable", "indexable", "memorial", "suspended"})
AUTHORS = frozenset({"actor", "attributedTo"})
REFERENCES = frozenset(
    {
        "id", "inReplyTo", "target", "instrument", "result", "origin", "replies", "likes", "shares", "first", "last",
        "next", "prev", "partOf", "quote", "quoteUrl", "quoteUri", "quoteURL", "_misskey_quote", "quoteAuthorization",
        "interactionPolicy", "canQuote", "interactingObject", "interactionTarget", "inbox", "outbox", "followers",
        "following", "featured", "featuredTags", "endpoints", "sharedInbox", "owner", "controller", "movedTo",
    }
)  # fmt: skip
ONE_OR_MORE = frozenset({"object", "url", "href", "icon", "image"})
LATEST = 10**10  # seconds since 1970, in the year 2286; a larger number is of milliseconds
INNER = frozenset({"@value", "@list", "@set"})  # an object with one of these properties stands for its value
PLAIN_ELEMENTS = frozenset({str, dict, float, int})
STUB = frozenset({"id", "type"})
MOST_SHAPED = 10_000  # values of a document that are normalized: each takes time
LARGEST_NUMBER = 2**53
BOOLEAN_TEXTS = {"true": True, "false": False, "1": True, "0": False}


def read_document(body: bytes) -> JsonObject:
    """Return the normalized document of a body. Raise MalformedDocument if it can't be read."""
    try:
        document = json_object(body)
    except UnreadableJson:
        document = json_object(_repaired(body))
    return normalize(document)


def normalize(document: JsonObject) -> JsonObject:
    """Normalize a JSON object, and return it. Raise MalformedDocument if it reshapes JSON-LD or is too large."""
    spellings = Spellings()
    shaped = 0
    for thing in reversed(_objects(document, spellings)):  # inner objects first
        shaped += _shape(thing, spellings)
        if shaped > MOST_SHAPED:
            raise MalformedDocument("the document has too many values")
    _complete(document)
    return document


# Reading JSON ---------------------------------------------------------------------------------------------------------


def _repaired(body: bytes) -> bytes:
    """Return an unreadable body without its byte order mark, and without lone surrogates.

    A lone surrogate is left over if a text is cut in the middle of an emoji. Python's own parser accepts it. Raise
    MalformedDocument for a body that has neither.
    """
    rest = body.removeprefix(BYTE_ORDER_MARK)
    if b"\\ud" not in rest and b"\\uD" not in rest:
        if rest is body:
            raise MalformedDocument("the document is not JSON")
        return rest
    try:
        text = json.dumps(json.loads(rest), ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        raise MalformedDocument("the document is not JSON") from None
    return text.encode("utf-8", "ignore")


# Names ----------------------------------------------------------------------------------------------------------------


def _objects(document: JsonObject, spellings: Spellings) -> list[JsonObject]:
    """Return all objects of a document, each before its inner objects, after renaming their properties. Without
    recursion."""
    found: list[JsonObject] = []
    outer: list[Any] = [document]  # objects and lists with any values in them
    for _ in range(DEEPEST):
        inner: list[Any] = []  # as above
        for container in outer:
            # The types of JSON have no subclasses: a call of `isinstance` for each value would take twice the time.
            if is_list(container):
                del container[MOST_ELEMENTS:]
                inner += [value for value in container if type(value) in CONTAINERS]
                continue
            found.append(container)
            if "@context" in container:
                spellings.declare(container.pop("@context"))
            if not PROPERTIES.issuperset(container):
                _rename(container, spellings)
            if len(container) == 1 and "id" in container:
                spellings.has_stand_ins = True
            if MAPS.keys().isdisjoint(container):
                inner += [value for value in container.values() if type(value) in CONTAINERS]
            else:  # the keys of a map are no names
                inner += [value for key, value in container.items() if type(value) in CONTAINERS and key not in MAPS]
        if not inner:
            return found
        outer = inner
    if any(outer):  # containers without values are allowed at this depth
        raise MalformedDocument("the document is nested too deeply")
    return found


def _rename(thing: JsonObject, spellings: Spellings) -> None:
    """Give the properties of an object their plain names. If a property is there twice, its value under the plain name
    wins."""
    refuse_reshaping(thing)
    if not INNER.isdisjoint(thing):
        spellings.has_stand_ins = True
    for name in [name for name in thing if name not in PROPERTIES]:
        plain = spellings.known(name)
        if plain != name:
            value = thing.pop(name)
            if thing.get(plain) is None:
                thing[plain] = value


# Values ---------------------------------------------------------------------------------------------------------------


def _shape(thing: JsonObject, spellings: Spellings) -> int:
    """Normalize the known properties of an object; its inner objects are normalized already. Return the number of
    calls."""
    count = 0
    for name in tuple(thing):
        form = FORMS.get(name)
        if form is None or type(value := thing[name]) is form[0]:
            continue
        count += 1
        shaped = None if value is None else form[1](thing, name, value, spellings)
        if shaped is None:
            del thing[name]
        else:
            thing[name] = shaped
    return count


def _single(value: object) -> object:
    """Unwrap a list with a single element, a typed value, a set, and an object with an `id` alone."""
    for _ in range(DEEPEST):
        if is_list(value):
            if len(value) != 1:
                return value
            value = value[0]
        elif not is_object(value):
            return value
        elif (inner := _inner(value)) is not value:
            value = inner
        else:
            return value
    return None


def _inner(thing: JsonObject) -> object:
    name = next((name for name in thing if name in INNER), None)
    if name is not None:
        return thing[name]
    return thing["id"] if len(thing) == 1 and "id" in thing else thing


def _elements(value: object) -> list[object]:
    """Return the values of a list, also of an inner list or of a single value."""
    value = _single(value)
    if not is_list(value):
        return [] if value is None else [value]
    found: list[object] = []
    for element in value[:MOST_ELEMENTS]:
        element = _single(element) if type(element) in CONTAINERS else element
        if is_list(element):
            found += [inner for inner in element[: MOST_ELEMENTS - len(found)] if inner is not None]
        elif element is not None:
            found.append(element)
    return found


def _list(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    if is_list(value) and not spellings.has_stand_ins and PLAIN_ELEMENTS.issuperset(map(type, value)):
        return value  # most lists are plain
    return _elements(value)


def _one_or_more(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    found = _elements(value) if spellings.has_stand_ins or not is_object(value) else [value]
    if name == "object":
        found = [item["id"] if is_object(item) and STUB.issuperset(item) and "id" in item else item for item in found]
    return found if len(found) > 1 else next(iter(found), None)


def _reference(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    """Return a URI or an object: the first in a list. A list is no `id`."""
    value = _single(value)
    if is_list(value):
        value = None if name == "id" else next(filter(_is_reference, _elements(value)), None)
    return value if _is_reference(value) else None


def _is_reference(value: object) -> bool:
    return isinstance(value, str) or is_object(value)


def _author(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    """Return the URI of the author, or of the first author. Some servers name the group of a post beside the author.

    An activity with two actors is forged or broken: neither actor is accepted.
    """
    named = _elements(value)
    people = [author for author in named if not is_object(author) or "Group" not in types_of(author)] or named
    return None if len(people) > 1 and name == "actor" else uri_of(next(iter(people), None))


def _addresses(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    uris = (element if isinstance(element, str) else uri_of(element) for element in _elements(value))
    return list(dict.fromkeys(PUBLIC if uri in PUBLIC_SPELLINGS else uri for uri in uris if is_uri(uri)))


def _types(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    if isinstance(value, str):
        return [value if value in TYPES else spellings.known(value)]
    named = [kind for kind in _elements(value) if isinstance(kind, str)]
    return [kind if kind in TYPES else spellings.known(kind) for kind in named]


def _text(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    """Return the first text. Texts with a language are also put into the map of texts by language."""
    texts = dict(_languages(value))
    if not all(language == NO_LANGUAGE or LANGUAGE.fullmatch(language) for language in texts):
        texts = {}  # the object is no text
    if not texts:
        written = map(_written, _elements(value))
        return next((text for text in written if text is not None), None)
    if texts.keys() != {NO_LANGUAGE} and f"{name}Map" in MAPS:
        thing[f"{name}Map"] = texts | (thing.get(f"{name}Map") or {})
    return next(iter(texts.values()))


def _written(value: object) -> str | None:
    """Return a text, also of a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _languages(value: object) -> Iterator[tuple[str, str]]:
    """Yield the texts by language in an object of them, or in a list of texts that name their languages."""
    if is_list(value):
        for element in value[:MOST_LANGUAGES]:
            if is_list(element) or (is_object(element) and not INNER.isdisjoint(element)):
                yield from _languages(element)
    elif is_object(value):
        if "@value" in value:
            pairs: Iterable[tuple[object, object]] = [(_single(value.get("@language")), value["@value"])]
        elif not INNER.isdisjoint(value):
            yield from _languages(_inner(value))
            return
        else:
            pairs = islice(value.items(), MOST_LANGUAGES)
        for language, written in pairs:
            text = _single(written)
            if isinstance(text, str) and isinstance(language, str | None):
                yield NO_LANGUAGE if language in (None, "@none") else language, text


def _string(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    value = _single(value)
    return value if isinstance(value, str) else None


def _text_map(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    plain = MAPS[name]
    texts = dict(_languages(value))
    if not texts and (written := next(filter(None, map(_written, _elements(value))), None)) is not None:
        texts = {NO_LANGUAGE: written}  # a text in the place of a map
    if texts and not thing.get(plain):
        thing[plain] = next(iter(texts.values()))
    return texts or None


def _time(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    """Return a time as a text, also of seconds or milliseconds since 1970."""
    value = _single(value)
    if isinstance(value, int | float) and 0 < value < LATEST * 1_000:
        return datetime.fromtimestamp(value if value < LATEST else value / 1_000, UTC).isoformat()
    return value if isinstance(value, str) else None


def _closed(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    """Return a boolean or a time: some servers say that a poll is closed, some when."""
    value = _single(value)
    if isinstance(value, str):
        return BOOLEAN_TEXTS.get(value.strip().lower(), value)
    return value if isinstance(value, bool) else _time(thing, name, value, spellings)


def _number(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    value = _single(value)
    if isinstance(value, str) and len(value) < 20 and value.strip().isdecimal():
        return int(value)
    if isinstance(value, float) and abs(value) < LARGEST_NUMBER:
        return int(value)
    return value if type(value) is int else None


def _boolean(thing: JsonObject, name: str, value: object, spellings: Spellings) -> object:
    value = _single(value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return BOOLEAN_TEXTS.get(str(value).strip().lower())
    return value if isinstance(value, bool) else None


Form = Callable[[JsonObject, str, object, Spellings], object]
# By the name of a property: the type of values that need no change, and the function that normalizes other values.
FORMS: dict[str, tuple[type | None, Form]] = {
    "type": (None, _types),
    "closed": (None, _closed),
    **dict.fromkeys(LISTS, (None, _list)),
    **dict.fromkeys(ADDRESSES, (None, _addresses)),
    **dict.fromkeys(TEXTS, (str, _text)),
    **dict.fromkeys(STRINGS, (str, _string)),
    **dict.fromkeys(MAPS, (None, _text_map)),
    **dict.fromkeys(TIMES, (str, _time)),
    **dict.fromkeys(NUMBERS, (int, _number)),
    **dict.fromkeys(BOOLEANS, (bool, _boolean)),
    **dict.fromkeys(AUTHORS, (str, _author)),
    **dict.fromkeys(REFERENCES, (str, _reference)),
    **dict.fromkeys(ONE_OR_MORE, (str, _one_or_more)),
}


# Activities -----------------------------------------------------------------------------------------------------------


def _complete(activity: JsonObject) -> None:
    """Copy author, audience and time from an activity to its posts that lack them.

    The readers of a post check that its author is the actor.
    """
    if ACTIVITIES_OF_POSTS.isdisjoint(types_of(activity)):
        return
    for post in objects_of(activity.get("object")):
        if not is_post(post):
            continue
        if not any(map(post.get, AUDIENCE)):
            post.update((name, activity[name]) for name in AUDIENCE if name in activity)
        for name, source in (("attributedTo", "actor"), ("published", "published")):
            if name not in post and source in activity:
                post[name] = activity[source]
