"""Domains as people paste them."""

import pytest

from troupe.actors.rules.identity import pasted_domain


@pytest.mark.parametrize(
    ("written", "domain"),
    [
        ("wild.example", "wild.example"),
        ("*.wild.example", "wild.example"),
        (".wild.example", "wild.example"),
        ("  Wild.EXAMPLE.\n", "wild.example"),
        ("\ufeffwild.example", "wild.example"),
        ("wild.example\u3002", "wild.example"),
        ("https://url.example/", "url.example"),
        ("HTTPS://URL.Example", "url.example"),
        ("http://url.example/@ada/1?page=2#reply", "url.example"),
        ("//url.example/about", "url.example"),
        ("url.example/about", "url.example"),
        ("https://url.example:443/", "url.example"),
        ("url.example:8443", "url.example:8443"),
        ("https://url.example.:8443/", "url.example:8443"),
        ("@name@handle.example", "handle.example"),
        ("name@handle.example", "handle.example"),
        ("acct:name@handle.example", "handle.example"),
        ("@handle.example", "handle.example"),
        ("https://name@handle.example/", "handle.example"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("*.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        ("\u202aa.example\u202c", "a.example"),
        ("\u2068@ada@a.example\u2069 ", "a.example"),
    ],
)
def test_a_pasted_domain_is_found(written: str, domain: str) -> None:
    assert pasted_domain(written) == domain


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "*", "*.", "example", "localhost", "two words.example", "a.example b.example", "a.example,b.example",
        "*.*.example", "wild.*", "*wild*.example", "ftp://a.example", "javascript:alert(1)", "https://", "https:///a",
        "@", "@@a.example", "a@b@c.example", "name@*.example", "name@.example", "a..example", "-a.example",
        "a.example:port", "[::1]", "<a.example>", "# spam", f"{'a' * 64}.example", "a." * 130 + "example",
        "https://a.example/" + "x" * 3000,
    ],
)  # fmt: skip
def test_nonsense_is_no_domain(written: str) -> None:
    assert pasted_domain(written) is None
