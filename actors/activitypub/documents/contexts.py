"""The JSON-LD contexts of documents: the meaning of each name outside of ActivityStreams.

Servers that expand JSON-LD lose undeclared names. Other servers compare names, as Troupe does.
"""

from __future__ import annotations

from ....storage.engine.json_values import JsonObject

ACTIVITY_STREAMS = "https://www.w3.org/ns/activitystreams"
SECURITY = "https://w3id.org/security/v1"
NAMESPACES = {
    "toot": "http://joinmastodon.org/ns#",
    "schema": "http://schema.org#",
    "gts": "https://gotosocial.org/ns#",
    "fep044f": "https://w3id.org/fep/044f#",
}


def _uri(name: str) -> JsonObject:
    """A term whose value is a URI."""
    return {"@id": name, "@type": "@id"}


TAGS: JsonObject = {"Emoji": "toot:Emoji", "Hashtag": "as:Hashtag"}

ACTOR_TERMS: JsonObject = {
    **NAMESPACES,
    **TAGS,
    "manuallyApprovesFollowers": "as:manuallyApprovesFollowers",
    "movedTo": _uri("as:movedTo"),
    "alsoKnownAs": _uri("as:alsoKnownAs"),
    "featured": _uri("toot:featured"),
    "featuredTags": _uri("toot:featuredTags"),
    "discoverable": "toot:discoverable",
    "indexable": "toot:indexable",
    "memorial": "toot:memorial",
    "suspended": "toot:suspended",
    "attributionDomains": _uri("toot:attributionDomains"),
    "webfinger": "https://purl.archive.org/socialweb/webfinger#webfinger",
    "PropertyValue": "schema:PropertyValue",
    "value": "schema:value",
}

QUOTE_TERMS: JsonObject = {
    "gts": NAMESPACES["gts"],
    "fep044f": NAMESPACES["fep044f"],
    "QuoteRequest": "fep044f:QuoteRequest",
    "QuoteAuthorization": "fep044f:QuoteAuthorization",
    "interactingObject": _uri("gts:interactingObject"),
    "interactionTarget": _uri("gts:interactionTarget"),
}

NOTE_TERMS: JsonObject = {
    **NAMESPACES,
    **TAGS,
    **QUOTE_TERMS,
    "sensitive": "as:sensitive",
    "blurhash": "toot:blurhash",
    "focalPoint": {"@id": "toot:focalPoint", "@container": "@list"},
    "votersCount": "toot:votersCount",
    "quote": _uri("fep044f:quote"),
    "quoteAuthorization": _uri("fep044f:quoteAuthorization"),
    "quoteUri": "http://fedibird.com/ns#quoteUri",
    "_misskey_quote": "https://misskey-hub.net/ns#_misskey_quote",
    "interactionPolicy": _uri("gts:interactionPolicy"),
    "canQuote": _uri("gts:canQuote"),
    "automaticApproval": _uri("gts:automaticApproval"),
    "manualApproval": _uri("gts:manualApproval"),
}

# `as:` is declared by ActivityStreams itself.
PLAIN_CONTEXT = ACTIVITY_STREAMS
ACTOR_CONTEXT = [ACTIVITY_STREAMS, SECURITY, ACTOR_TERMS]
NOTE_CONTEXT = [ACTIVITY_STREAMS, NOTE_TERMS]
QUOTE_CONTEXT = [ACTIVITY_STREAMS, QUOTE_TERMS]
TAGS_CONTEXT = [ACTIVITY_STREAMS, {"toot": NAMESPACES["toot"], **TAGS}]


def embedded(document: JsonObject) -> JsonObject:
    """Return a document as a part of another document: without its `@context`."""
    return {name: value for name, value in document.items() if name != "@context"}
