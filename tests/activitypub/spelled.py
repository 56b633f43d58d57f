"""Documents as other servers could write them: each of many in each of many spellings that mean the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.vocabulary import PUBLIC
from troupe.storage.engine.json_values import is_list, is_object

from ..signing import private_key

FAR, HOME = "https://far.test", "https://home.test"
EVE, ADA = f"{FAR}/users/eve", f"{HOME}/users/ada"
FOLLOWERS = f"{EVE}/followers"
POST = f"{ADA}/statuses/1"
TIME = "2026-11-01T09:05:00Z"

Document = dict[str, Any]
Spelling = Callable[[Document], Document]

# Plain documents ------------------------------------------------------------------------------------------------------

TEXT = '<p>hello <a href="https://home.test/@ada">@ada</a> <a href="https://far.test/tags/tea">#tea</a> :blob:</p>'
PICTURE: Document = {
    "type": "Document", "mediaType": "image/png", "url": f"{FAR}/files/1.png", "name": "a cup", "width": 640,
    "height": 480, "blurhash": "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "focalPoint": [0.5, -0.25],
}  # fmt: skip
SOUND: Document = {"type": "Document", "mediaType": "audio/ogg", "url": f"{FAR}/files/2.ogg", "name": "a song"}
TAGS: list[Document] = [
    {"type": "Mention", "href": ADA, "name": "@ada@home.test"},
    {"type": "Hashtag", "href": f"{FAR}/tags/tea", "name": "#tea"},
    {
        "type": "Emoji",
        "id": f"{FAR}/emojis/blob",
        "name": ":blob:",
        "icon": {"type": "Image", "url": f"{FAR}/blob.png"},
    },
]
NOTE: Document = {
    "id": f"{EVE}/1", "type": "Note", "attributedTo": EVE, "to": [PUBLIC], "cc": [FOLLOWERS, ADA], "published": TIME,
    "updated": "2026-11-02T10:00:00Z", "url": f"{FAR}/@eve/1", "inReplyTo": POST, "sensitive": True, "content": TEXT,
    "contentMap": {"en": TEXT}, "summary": "tea", "tag": TAGS, "attachment": [PICTURE, SOUND],
    "interactionPolicy": {"canQuote": {"automaticApproval": [PUBLIC], "manualApproval": [FOLLOWERS]}},
}  # fmt: skip
OPTIONS: list[Document] = [
    {"type": "Note", "name": name, "replies": {"type": "Collection", "totalItems": votes}}
    for name, votes in (("tea", 2), ("coffee", 3))
]
QUESTION = NOTE | {
    "type": "Question", "oneOf": OPTIONS, "endTime": "2026-12-24T18:00:00Z", "votersCount": 5, "attachment": [],
}  # fmt: skip
MANY = {key: value for key, value in QUESTION.items() if key != "oneOf"} | {"anyOf": OPTIONS}
QUOTE = NOTE | {"quote": POST, "quoteAuthorization": f"{ADA}/stamps/1"}
OLD_QUOTE = NOTE | {"quoteUrl": POST, "_misskey_quote": POST}
LINKING = NOTE | {"tag": [
    *TAGS,
    {"type": "Link", "mediaType": 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"', "href": POST},
]}  # fmt: skip
SECRET = NOTE | {"to": [ADA], "cc": []}
QUIET = NOTE | {"to": [FOLLOWERS], "cc": [PUBLIC]}
CLOSED = NOTE | {"to": [FOLLOWERS], "cc": [ADA]}
VOTE: Document = {
    "id": f"{EVE}#votes/1", "type": "Note", "attributedTo": EVE, "to": [ADA], "inReplyTo": POST, "name": "tea",
    "published": TIME,
}  # fmt: skip
TITLED = {
    kind: NOTE | {"type": kind, "name": "A title", "summary": "What it is about", "content": "<p>long</p>"}
    for kind in ("Article", "Page", "Event")
}
FILES: dict[str, Document] = {
    kind: {key: value for key, value in NOTE.items() if key not in ("attachment", "summary", "url")}
    | {"type": kind, "name": "A file", "mediaType": mime, "url": f"{FAR}/files/{kind}", "duration": "PT5S"}
    for kind, mime in (("Image", "image/png"), ("Audio", "audio/ogg"), ("Video", "video/mp4"))
}
ACTORS: dict[str, Document] = {
    kind: {
        "id": EVE, "type": kind, "preferredUsername": "eve", "name": "Eve", "summary": "<p>stage hand</p>",
        "url": f"{FAR}/@eve", "inbox": f"{EVE}/inbox", "outbox": f"{EVE}/outbox", "followers": FOLLOWERS,
        "following": f"{EVE}/following", "featured": f"{EVE}/featured", "endpoints": {"sharedInbox": f"{FAR}/inbox"},
        "manuallyApprovesFollowers": True, "discoverable": True, "indexable": False, "published": TIME,
        "publicKey": {"id": f"{EVE}#main-key", "owner": EVE, "publicKeyPem": public_pem(private_key())},
        "icon": {"type": "Image", "mediaType": "image/png", "url": f"{FAR}/a.png", "name": "a cat"},
        "image": {"type": "Image", "mediaType": "image/png", "url": f"{FAR}/b.png"},
        "attachment": [{"type": "PropertyValue", "name": "pronouns", "value": "she"}],
        "alsoKnownAs": ["https://old.test/users/eve", "https://older.test/users/eve"],
        "movedTo": "https://new.test/users/eve",
        "tag": [TAGS[2]],
    }
    for kind in ("Person", "Service", "Group", "Organization", "Application")
}  # fmt: skip
POSTS: dict[str, Document] = {
    "a note": NOTE, "a poll": QUESTION, "a poll of many": MANY, "a quote": QUOTE, "an old quote": OLD_QUOTE,
    "a linking note": LINKING, "a note to one": SECRET, "an unlisted note": QUIET, "a note to followers": CLOSED,
    **{f"of type {kind}": post for kind, post in (TITLED | FILES).items()},
}  # fmt: skip


def act(kind: str, named: object, number: int = 1, **more: object) -> Document:
    return {"id": f"{EVE}#{kind}/{number}", "type": kind, "actor": EVE, "object": named, **more}


def with_post(kind: str, post: Document) -> Document:
    return act(kind, post, to=post["to"], cc=post.get("cc", []), published=post["published"])


FOLLOW = act("Follow", ADA)
OUR_FOLLOW = {"id": f"{ADA}#follows/1", "type": "Follow", "actor": ADA, "object": EVE}
OUR_REQUEST = {
    "id": f"{ADA}#quote_requests/1", "type": "QuoteRequest", "actor": ADA, "object": NOTE["id"], "instrument": POST,
}  # fmt: skip
BOOST = act("Announce", POST, to=[PUBLIC], cc=[FOLLOWERS, ADA], published=TIME)
PLAIN: dict[str, Document] = {
    **{f"Create of {name}": with_post("Create", post) for name, post in POSTS.items()},
    **{f"Update of {name}": with_post("Update", post) for name, post in POSTS.items()},
    **{f"Update of a {kind}": act("Update", actor, to=[PUBLIC]) for kind, actor in ACTORS.items()},
    "Create of a vote": act("Create", VOTE, to=[ADA]),
    "Follow": FOLLOW,
    "Accept of a follow": act("Accept", OUR_FOLLOW),
    "Reject of a follow": act("Reject", OUR_FOLLOW),
    "Accept of a quote": act("Accept", OUR_REQUEST, result=f"{EVE}/stamps/1"),
    "Reject of a quote": act("Reject", OUR_REQUEST),
    "Like": act("Like", POST),
    "Announce": BOOST,
    "Announce to followers": BOOST | {"to": [FOLLOWERS], "cc": []},
    "Block": act("Block", ADA),
    "Flag": act("Flag", [ADA, POST], content="spam"),
    "Add": act("Add", NOTE["id"], target=f"{EVE}/featured"),
    "Remove": act("Remove", NOTE["id"], target=f"{EVE}/featured"),
    "Move": act("Move", EVE, target="https://new.test/users/eve"),
    "Delete of a post": act("Delete", NOTE["id"], to=[PUBLIC]),
    "Delete of a tombstone": act("Delete", {"type": "Tombstone", "id": NOTE["id"], "atomUri": NOTE["id"]}, to=[PUBLIC]),
    "Delete of the actor": act("Delete", EVE, to=[PUBLIC]),
    "QuoteRequest": act("QuoteRequest", POST, instrument=QUOTE),
    **{
        f"Undo of a {undone['type']}": act("Undo", undone, 2)
        for undone in (FOLLOW, act("Like", POST), BOOST, act("Block", ADA), act("Accept", OUR_FOLLOW))
    },
    "an actor": ACTORS["Person"],
    "a collection": {
        "id": f"{EVE}/featured",
        "type": "OrderedCollection",
        "totalItems": 2,
        "orderedItems": [NOTE, POST],
    },
}

# Spellings ------------------------------------------------------------------------------------------------------------

NAMESPACES = {
    "as": "https://www.w3.org/ns/activitystreams#", "ldp": "http://www.w3.org/ns/ldp#",
    "sec": "https://w3id.org/security#", "schema": "http://schema.org#", "toot": "http://joinmastodon.org/ns#",
    "misskey": "https://misskey-hub.net/ns#", "gts": "https://gotosocial.org/ns#", "quote": "https://w3id.org/fep/044f#",
}  # fmt: skip
OF_NAMESPACES = {
    "ldp": "inbox outbox",
    "sec": "publicKey owner publicKeyPem",
    "schema": "PropertyValue value",
    "toot": "Emoji blurhash focalPoint votersCount featured discoverable indexable memorial suspended",
    "misskey": "_misskey_quote",
    "gts": "interactionPolicy canQuote automaticApproval manualApproval",
    "quote": "quote quoteAuthorization QuoteRequest",
}
PREFIXES = {name: prefix for prefix, names in OF_NAMESPACES.items() for name in names.split()}
MAPS = ("contentMap", "nameMap", "summaryMap")
TEXTS = ("content", "name", "summary", "value")
TIMES = ("published", "updated", "endTime")
REFERENCES = (
    "actor", "object", "attributedTo", "inReplyTo", "target", "instrument", "result", "to", "cc", "inbox", "outbox",
    "followers", "featured", "owner", "movedTo", "alsoKnownAs", "quote", "quoteUrl", "automaticApproval",
)  # fmt: skip
ACCOUNTS = ("actor", "attributedTo", "owner")


def prefixed(name: str) -> str:
    return f"{PREFIXES.get(name, 'as')}:{name}"


def iri_of(name: str) -> str:
    return NAMESPACES[PREFIXES.get(name, "as")] + name


def everywhere(value: Any, change: Callable[[Document], Document]) -> Any:
    """Change the objects in a value, the inner ones first. Maps of languages and contexts stay."""
    if is_list(value):
        return [everywhere(one, change) for one in value]
    if not is_object(value):
        return value
    return change({
        key: one if key in MAPS or key == "@context" else everywhere(one, change) for key, one in value.items()
    })  # fmt: skip


def values(change: Callable[[str, Any], Any], *names: str) -> Spelling:
    """Return a spelling that changes the values of properties, of all but the maps and types if none are named."""

    def change_all(thing: Document) -> Document:
        return {
            key: change(key, value) if key in names or (not names and key not in (*MAPS, "type", "id")) else value
            for key, value in thing.items()
        }

    return lambda document: everywhere(document, change_all)


def of_each(change: Callable[[Any], Any], value: Any) -> Any:
    return [change(one) for one in value] if is_list(value) else change(value)


def naming(
    key_of: Callable[[str], str], type_of: Callable[[str], str], context: Callable[[Document], object] | None = None
) -> Spelling:
    """Return a spelling with other names for properties and types."""

    def rename(thing: Document) -> Document:
        named: Document = {}
        for key, value in thing.items():
            if key == "type":
                value = of_each(lambda one: type_of(one) if isinstance(one, str) else one, value)
            named[key if key.startswith("@") else key_of(key)] = value
        return named

    def spell(document: Document) -> Document:
        spelled = everywhere(document, rename)
        return spelled if context is None else spelled | {"@context": context(document)}

    return spell


def same(name: str) -> str:
    return name


def keyword(name: str) -> str:
    return f"@{name}" if name in ("id", "type") else name


def but_keywords(spell: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: keyword(name) if name in ("id", "type") else spell(name)


def alias(name: str) -> str:
    return f"my{name}"


def aliases(document: Document) -> object:
    names: set[str] = set()

    def note_names(thing: Document) -> Document:
        kinds = thing.get("type", [])
        names.update(thing, (kind for kind in (kinds if is_list(kinds) else [kinds]) if isinstance(kind, str)))
        return thing

    everywhere(document, note_names)
    terms: Mapping[str, object] = {alias(name): iri_of(name) for name in names} | {"myid": "@id", "mytype": "@type"}
    return ["https://www.w3.org/ns/activitystreams", terms | {"myto": {"@id": "as:to", "@type": "@id"}}]


def reference(spell: Callable[[str], Any]) -> Callable[[str, Any], Any]:
    """Change the addresses of what a property names, and not the objects that are embedded."""

    def change(name: str, value: Any) -> Any:
        return of_each(lambda one: spell(one) if isinstance(one, str) else one, value)

    return change


def without(document: Document, *names: str) -> Document:
    return {key: value for key, value in document.items() if key not in names}


def by_language(spell: Callable[[str, str], Document]) -> Spelling:
    """Return a spelling of each text in its language, of posts alone, and without the plain text."""

    def change(thing: Document) -> Document:
        if "contentMap" not in thing or not isinstance(thing.get("content"), str):
            return thing
        texts = {key: thing[key] for key in ("content", "summary", "name") if isinstance(thing.get(key), str)}
        found = without(thing, *texts, "contentMap")
        for key, text in texts.items():
            found |= spell(key, text)
        return found

    return lambda document: everywhere(document, change)


def at_the_activity(*names: str) -> Spelling:
    """Return a spelling that tells what a post tells at the activity alone."""

    def change(document: Document) -> Document:
        post = document.get("object")
        if document.get("type") not in ("Create", "Update") or not is_object(post) or "attributedTo" not in post:
            return document
        told = {"actor": post["attributedTo"]} | {name: post[name] for name in names if name in post}
        return document | without(told, "attributedTo") | {"object": without(post, *names)}

    return change


def linked(make: Callable[[str, str | None], Any]) -> Spelling:
    """Return a spelling of the addresses of pages and files as links."""

    def change(thing: Document) -> Document:
        if not isinstance(thing.get("url"), str):
            return thing
        is_file = "mediaType" in thing or thing.get("type") in ("Image", "Document")
        kind = thing.get("mediaType") if is_file else "text/html"
        return without(thing, "mediaType" if is_file else "") | {"url": make(thing["url"], kind)}

    return lambda document: everywhere(document, change)


def link(href: str, kind: str | None) -> Document:
    return {"type": "Link", "href": href} | ({} if kind is None else {"mediaType": kind})


def nulls(thing: Document) -> Document:
    names = ("summary", "inReplyTo", "tag", "attachment", "icon", "url", "updated", "quote", "bto", "bcc", "audience")
    return dict.fromkeys(names) | thing | {"conversation": None} if "type" in thing else thing


def empties(thing: Document) -> Document:
    none: Document = {name: [] for name in ("tag", "attachment", "bto", "bcc", "audience", "icon", "inReplyTo")}
    return none | thing if "type" in thing else thing


def number_as_text(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def typed(name: str, value: Any) -> Any:
    if isinstance(value, bool | int):
        return {"@type": "xsd:boolean" if isinstance(value, bool) else "xsd:integer", "@value": value}
    if name in TIMES:
        return {"@type": "http://www.w3.org/2001/XMLSchema#dateTime", "@value": value}
    return {"@value": value} if name in TEXTS and isinstance(value, str) else value


def public(spelling: object) -> Spelling:
    return values(reference(lambda uri: spelling if uri == PUBLIC else uri), "to", "cc", "automaticApproval")


def time_as(form: str) -> Spelling:
    def change(name: str, value: Any) -> Any:
        found = re.fullmatch(r"([\d-]{10})T([\d:]{8})Z", str(value))
        return value if found is None else form.format(day=found[1], clock=found[2])

    return values(change, *TIMES)


NAMING: dict[str, Spelling] = {
    "types with prefixes": naming(same, prefixed),
    "types as IRIs": naming(same, iri_of),
    "types as insecure IRIs": naming(same, lambda name: iri_of(name).replace("https:", "http:")),
    "names of JSON-LD": naming(keyword, same),
    "all with prefixes": naming(but_keywords(prefixed), prefixed),
    "all as IRIs": naming(but_keywords(iri_of), iri_of),
    "all with declared prefixes": naming(
        but_keywords(lambda name: f"x{prefixed(name)}"), lambda name: f"x{prefixed(name)}",
        lambda _: [{f"x{prefix}": iri for prefix, iri in NAMESPACES.items()}, "https://www.w3.org/ns/activitystreams"],
    ),
    "all by aliases": naming(alias, alias, aliases),
    "types among others": values(lambda _, kind: ["ext:Thing", kind, "https://ext.test/ns#Other"], "type"),
    "types in a list": values(lambda _, kind: [kind], "type"),
}  # fmt: skip
SHAPING: dict[str, Spelling] = {
    "as it is": lambda document: document,
    "lists of one": values(lambda _, value: value if is_list(value) else [value]),
    "ids in lists": values(lambda _, value: [value], "id"),
    "lists in lists": values(lambda _, value: [value] if is_list(value) else [[value]]),
    "no lists of one": values(lambda _, value: value[0] if is_list(value) and len(value) == 1 else value),
    "sets": values(lambda _, value: {"@set": value} if is_list(value) else value),
    "ordered lists": values(lambda _, value: {"@list": value} if is_list(value) else value),
    "references as objects": values(reference(lambda uri: {"id": uri}), *REFERENCES),
    "references as lists of objects": values(reference(lambda uri: [{"@id": uri}]), *REFERENCES),
    "accounts embedded": values(reference(lambda uri: {"type": "Person", "id": uri, "name": "Eve"}), *ACCOUNTS),
    "accounts beside groups": values(
        reference(lambda uri: [{"type": "Group", "id": f"{FAR}/g"}, {"type": "Person", "id": uri}]), "attributedTo"
    ),
    "typed values": values(typed),
    "numbers and truths as texts": values(number_as_text),
    "fractions": values(lambda _, value: float(value) if type(value) is int else value),
    "nulls": lambda document: everywhere(document, nulls),
    "empty lists": lambda document: everywhere(document, empties),
    "texts by language alone": by_language(lambda key, text: {f"{key}Map": {"en": text}}),
    "texts with a language": by_language(lambda key, text: {key: {"@value": text, "@language": "en"}}),
    "texts with languages": by_language(
        lambda key, text: {key: [{"@value": text, "@language": "en"}, {"@value": "hallo", "@language": "de"}]}
    ),
    "maps of values": by_language(lambda key, text: {f"{key}Map": {"en": [{"@value": text}], "de": "hallo"}}),
    "the audience at the activity": at_the_activity("to", "cc"),
    "the author at the activity": at_the_activity("attributedTo"),
    "all at the activity": at_the_activity("to", "cc", "attributedTo", "published"),
    "a short public": public("as:Public"),
    "a bare public": public("Public"),
    "an insecure public": public(PUBLIC.replace("https:", "http:")),
    "an embedded public": public({"id": PUBLIC, "type": "Collection"}),
    "links": linked(link),
    "lists of links": linked(lambda href, kind: [link(href, kind)]),
    "links among others": linked(
        lambda href, kind: [link("magnet:?xt=1", "application/x-bittorrent"), link(f"{href}.json", "application/json"),
                            link(href, kind)]
    ),
    "links with parameters": linked(lambda href, kind: link(href, kind and f"{kind.upper()}; charset=utf-8")),
    "addresses of objects": linked(
        lambda href, kind: {"@id": href} if kind in (None, "text/html") else link(href, kind)
    ),
    "times with an offset": time_as("{day}T{clock}+00:00"),
    "times with a short offset": time_as("{day}T{clock}.000+0000"),
    "times with a space": time_as("{day} {clock}"),
    "times of nanoseconds": time_as("{day}T{clock}.000000000Z"),
    "times in small letters": time_as("{day}t{clock}z"),
    "contexts everywhere": lambda document: everywhere(
        document, lambda thing: {"@context": ["https://www.w3.org/ns/activitystreams", {"@language": "en"}]} | thing
    ),
}  # fmt: skip


def mixed(seed: int) -> Spelling:
    """Return some spellings one after the other, the names last: the others look for plain ones."""
    chance = random.Random(seed)
    chosen = [*chance.sample([*SHAPING.values()], 3), chance.choice([*NAMING.values()])]

    def spell(document: Document) -> Document:
        for one in chosen:
            document = one(document)
        return document

    return spell


SPELLINGS = NAMING | SHAPING
