"""Spellings of URIs."""

from __future__ import annotations

import pytest

from troupe.actors.activitypub.uris import ascii_uri, same_uri, web_address
from troupe.actors.activitypub.vocabulary import LONGEST_URI, uri_of, web_uri_of
from troupe.actors.outgoing.messages import ForbiddenTarget
from troupe.actors.outgoing.targets import written_target


@pytest.mark.parametrize(
    ("written", "ascii"),
    [
        ("https://peer.test/users/una", "https://peer.test/users/una"),
        ("https://peer.test/users/%d0%b0%7E", "https://peer.test/users/%d0%b0%7E"),
        ("https://peer.test/@\u0430\u043d\u043d\u0430", "https://peer.test/@%D0%B0%D0%BD%D0%BD%D0%B0"),
        ("https://peer.test/\u6771\u4eac?q=\u4eac&x=%41#\u4eac",
         "https://peer.test/%E6%9D%B1%E4%BA%AC?q=%E4%BA%AC&x=%41#%E4%BA%AC"),
        ("https://b\u00fccher.example:8443/\u00fc", "https://xn--bcher-kva.example:8443/%C3%BC"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("https://peer.test/\U0001f388", "https://peer.test/%F0%9F%8E%88"),
        ("https://b%C3%BCcher.example/users/x", "https://xn--bcher-kva.example/users/x"),
        ("https://peer.test/users/https%3A%2F%2Fa.test%2F\u00fc", "https://peer.test/users/https%3A%2F%2Fa.test%2F%C3%BC"),
        ("tag:\u00fc", "tag:%C3%BC"),
    ],
)  # fmt: skip
def test_a_uri_is_written_in_ascii(written: str, ascii: str) -> None:
    assert ascii_uri(written) == ascii
    assert web_uri_of({"id": written}) == ascii
    assert same_uri(written, ascii)
    assert same_uri(uri_of(written), ascii)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://peer.test/a?b=%C3%BC&c[]=d#e", "https://peer.test/a?b=%C3%BC&c[]=d#e"),
        ("https://peer.test/\u30bf\u30b0", "https://peer.test/%E3%82%BF%E3%82%B0"),
        ('https://peer.test/a b|c^d"<e>\\`{f}', "https://peer.test/a%20b%7Cc%5Ed%22%3Ce%3E%5C%60%7Bf%7D"),
        ("https://b\u00fccher.example/", "https://b%C3%BCcher.example/"),
        ("", ""),
    ],
)
def test_apps_get_addresses_in_the_characters_of_rfc_3986(url: str, shown: str) -> None:
    assert web_address(url) == shown


@pytest.mark.parametrize(
    "host",
    ["a%2Fb.test", "a%40b.test", "eve@b\u00fccher.test", "%00.test", "%ED%A0%80.test", "\u00fc" * 300, "-\u00fc.test"],
)
def test_a_host_that_is_no_name_stays_one(host: str) -> None:
    written = ascii_uri(f"https://{host}/users/una")
    assert written.isascii()
    with pytest.raises(ForbiddenTarget):
        written_target(written)


@pytest.mark.parametrize(
    "text", ["\ud800", "https://peer.test/\u2028", "", "\u00e4" * LONGEST_URI, "\u4eac" * 700, 7, None]
)
def test_a_text_that_no_row_can_hold_is_no_uri(text: object) -> None:
    assert uri_of(text) is None


UNA = "https://peer.test/users/una"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (UNA, "HTTPS://PEER.test:443/users/un%61", True), (UNA, "https://peer.test./users/una", True),
        ("https://peer.test/%d0%b0", "https://peer.test/%D0%B0", True),
        ("https://peer.test", "https://peer.test/", True),
        ("https://peer.test/\u0430", "https://peer.test/%d0%b0", True),
        ("http://peer.test:80/", "http://peer.test/", True),
        (UNA, "https://peer.test/users/Una", False), (UNA, "http://peer.test/users/una", False),
        (UNA, f"{UNA}/", False), (UNA, f"{UNA}#main-key", False), (UNA, f"{UNA}?", True), (UNA, f"{UNA}?x", False),
        ("https://peer.test/a%2Fb", "https://peer.test/a/b", False),
        ("https://peer.test/a%3Fb", "https://peer.test/a?b", False),
        (UNA, "https://peer.test:8443/users/una", False), (UNA, None, False), (None, None, False),
        ("https://[", "https://[", True),
        ("https://peer.test/%zz", "https://peer.test/%ZZ", False), (UNA, "https://peer.test:x/users/una", False),
    ],
)  # fmt: skip
def test_spellings_of_a_uri_are_the_same(one: str | None, other: str | None, same: bool) -> None:
    assert same_uri(one, other) is same
    assert same_uri(other, one) is same
