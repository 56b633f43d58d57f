"""How a peer that expands JSON-LD reads a document: names that its context does not declare are lost."""

from collections.abc import Iterator
from typing import Any, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Terms = dict[str, str | dict[str, str]]

# Of ActivityStreams and of the two vocabularies that its context includes (ldp and as), as far as they are used here.
NAMES = """
    id type actor object target to cc published updated summary content contentMap name url href mediaType icon image
    attachment tag attributedTo inReplyTo replies likes shares first next prev partOf items orderedItems totalItems
    width height oneOf anyOf endTime closed inbox outbox followers following preferredUsername endpoints sharedInbox
    instrument result
    Person Service Group Application Note Question Document Image Mention Tombstone Collection CollectionPage
    OrderedCollection OrderedCollectionPage Create Update Delete Follow Accept Reject Undo Like Announce Block Flag Add
    Remove Move
"""
ACTIVITY_STREAMS = frozenset(NAMES.split())
SECURITY = frozenset({"publicKey", "owner", "publicKeyPem"})
KNOWN = {"https://www.w3.org/ns/activitystreams": ACTIVITY_STREAMS, "https://w3id.org/security/v1": SECURITY}
MAPS = {"contentMap"}


def undeclared(document: dict[str, Any]) -> set[str]:
    """The names of properties and types that the document uses and its context does not explain."""
    known: set[str] = set()
    for part in _parts(document):
        known |= KNOWN[part] if isinstance(part, str) else set(part)
    return {name for name in _names(document) if name not in known}


def prefixes_without_meaning(document: dict[str, Any]) -> set[str]:
    """The prefixes of terms in the context that are not declared beside them."""
    terms: Terms = {}
    for part in _parts(document):
        terms |= part if isinstance(part, dict) else {}
    meanings = [one["@id"] if isinstance(one, dict) else one for one in terms.values()]
    used = {meaning.partition(":")[0] for meaning in meanings if "//" not in meaning}
    return used - {"as"} - terms.keys()


def _parts(document: dict[str, Any]) -> list[str | Terms]:
    """The contexts of the document: each is an address, or terms that it declares itself."""
    context: str | Terms | list[str | Terms] = document["@context"]
    return context if isinstance(context, list) else [context]


def _names(value: Json, *, top: bool = True) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _names(one, top=False)
    elif isinstance(value, dict):
        assert top or "@context" not in value, "a context inside of a document"
        for name, one in value.items():
            if name == "@context":
                continue
            yield name
            if name == "type":
                yield str(one)
            elif name not in MAPS:
                yield from _names(one, top=False)
