"""The names of the known properties and types, and their spellings in JSON-LD.

JSON-LD is never expanded, and no context is fetched: a name is known by itself, with a prefix such as `as:`, by its
full IRI, or by an alias that the document's own context declares. A plain name that is known always means itself.
"""

from __future__ import annotations

from itertools import chain

from ...storage.engine.json_values import is_object
from .vocabulary import check_shape, list_of, objects_of

# The namespaces of names, with the prefixes that servers use for them without declaring them.
NAMESPACES = {
    "as": "https://www.w3.org/ns/activitystreams#",
    "ldp": "http://www.w3.org/ns/ldp#",
    "sec": "https://w3id.org/security#",
    "schema": "http://schema.org#",
    "toot": "http://joinmastodon.org/ns#",
    "misskey": "https://misskey-hub.net/ns#",
    "pt": "https://joinpeertube.org/ns#",
    "lemmy": "https://join-lemmy.org/ns#",
    "litepub": "http://litepub.social/ns#",
    "fedibird": "http://fedibird.com/ns#",
    "ostatus": "http://ostatus.org#",
    "gts": "https://gotosocial.org/ns#",
    "mz": "https://joinmobilizon.org/ns#",
    "wp": "https://developer.wordpress.org/ns#",
    "pixelfed": "http://pixelfed.org/ns#",
    "quote": "https://w3id.org/fep/044f#",
    "webfinger": "https://purl.archive.org/socialweb/webfinger#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "sc": "http://schema.org/",  # Schema.org's names are written with both marks
}
_WITHOUT_SCHEME = frozenset(iri.partition("://")[2] for iri in NAMESPACES.values())
KEYWORDS = {"@id": "id", "@type": "type"}
# No code reads the properties of the last three lines. They are here because many documents have them: a known name
# costs less.
_PROPERTIES = """
    id type @context actor object target instrument result origin to cc bto bcc audience
    attributedTo inReplyTo content contentMap name nameMap summary summaryMap mediaType url href rel height width size
    published updated startTime endTime closed tag attachment icon image sensitive blurhash focalPoint oneOf anyOf
    votersCount replies totalItems first next items orderedItems quote quoteUrl quoteUri quoteURL _misskey_quote
    quoteAuthorization interactionPolicy canQuote automaticApproval manualApproval interactingObject interactionTarget
    preferredUsername inbox outbox followers following featured endpoints sharedInbox publicKey owner publicKeyPem
    assertionMethod controller publicKeyMultibase manuallyApprovesFollowers discoverable indexable memorial suspended
    movedTo alsoKnownAs value
    source hreflang duration preview context conversation likes shares last prev partOf featuredTags attributionDomains
    webfinger atomUri inReplyToAtomUri directMessage canLike canReply canAnnounce always approvalRequired
    _misskey_content _misskey_summary commentsEnabled language identifier signature creator created signatureValue
"""
_TYPES = """
    Accept Add Announce Block Create Delete Flag Follow Invite Like Move QuoteRequest Reject Remove Undo Update
    Note Question ChatMessage Article Page Image Audio Video Event Document Link Mention Hashtag Emoji PropertyValue
    Tombstone Collection OrderedCollection CollectionPage OrderedCollectionPage
    Person Service Group Organization Application Feed Key Multikey QuoteAuthorization RsaSignature2017
"""
PROPERTIES = frozenset(_PROPERTIES.split())
TYPES = frozenset(_TYPES.split())
PLAIN = PROPERTIES | TYPES  # names that always mean themselves
MOST_NAMES = 1_000  # of a document that are looked up: each takes time, and servers write some dozens
MOST_DECLARED = 500  # terms of contexts that are read


class Spellings:
    """The spellings of one document. `has_stand_ins` is true if an object in it may stand for another value."""

    def __init__(self) -> None:
        self.has_stand_ins = False
        self._contexts: list[object] = []  # that are not read yet
        self._declared: dict[str, str] = {}
        self._found: dict[str, str] = {}

    def declare(self, context: object) -> None:
        """Add the prefixes and aliases that a context declares. Raise MalformedDocument if it reshapes JSON-LD."""
        if not isinstance(context, str):
            check_shape(context)
            self._contexts.append(context)

    def _read_contexts(self) -> None:
        for part in objects_of([*chain.from_iterable(map(list_of, self._contexts))]):
            for term, meaning in part.items():
                if len(self._declared) >= MOST_DECLARED:
                    break
                named = meaning.get("@id") if is_object(meaning) else meaning
                if isinstance(named, str) and term not in PLAIN:
                    self._declared.setdefault(term, named)
        self._contexts.clear()

    def known(self, name: str) -> str:
        """Return the plain name for a spelling of a known name; other names are returned unchanged."""
        if self._contexts:
            self._read_contexts()
        if name in self._found:
            return self._found[name]
        if len(self._found) >= MOST_NAMES:
            return name
        self._found[name] = found = self._known(self._declared.get(name, name)) or name
        return found

    def _known(self, name: str) -> str | None:
        if name in KEYWORDS:
            return KEYWORDS[name]
        prefix, colon, rest = name.partition(":")
        if not colon:
            return name if name in PROPERTIES or name in TYPES else None
        if not rest.startswith("//"):
            name = (self._declared.get(prefix) or NAMESPACES.get(prefix, "")) + rest
        namespace = max(name.rfind("#"), name.rfind("/")) + 1
        plain, host_and_path = name[namespace:], name[:namespace].partition("://")[2]
        if host_and_path not in _WITHOUT_SCHEME or not (plain in PROPERTIES or plain in TYPES):
            return None
        return plain
