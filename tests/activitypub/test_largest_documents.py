"""The largest documents of other servers: how much of them is read. Work is counted, not time."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from troupe.actors.activitypub import links, notes, vocabulary
from troupe.actors.activitypub.follower_lists import LONGEST_HEADER, PARAMETER
from troupe.actors.activitypub.links import MOST_RELATIVE_LINKS, with_whole_links
from troupe.actors.activitypub.normalization import normalize, read_document
from troupe.actors.activitypub.notes import read_note
from troupe.actors.activitypub.public_keys import LARGEST_EXPONENT, public_key
from troupe.actors.activitypub.requests import UnusableKey
from troupe.actors.activitypub.vocabulary import (
    LARGEST_DOCUMENT,
    MOST_CONTAINERS,
    MOST_ELEMENTS,
    PUBLIC,
    MalformedDocument,
)
from troupe.actors.federation import actor_documents
from troupe.actors.federation.actor_documents import FIELD_CHARACTERS, FIELDS, NOTE_CHARACTERS, profile_of
from troupe.actors.federation.errors import UntrustedDocument
from troupe.actors.federation.webfinger import Handle, resource_of

from ..signing import private_key

NOW = datetime(2026, 11, 1, tzinfo=UTC)
EVE = "https://far.test/users/eve"
ACTOR: dict[str, Any] = {"id": EVE, "type": "Person", "preferredUsername": "eve", "inbox": f"{EVE}/inbox"}
NOTE: dict[str, Any] = {"id": f"{EVE}/1", "type": "Note", "attributedTo": EVE, "to": [PUBLIC], "content": "hello"}
HANDLE = Handle("eve", "far.test")


@pytest.mark.parametrize("text", ["[],", "{},", "[[]],", '{"a":{}},'])
def test_a_document_with_too_many_objects_is_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(vocabulary, "orjson", None)
    with pytest.raises(MalformedDocument, match="too many values"):
        read_document(f'{{"a":[{text * (MOST_CONTAINERS + 1)}0]}}'.encode())


def test_an_answer_of_webfinger_is_read_as_a_document() -> None:
    with pytest.raises(UntrustedDocument, match="too many values"):
        resource_of(b'{"links":[%b0]}' % (b"[]," * (LARGEST_DOCUMENT // 4)))


@pytest.mark.parametrize("member", ["tag", "attachment", "oneOf", "to", "cc", "url", "attributedTo", "type", "icon"])
def test_no_more_of_a_list_is_looked_at_than_servers_write(monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    looked_at = 0

    class Counted(list[Any]):
        """A list that counts each element that is taken out of it."""

        def __iter__(self) -> Any:
            nonlocal looked_at
            for element in super().__iter__():
                looked_at += 1
                yield element

        def __getitem__(self, at: Any) -> Any:
            nonlocal looked_at
            found = super().__getitem__(at)
            looked_at += len(found) if isinstance(at, slice) else 1
            return found

    many = ["Person", *({"type": "Nothing", "href": 1} for _ in range(50_000))]
    note = normalize({**NOTE, "type": ["Note", "Question"], member: [*many]})
    actor = normalize({**ACTOR, member: [*many]})
    for document in (note, actor):
        if isinstance(document.get(member), list):
            document[member] = Counted(document[member])
    read_note(note, None, NOW)
    profile_of(actor, HANDLE, NOW)
    assert looked_at <= 12 * MOST_ELEMENTS


def test_what_servers_write_is_read_whole() -> None:
    addressed = [f"https://far.test/users/{number}" for number in range(MOST_ELEMENTS)]
    assert normalize({"to": addressed})["to"] == addressed
    empty = [dict[str, object]() for _ in range(2 * MOST_ELEMENTS)]
    assert len(normalize({"tag": empty})["tag"]) == MOST_ELEMENTS
    tags = [{"type": "Hashtag", "name": f"#tag{number}"} for number in range(8_000)]
    note = read_note(normalize({**NOTE, "tag": tags}), None, NOW)
    assert note is not None
    assert len(note.hashtags) == notes.MOST_HASHTAGS


def test_fields_after_those_that_are_shown_are_not_sanitised(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def count(html: str, *bounds: int, **more: int) -> str:
        seen.append(html)
        return html * 10

    monkeypatch.setattr(actor_documents, "sanitise", count)
    field = {"type": "PropertyValue", "name": "site", "value": "<p>home</p>"}
    assert len(profile_of(normalize({**ACTOR, "attachment": [field] * 5_000}), HANDLE, NOW).fields) == FIELDS
    assert len(seen) == FIELDS + 1  # and the description
    seen.clear()
    long = {**field, "value": "<b>" * 600}
    profile_of(normalize({**ACTOR, "attachment": [long] * 5_000}), HANDLE, NOW)
    assert len(seen) == FIELDS + 1, "and the description"


def test_what_a_profile_stores_is_bounded_after_it_has_grown() -> None:
    field = {"type": "PropertyValue", "name": "site", "value": "&" * 2_047}
    profile = profile_of(normalize({**ACTOR, "attachment": [field] * FIELDS, "summary": "&" * 100_000}), HANDLE, NOW)
    assert len(profile.note) <= 2 * NOTE_CHARACTERS
    assert sum(len(one["value"]) for one in profile.fields) <= FIELDS * 2 * FIELD_CHARACTERS


def test_a_key_with_a_long_exponent_is_not_used() -> None:
    """Such a key would make each check of a signature a hundred times slower."""
    numbers = private_key().public_key().public_numbers()
    for bits, is_used in ((17, True), (LARGEST_EXPONENT, True), (LARGEST_EXPONENT + 1, False), (1000, False)):
        key = RSAPublicNumbers((1 << bits - 1) + 1, numbers.n).public_key()
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        if is_used:
            public_key(pem)
        else:
            with pytest.raises(UnusableKey):
                public_key(pem)


def test_a_header_of_spaces_is_looked_through_once() -> None:
    assert not PARAMETER.pattern.startswith(r"\s")
    assert PARAMETER.findall(" " * LONGEST_HEADER) == []
    assert PARAMETER.findall('\t collectionId = "https://far.test/f" , url="x"') != []


def test_paths_without_a_host_are_not_resolved_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `urljoin` these links took 130 ms in all, and its cache kept those of a mebibyte."""
    monkeypatch.setattr(links, "urljoin", None)
    path = f"/{'../' * 100}1.png"
    files = [{"type": "Document", "mediaType": "image/png", "url": ["/" * LARGEST_DOCUMENT, path]}]
    note = read_note(normalize({**NOTE, "attachment": files}), None, NOW)
    assert note is not None
    assert [file.url for file in note.attachments] == [f"https://far.test{path}"]


@pytest.mark.parametrize(
    "unit",
    [" ", "x", "x ", "<a ", "<a href=", '<a href="', '<a href="  ', "<a href", "href= ", '" ', "a:", '<a href="/x" '],
)
def test_links_are_found_in_a_time_that_grows_with_the_text(unit: str) -> None:
    for start in ("", '<a href="', "<a href= "):
        text = start + unit * (LARGEST_DOCUMENT // len(unit))
        began = process_time()
        with_whole_links(text, EVE)
        assert process_time() - began < 0.5


def test_only_so_many_links_of_a_text_get_a_host() -> None:
    text = '<a href="/x">' * (MOST_RELATIVE_LINKS + 1)
    assert with_whole_links(text, EVE).count("far.test/x") == MOST_RELATIVE_LINKS
    for length, count in ((1000, 1), (1001, 0)):
        assert with_whole_links(f'<a href="{"/".ljust(length, "x")}">', EVE).count("far.test") == count
