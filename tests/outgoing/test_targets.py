"""URLs: what the server may connect to, as far as the URL alone can tell."""

from functools import partial

import pytest

from troupe.actors.outgoing.messages import ForbiddenTarget
from troupe.actors.outgoing.targets import redirected, target_of

READ = [
    ("https://push.example.org/a/b?c=d", "https://push.example.org/a/b?c=d"),
    ("https://push.example.org", "https://push.example.org/"),
    ("https://push.example.org:443/a", "https://push.example.org/a"),
    ("HTTPS://Push.Example.ORG./a", "https://push.example.org/a"),
    ("https://push.example.org/a#fragment", "https://push.example.org/a"),
    ("https://bücher.example/ü?ö=ä", "https://xn--bcher-kva.example/%C3%BC?%C3%B6=%C3%A4"),
    ("https://push.example.org/%C3%BC%20", "https://push.example.org/%C3%BC%20"),
    ("https://1.1.1.1/", "https://1.1.1.1/"),
    ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
    ("https://[2606:4700:4700:0:0:0:0:1111]/", "https://[2606:4700:4700::1111]/"),
    ("https://_srv.under_score.example/", "https://_srv.under_score.example/"),
]

FORBIDDEN = [
    "",
    "push.example.org",
    "//push.example.org/",
    "http://push.example.org/",
    "ftp://push.example.org/",
    "file:///etc/passwd",
    "gopher://push.example.org/",
    "javascript:alert(1)",
    "https:///path",
    "https://",
    "https://.",
    "https://a..example/",
    "https://-a.example/",
    "https://" + "a" * 64 + ".example/",
    "https://" + "a." * 127 + "example/",
    "https://push.example.org:80/",
    "https://push.example.org:8443/",
    "https://push.example.org:0/",
    "https://push.example.org:65536/",
    "https://push.example.org:http/",
    "https://user@push.example.org/",
    "https://user:password@push.example.org/",
    "https://@push.example.org/",
    "https://push.example.org@127.0.0.1/",
    "https://push.example.org\\@127.0.0.1/",
    "https://push.example.org /",
    "https://push.example.org/a b",
    "https://push.example.org/\r\nHost: inside",
    "https://push.example.org/\x00",
    "https://push.\nexample.org/",
    "https://push.example.org/\u2028",
    "https://push%2eexample.org/",
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://0/",
    "https://2130706433/",  # 127.0.0.1 in decimal
    "https://017700000001/",  # in octal
    "https://0177.0.0.1/",
    "https://0x7f000001/",  # in hexadecimal
    "https://0x7f.0.0.1/",
    "https://0X7F.1/",
    "https://0x/",
    "https://127.0.0.0x1/",
    "https://1.1.1.01/",  # public, and read in two ways
    "https://134744072/",  # 8.8.8.8, in an unusual spelling
    "https://①②⑦.⓪.⓪.①/",
    "https://example.0x7f/",
    "https://a.b.c.d.1/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[fe80::1%25eth0]/",
    "https://[v1.fe]/",
    "https://[::1/",
    "https://[push.example.org]/",
    "https://push.example.org/" + "a" * 2048,
]


@pytest.mark.parametrize(("url", "read"), READ)
def test_a_url_is_read_in_one_way(url: str, read: str) -> None:
    assert target_of(url).url == read


@pytest.mark.parametrize("url", FORBIDDEN)
def test_a_url_that_leads_elsewhere_is_forbidden(url: str) -> None:
    with pytest.raises(ForbiddenTarget):
        target_of(url)


def test_a_test_host_may_have_plain_http_and_a_port_and_nothing_else() -> None:
    assert target_of("http://peer.test:8080/a", ["peer.test"]).authority == "peer.test:8080"
    assert target_of("http://peer.test/a", ["peer.test"]).authority == "peer.test"
    for url in ("ftp://peer.test/", "https://user@peer.test/", "http://a.peer.test/", "http://127.0.0.1:8080/"):
        with pytest.raises(ForbiddenTarget):
            target_of(url, ["peer.test"])


@pytest.mark.parametrize(
    "location",
    ["http://push.example.org/", "https://127.0.0.1/", "//127.0.0.1/", "https://u@b.example/", "file:///a", "//x:81/"],
)
def test_a_redirect_is_read_by_the_same_rules(location: str) -> None:
    with pytest.raises(ForbiddenTarget):
        redirected(target_of("https://push.example.org/a/b"), location)


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("c", "https://push.example.org/a/c"),
        ("/c?d", "https://push.example.org/c?d"),
        ("//other.example/c", "https://other.example/c"),
        ("https://other.example", "https://other.example/"),
    ],
)
def test_a_redirect_may_be_relative(location: str, leads_to: str) -> None:
    assert redirected(target_of("https://push.example.org/a/b"), location).url == leads_to


def test_a_redirect_from_a_test_host_by_number_is_forbidden() -> None:
    read = partial(target_of, test_hosts=["peer.test"])
    with pytest.raises(ForbiddenTarget):
        redirected(read("http://peer.test:8080/"), "http://127.0.0.1:8080/", read)


def test_free_ports_are_for_requests_that_ask_for_them() -> None:
    url = "https://push.example.org:8443/a"
    assert target_of(url, free_ports=True).url == url
    for port in (25, 80, 1023):
        with pytest.raises(ForbiddenTarget):
            target_of(f"https://push.example.org:{port}/", free_ports=True)
    with pytest.raises(ForbiddenTarget):
        target_of("https://127.0.0.1:8443/", free_ports=True)
