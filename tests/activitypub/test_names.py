"""One reader of this server's own addresses, in every spelling in which people and servers write them."""

import pytest

from troupe.actors.activitypub.names import LocalAccountName, LocalNames, LocalStatusName, OwnName, ServerActorName

NAMES = LocalNames("https://home.test")
ADA = LocalAccountName("ada")
STATUS = LocalStatusName(ADA, 103)
EVE = LocalAccountName("eve", "peer.test")


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("https://home.test/users/ada", ADA),
        ("https://home.test/@ada", ADA),
        ("https://home.test/@ada/", ADA),
        ("  https://home.test/@ada\n", ADA),
        ("http://home.test/@ada", ADA),
        ("http://home.test:80/@ada", ADA),
        ("https://home.test:443/@ada", ADA),
        ("HTTPS://HOME.test/@ada", ADA),
        ("https://home.test./@ada", ADA),
        ("https://home.test/%40ada", ADA),
        ("https://home.test/web/@ada", ADA),
        ("https://home.test/deck/@ada", ADA),
        ("https://home.test/@ada/media", ADA),
        ("https://home.test/@ada/with_replies?max_id=3", ADA),
        ("https://home.test/@ada/featured", ADA),
        ("https://home.test/@ada/followers", ADA),
        ("https://home.test/@ada@home.test/following", ADA),
        ("https://home.test/@ada@home.test", ADA),
        ("https://home.test/@ADA", LocalAccountName("ADA")),
        ("https://home.test/users/ada#main-key", ADA),
        ("https://home.test/@eve@Peer.test", EVE),
        ("https://home.test/users/ada.json", ADA),
        ("https://home.test/@ada.json", ADA),
        ("https://home.test/@ada/103", STATUS),
        ("https://home.test/@ada/103.json", STATUS),
        ("https://home.test/users/ada/statuses/103.json", STATUS),
        ("https://home.test/users/ada/statuses/103/activity", LocalStatusName(ADA, 103, by_activity=True)),
        ("https://home.test/users/ada/statuses/103", STATUS),
        ("https://home.test/users/ada/statuses/103/", STATUS),
        ("https://home.test/@ada/103?utm_source=mail", STATUS),
        ("https://home.test/@ada/103#reply", STATUS),
        ("https://home.test/@ada/103/embed", STATUS),
        ("https://home.test/@ada/103/favourites", STATUS),
        ("https://home.test/@ada/103/quotes", STATUS),
        ("https://home.test/@ada@home.test/103/reblogs", STATUS),
        ("https://home.test/%40ada/103", STATUS),
        ("https://home.test/web/@ada/103", STATUS),
        ("https://home.test/web/statuses/103", LocalStatusName(None, 103)),
        ("https://home.test/statuses/103", LocalStatusName(None, 103)),
        ("https://home.test/@eve@peer.test/103", LocalStatusName(EVE, 103)),
        ("https://home.test/authorize_interaction?uri=https%3A%2F%2Fhome.test%2F%40ada%2F103", STATUS),
        ("https://home.test/actor", ServerActorName()),
    ],
)
def test_every_spelling_of_an_own_address_is_read(address: str, named: OwnName) -> None:
    assert NAMES.read(address) == named


@pytest.mark.parametrize(
    "address",
    [
        "https://home.test",
        "https://home.test/",
        "https://home.test/@",
        "https://home.test/tags/ada",
        "https://home.test/users/ada/followers",
        "https://home.test/users/ada#follows/12",
        "https://home.test/users/ada/statuses/103/activity/x",
        "https://home.test/users/ada/statuses/103/replies",
        "https://home.test/users/ada.xml",
        "https://home.test/@ada//",
        "https://home.test/%252540ada",
        "https://home.test/@ada%2F103",
        "https://home.test/@eve@peer%00.test",
        "https://home.test/authorize_interaction?uri=https://home.test/@eve@peer%2500.test",
        f"https://home.test/@ada/{2**63}",
        "https://home.test/@ada/\u0661\u0660\u0663",
        "https://home.test:8443/@ada",
        "https://ada@home.test/@ada",
        "https://home.test.evil.example/@ada",
        "https://evil.example/home.test/@ada",
        "https://evil.example/?https://home.test/@ada",
        "https://home.test\\@evil.example/@ada",
        "ftp://home.test/@ada",
        "//home.test/@ada",
        "/@ada",
        "home.test/@ada",
        "https://[home.test/@ada",
        "https://home.test:x/@ada",
        "https://home.test/authorize_interaction?uri=https://home.test/authorize_interaction?uri=x",
        "https://home.test/authorize_interaction?" + "a=1&" * 400 + "uri=https://home.test/@ada",
        "https://home.test/@ada?" + "a" * 4096,
        "",
    ],
)
def test_other_addresses_are_not_read(address: str) -> None:
    assert NAMES.read(address) is None


def test_the_host_may_be_written_in_its_own_letters() -> None:
    names = LocalNames("https://xn--mnchen-3ya.example")
    assert names.read("https://M\u00dcNCHEN.example/@ada") == ADA
    assert names.read("https://xn--mnchen-3ya.example/@ada") == ADA
    assert names.read("https://munchen.example/@ada") is None
