"""Finding links, mentions and hashtags in a text.

One search reads the text from left to right and never tries a character twice, so its time grows only with the length
of the text: the quantifiers are possessive, a host can't contain the start of another link, and a refused candidate is
skipped as a whole. The worst 100 kB take 80 ms.
"""

import ipaddress
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import idna
import regex

from .combining_marks import bounded

# A status of 500 characters has room for 250 candidates. Each costs little but not nothing (an international domain 80
# µs), so a text that consists of candidates is not read to its end.
CANDIDATES = 500
# Characters of candidates that may have an international domain: a domain of 18 long labels takes 0.5 ms.
INTERNATIONAL_CHARACTERS = 20_000
# Each label counts as so many characters more: a domain of 120 short labels takes 1 ms.
INTERNATIONAL_LABEL = 20
HASHTAG_SIGNS = ("#", "\uff03")
# Longer tags are left as plain text: a tag name is an index key, and no real tag is so long.
HASHTAG_CHARACTERS = 255
# Longer links count with their full length: a link counts as 23 characters only if servers store it.
URL_CHARACTERS = 2048
# Classes of letters that are written from right to left, and of their numbers.
RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
# RFC 1035: a name in full, and each label of it.
HOST_CHARACTERS = 253
LABEL_CHARACTERS = 63


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link with its scheme: http, https, or another scheme of which Mastodon makes links."""

    start: int
    end: int
    url: str

    @property
    def is_of_the_web(self) -> bool:
        return self.url[:4].lower() == "http"


@dataclass(frozen=True, slots=True)
class FoundMention:
    """`@name` or `@name@domain`; the domain is lower-case ASCII, as servers know each other."""

    start: int
    end: int
    name: str
    domain: str | None

    def handle(self, local_domain: str) -> str:
        """The key to look up the mentioned account: `name` for an account of this server, else `name@domain`."""
        if self.domain is None or self.domain == local_domain.lower():
            return self.name.lower()
        return f"{self.name.lower()}@{self.domain}"


@dataclass(frozen=True, slots=True)
class Hashtag:
    """A hashtag as it was written (`text`) and as it is stored and compared (`name`), both without the sign."""

    start: int
    end: int
    text: str
    name: str


Entity = FoundLink | FoundMention | Hashtag
_E = TypeVar("_E", FoundLink, FoundMention, Hashtag)


@dataclass(frozen=True, slots=True)
class Scan:
    """All entities of a text, in their order."""

    entities: tuple[Entity, ...]

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """The links, repetitions included."""
        return self._only(FoundLink)

    @property
    def mentions(self) -> tuple[FoundMention, ...]:
        """The mentions, repetitions included."""
        return self._only(FoundMention)

    @property
    def hashtags(self) -> tuple[Hashtag, ...]:
        """The hashtags, repetitions included."""
        return self._only(Hashtag)

    def handles(self, local_domain: str) -> tuple[str, ...]:
        """Return each mentioned handle once."""
        return tuple(dict.fromkeys(mention.handle(local_domain) for mention in self.mentions))

    def tags(self) -> tuple[str, ...]:
        """Return each tag name once."""
        return tuple(dict.fromkeys(hashtag.name for hashtag in self.hashtags))

    def _only(self, kind: type[_E]) -> tuple[_E, ...]:
        return tuple(entity for entity in self.entities if isinstance(entity, kind))


# The three things that can begin here. `\w` of the regex module takes in the combining marks, without which no tag in
# Devanagari or Thai would be whole. The first look-ahead only spares most places the trouble of the alternatives.
#   link: the scheme; host and path are read by their own patterns. A letter, digit or sign before it is part of a word,
#     an address or a tag. Text in scripts without spaces may come right before.
#   address: of a chat (`xmpp:ada@example.org`, with its `@`) or a torrent, which have no `//`.
#   mention: not after a word character, `=` or `/`; not before `@` or `://`, which make it something else, nor before
#     an accented Latin letter, because `@jos` is not who `@josé` means. Servers under development have ports.
#   tag: also right after most signs, such as a bracket, but not where `#` means something else: in an anchor (`/#top`,
#     `[1](#a)`), a parameter, an entity. Between two tags `/` is a sign like others. Separators stand inside, never at
#     the end.
CANDIDATE = regex.compile(
    r"""
    (?= [@\#\uff03]\w | (?i:ht|ge|go|ip|ma|xm) )
    (?:
        (?<![A-Za-z0-9@\uff20\#\uff03$])
        (?: (?P<link> (?i:https?|gemini|gopher|ip[fn]s) :// )
        |   (?P<address> (?i:xmpp) : [\w.~+-]++ @ | (?i:magnet) : (?=\?xt=) ) )
    |   (?<![\w=/]) @ (?P<name> [A-Za-z0-9_]++ (?: [.-]++ [A-Za-z0-9_]++ )*+ )
        (?: @ (?P<domain> (?: \w++ [.-]++ (?=\w) )*+ (?: [\p{Latin}\p{M}\d_]++ | [\w--\p{Latin}]++ )
            (?: : [0-9]{2,5}+ (?!\w) )?+ ) )?+
        (?P<refused> (?= @ | :// | [\p{Latin}--\p{ASCII}] ) )?+
    |   (?: (?<! [\w/)=&@\#\uff03$] | \]\( ) | (?<=[\#\uff03]\w{1,255}/) ) [\#\uff03]
        (?P<tag> (?!\p{M}) [\w--\p{Cf}\ufe0f]++ (?: [\u00b7\u30fb\u200c\u200d]++ [\w--\p{Cf}\ufe0f]++ )*+ )
    )
    """,
    regex.VERBOSE | regex.VERSION1,
)

# The last label keeps to Latin or to other scripts, so that a sentence which goes on in Japanese right after
# `example.com` does not become part of the name. In the labels before it browsers allow emoji and arrows too.
HOST = regex.compile(
    r"""
    (?: \[ (?P<six> [0-9A-Fa-f:.]{2,45}+ ) \]
    |   (?P<name> (?: [\w\p{So}\p{Emoji_Modifier}\p{Block=Arrows}-]++ \. (?=\w) )*+
        (?: [\p{Latin}\p{M}\d_-]++ | [[\w-]--\p{Latin}]++ ) )
    )
    (?: : (?P<port> [0-9]++ ) )?+
    """,
    regex.VERBOSE | regex.VERSION1,
)

# The text between a host and an `@`. With the `@` it is a user's name and password, and browsers open the host after
# the `@`, but a reader would see the host before it. So this is no link. The pattern has no `@`: the whole text would
# be searched for it each time.
REST_OF_NAME = regex.compile(r"[\p{Latin}\p{M}0-9._~%!$&'()*+,;=:-]*+", regex.VERSION1)

# The part after the host. Left out: characters that HTML or a reader takes for the end of an address, invisible
# characters that turn the direction of the text or hide a part of it, and the brackets and quotation marks of all
# scripts: RFC 3986 has only ASCII brackets and marks. Pairs of them stay: `„https://example.com/a“` is quoted,
# `/wiki/„Heroes“` has a quote. A mark that opens in one language closes in another, so a pair may end in either. An
# apostrophe stays too.
MARK = r"[\p{Ps}\p{Pe}\p{Pi}\p{Pf}--\p{ASCII}]"
INSIDE = (
    r"[[^\s\p{Cc}\p{Cs}<>\"`\\\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u3000-\u3003\u3008-\u3011"
    rf"\u3014-\u301f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff5b\uff5d-\uff64]--{MARK}]"
)
TAIL = regex.compile(
    rf"""
    [/?\#]
    (?: [!\#-;=?-\[\]^_a-~]++
    |   {INSIDE}++
    |   (?<=\w) \p{{Word_Break=MidNumLet}} (?=\w)
    |   [\p{{Ps}}\p{{Pi}}--\p{{ASCII}}] {INSIDE}*+ [\p{{Pe}}\p{{Pf}}\p{{Pi}}--\p{{ASCII}}]
    )*+
    """,
    regex.VERBOSE | regex.VERSION1,
)

# Characters at the end of an address that belong to the sentence: its marks in any script, these signs, and brackets
# that were not opened inside. They are read from the end on.
SENTENCE_SIGNS = regex.compile(r"(?r)[\p{Terminal_Punctuation}'*\u2026]*+")
BRACKETS = {")": "(", "]": "[", "}": "{"}

NOT_IN_TAG_NAME = regex.compile(r"[^\w\u00b7\u30fb\u200c\u200d]+")


class EntityFinder:
    """Finds the entities in the parts of a text: its lines, or the texts between its tags.

    The limits apply to all parts together.
    """

    def __init__(self) -> None:
        self._candidates = CANDIDATES
        self._international = INTERNATIONAL_CHARACTERS

    def find(self, text: str, start: int = 0) -> Iterator[Entity]:
        """Find the entities of a part from `start` on.

        The text before `start` is only the context of the first entity.
        """
        position = start
        while self._candidates > 0 and self._international > 0:
            candidate = CANDIDATE.search(text, position)
            if candidate is None:
                return
            entity, position = _read(text, candidate)
            # A host that can't be reached is read, and then looked into.
            is_link = candidate["link"] is not None or candidate["address"] is not None
            host = HOST.match(text, position) if is_link and entity is None else None
            read = text[candidate.start() : host.end() if host else position]
            self._candidates -= 1
            if not read.isascii() or "xn--" in read.lower():
                self._international -= len(read) + INTERNATIONAL_LABEL * read.count(".")
            if entity is not None:
                yield entity


def find(text: str) -> Iterator[Entity]:
    """Find the entities of a whole text."""
    return EntityFinder().find(text)


# Code points that are read. Longer names belong to no account.
LONGEST_TAG = 1000


# Letters with an accent that Unicode does not decompose; and two spellings of the same sound.
UNACCENTED = str.maketrans(dict(zip("đðħıĸłŋøŧ", "ddhiklnot", strict=True)) | {"ß": "ss"})
ACCENTS = regex.compile(r"(?<=[a-zæœ])[\u0300-\u036f]+")


def tag_name(written: str) -> str:
    """Return the name by which a hashtag is stored and compared: lower case, without width and Latin accents.

    In other scripts a mark makes another letter or word. The migration `folded_tags` does the same in SQL.
    """
    # One character can become 18.
    name = unicodedata.normalize("NFKC", written[:LONGEST_TAG])[:LONGEST_TAG].lower()
    name = NOT_IN_TAG_NAME.sub("", name)
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", ACCENTS.sub("", unicodedata.normalize("NFD", name).translate(UNACCENTED)))


def whole_hashtag(written: str) -> Hashtag | None:
    """Return the hashtag if the whole text is a hashtag, with or without its sign; else None."""
    written = bounded(written)
    bare = written[1:] if written[:1] in HASHTAG_SIGNS else written
    found = next(find(f"#{bare[: HASHTAG_CHARACTERS + 1]}"), None)
    return found if isinstance(found, Hashtag) and found.text == bare else None


def _read(text: str, candidate: "regex.Match[str]") -> tuple[Entity | None, int]:
    """Return the entity of a candidate, or None, and the position to continue at."""
    if candidate["link"] is not None or candidate["address"] is not None:
        return _link(text, candidate)
    if candidate["tag"] is not None:
        return None if _is_in_address(text, candidate.start()) else _hashtag(candidate), candidate.end()
    return _mention(candidate), candidate.end()


def _link(text: str, candidate: "regex.Match[str]") -> tuple[FoundLink | None, int]:
    start = candidate.end()
    if text[start - 1] != ":":  # a torrent has no host
        host = HOST.match(text, start)
        if host is None or not _reachable(host):
            return None, start
        start = host.end()
        name = REST_OF_NAME.match(text, start)
        if name and text.startswith("@", name.end()):
            return None, name.end() + 1
    tail = TAIL.match(text, start)
    if tail and tail.end() - candidate.start() > 2 * URL_CHARACTERS:  # also without the signs at its end
        return None, tail.end()
    end = _before_sentence_signs(text, start, tail.end()) if tail else start
    if end - candidate.start() > URL_CHARACTERS:
        return None, end
    return FoundLink(candidate.start(), end, text[candidate.start() : end]), end


def _reachable(host: "regex.Match[str]") -> bool:
    port = host["port"]
    if port is not None and (len(port) > 5 or int(port) > 65535):
        return False
    return _is_ip(host["six"]) if host["six"] is not None else _is_host_name(host["name"])


def _is_host_name(name: str) -> bool:
    domain = ascii_domain(name) or _ascii_with_symbols(name)
    if domain is None or not _is_long_known(name, domain):
        return False
    if not all(_is_label(label) for written in (name, domain) for label in written.split(".")):
        return False
    # Browsers read a name whose last label is a number as an IPv4 address, and refuse it if it is not a valid address.
    last_label = domain.rpartition(".")[2]
    return _is_ip(domain) if last_label[:1].isdecimal() else True


def _is_long_known(name: str, domain: str) -> bool:
    """True if Python's own, older Unicode tables have every letter: URL parsers refuse newer letters."""
    try:
        letters = name + _decoded(domain)
    except UnicodeError:
        return False
    return all(unicodedata.category(letter) != "Cn" for letter in letters)


def _is_label(label: str) -> bool:
    return 0 < len(label) <= LABEL_CHARACTERS and label.strip("-") == label


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def ascii_domain(domain: str) -> str | None:
    """Return a domain as servers write it: lower case, international labels in Punycode. None if it is not a domain."""
    if len(domain) > HOST_CHARACTERS:
        return None
    if domain.isascii() and "xn--" not in domain.lower():
        return domain.lower()
    try:
        return idna.encode(domain, uts46=True).decode()
    except UnicodeError:
        return None


def _ascii_with_symbols(domain: str) -> str | None:
    """Return a domain that has emoji or other symbols in ASCII, as browsers do: IDNA 2008 forbids symbols."""
    if len(domain) > HOST_CHARACTERS:
        return None
    written = domain.lower()
    try:
        mapped = idna.uts46_remap(_decoded(written))
        labels = [_ascii_symbols(label) or idna.encode(label).decode() for label in mapped.split(".")]
    except UnicodeError:
        return None
    if any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in mapped):
        return None  # symbols next to these are shown in another place
    encoded = ".".join(labels)
    # Punycode that another encoder would write otherwise is refused by browsers.
    return encoded if "xn--" not in written or encoded == written else None


def _ascii_symbols(label: str) -> str | None:
    """Return a label that has a symbol in Punycode.

    None if it has no symbol, or a symbol beside letters that browsers refuse.
    """
    kinds = [unicodedata.category(letter)[0] for letter in label]
    if "S" not in kinds or kinds[0] == "M" or "\u200d" in label:
        return None
    return f"xn--{label.encode('punycode').decode()}"


def _decoded(domain: str) -> str:
    """Return a domain with the letters that its labels write in Punycode.

    Raises UnicodeError if a label can't be read.
    """
    labels = domain.split(".")
    return ".".join(
        label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label for label in labels
    )


def _before_sentence_signs(text: str, start: int, end: int) -> int:
    unopened = {
        closing: text.count(closing, start, end) - text.count(opening, start, end)
        for closing, opening in BRACKETS.items()
    }
    while signs := SENTENCE_SIGNS.match(text, start, end):
        end = signs.start()
        last = text[end - 1] if end > start else ""
        if unopened.get(last, 0) <= 0:
            break
        unopened[last] -= 1
        end -= 1
    return end


def _mention(candidate: "regex.Match[str]") -> FoundMention | None:
    if candidate["refused"] is not None:
        return None
    if candidate["domain"] is None:
        return FoundMention(candidate.start(), candidate.end(), candidate["name"], None)
    name, _, port = candidate["domain"].partition(":")
    domain = ascii_domain(name)
    if domain is None:
        return None
    return FoundMention(candidate.start(), candidate.end(), candidate["name"], f"{domain}:{port}" if port else domain)


def _is_in_address(text: str, place: int) -> bool:
    """True after a scheme without white space in between, for example in a link to a refused host."""
    scheme = text.rfind("://", max(0, place - URL_CHARACTERS), place)
    return scheme >= 0 and not any(map(str.isspace, text[scheme:place]))


def _hashtag(candidate: "regex.Match[str]") -> Hashtag | None:
    written = candidate["tag"]
    if len(written) > HASHTAG_CHARACTERS:
        return None
    name = tag_name(written)
    if len(name) > HASHTAG_CHARACTERS or name.isdecimal() or not any(sign.isalnum() for sign in name):
        return None
    return Hashtag(candidate.start(), candidate.end(), written, name)
