"""What counts as a link, a mention and a hashtag (contract 15), and that finding them takes linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.rules.scan import Scan, ascii_domain, tag_name
from troupe.actors.rules.text import content_type, render, scan, tidy, without_local_domain


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("https://example.com", ["https://example.com"]),
        ("HTTP://Example.com/", ["HTTP://Example.com/"]),
        ("example.com www.example.com ftp://example.com mailto:a@example.com javascript://example.com", []),
        (
            "gemini://example.com/a.gmi, gopher://example.com:70/1/a ipfs://bafy123/a (ipns://example.com)",
            [
                "gemini://example.com/a.gmi",
                "gopher://example.com:70/1/a",
                "ipfs://bafy123/a",
                "ipns://example.com",
            ],
        ),
        (
            "(xmpp:ada@example.com?join) XMPP:ada.l+b@b\u00fccher.example/phone!",
            [
                "xmpp:ada@example.com?join",
                "XMPP:ada.l+b@b\u00fccher.example/phone",
            ],
        ),
        ("magnet:?xt=urn:btih:c1&dn=a+b&tr=udp%3A%2F%2Fa.", ["magnet:?xt=urn:btih:c1&dn=a+b&tr=udp%3A%2F%2Fa"]),
        ("xmpp:ada xmpp:example.com xmpp:a@b@c.example xmpp:a@-b magnet: magnet:?x magnet:a gemini:x ssh://a", []),
        ("see https://example.com/a.", ["https://example.com/a"]),
        ("(https://example.com/a)", ["https://example.com/a"]),
        ("https://example.com/Trio_(band)", ["https://example.com/Trio_(band)"]),
        ("(https://example.com/Trio_(band))!", ["https://example.com/Trio_(band)"]),
        ('"https://example.com/?q=a&b=c#d"', ["https://example.com/?q=a&b=c#d"]),
        ("<https://example.com/a>", ["https://example.com/a"]),
        ("https://example.com?", ["https://example.com"]),
        ("https://example.com/@alice/1#trio", ["https://example.com/@alice/1#trio"]),
        ("https://nic.\u307f\u3093\u306a/\u3042", ["https://nic.\u307f\u3093\u306a/\u3042"]),
        ("https://example.com\u3067\u3059", ["https://example.com"]),
        ("https://example.com/a\u3002", ["https://example.com/a"]),
        ("\u898b\u3066https://example.com", ["https://example.com"]),
        ("http://localhost:3000/x http://127.0.0.1:80 http://[::1]:3000/", None),
        (
            "http://1.2.3.999 http://a.\U0001d7d0 http://a.\U0001dfd0 http://[::g] http://a:99999/ http:// http://.a http://-a",
            [],
        ),
        ("xhttp://example.com @http://example.com", []),
        # Browsers open hosts with emoji and other symbols, but not with joiners.
        ("https://i\u2764.ws/a https://\U0001f355\U0001f4a9.ws http://\u2191\u2191\u2193\u2190ba.tk/", None),
        ("https://i\u2764\ufe0f.ws https://xn--ls8h.la/ https://\u2603.b\u00fccher.example/", None),
        ("https://\U0001f3f3\ufe0f\u200d\U0001f308.example https://\u2764 https://xn--\u2764.example", []),
        ("https://xn--02G https://xn---00C https://\u05d0\u2603.example https://\u20e3\u2603.example", []),
        ("https://example.com\u2764 https://example.com\u2764.", ["https://example.com"] * 2),
        ("https://" + "\u2603" * 70 + ".example https://" + "\u2603." * 20_000 + "example", []),
        ("https://user@example.com https://guest:secret@example.com/ https://guest:@example.com", []),
        ("https://bank.example:443@evil.example/@alice https://b\u00e9a@example.com https://\u307f@example.com", []),
        ("https://bank.example,x@evil.example https://foo:bar@example.com/foobar", []),
        ("see \u201ehttps://example.com/a\u201c.", ["https://example.com/a"]),
        (
            "\u00abhttps://example.com/a\u00bb, \u00bbhttps://example.com/b\u00ab",
            ["https://example.com/a", "https://example.com/b"],
        ),
        (
            "\u2018https://example.com/a\u2019. \u201ahttps://example.com/b\u2018",
            ["https://example.com/a", "https://example.com/b"],
        ),
        (
            "\u201chttps://example.com/a\u201d\u2014b \u27e8https://example.com/b\u27e9x",
            ["https://example.com/a", "https://example.com/b"],
        ),
        (
            "https://ru.wikipedia.org/wiki/\u00ab\u0410\u00bb. https://de.wikipedia.org/wiki/\u201eA\u201c",
            ["https://ru.wikipedia.org/wiki/\u00ab\u0410\u00bb", "https://de.wikipedia.org/wiki/\u201eA\u201c"],
        ),
        (
            "https://fr.wikipedia.org/wiki/L\u2019\u00c9quipe\u2019",
            ["https://fr.wikipedia.org/wiki/L\u2019\u00c9quipe"],
        ),
        ("https://www.gallerieswest.ca/manitoba\u2019s-m\u00e9tis-history/", None),
        ("https://example.com/?a[]=1&b={x}", None),
        ("https://developer.android.com/os/UserManager#isUserAGoat() https://coolguy.website/background().html", None),
        ("https://en.wikipedia.org/wiki/The_Lord_of_the_Rings_ http://address.io/@something", None),
        ("(see http://example.com/foo()). (See http://example.com/foo().)", ["http://example.com/foo()"] * 2),
        (
            "<http://www.umass.edu/rso/scifi/>'s https://foo_bar_baz's",
            ["http://www.umass.edu/rso/scifi/", "https://foo_bar_baz"],
        ),
        ("[https://github.com/]\u3002 {https://github.com/} (https://github.com/)\uff0c", ["https://github.com/"] * 3),
        ("https://example.com/a\u202egpj.exe", ["https://example.com/a"]),
        ("https://example.com/" + "a" * 2048, []),
    ],
)
def test_links(text: str, urls: list[str] | None) -> None:
    assert [link.url for link in scan(text).links] == (text.split() if urls is None else urls)


# Of Urdu, Arabic, Hindi, Armenian, Amharic, Khmer, Tibetan, Chinese and Japanese; and the ellipsis and double marks.
SENTENCE_MARKS = (
    "\u06d4\u060c\u061f\u061b\u0964\u0965\u0589\u1362\u1367\u17d4\u0f0d\uff0e\uff61\u3001\u2026\u203c\u2049"
)


@pytest.mark.parametrize("mark", SENTENCE_MARKS)
def test_a_sentence_of_any_script_ends_after_an_address_a_handle_and_a_tag(mark: str) -> None:
    found = scan(
        f"https://example.com/a{mark} https://example.com{mark}{mark} @alice{mark} @bob@example.com{mark} #tag{mark}"
    )
    assert [link.url for link in found.links] == ["https://example.com/a", "https://example.com"]
    assert found.handles("t.example") == ("alice", "bob@example.com")
    assert found.tags() == ("tag",)


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("@alice", [("alice", None)]),
        ("@Alice@Example.COM", [("Alice", "example.com")]),
        ("(@alice), .@bob: @carol!", [("alice", None), ("bob", None), ("carol", None)]),
        ("alice@example.com 1@bob _@bob =@bob /@bob \u00e9@bob", []),
        ("https://example.com/@alice", []),
        ("@a.b-c_d. @a- @-a @.a", [("a.b-c_d", None), ("a", None)]),
        ("@alice@example.com.", [("alice", "example.com")]),
        ("@alice@ @alice@example.com@ @alice:// @alice@example.com://", []),
        ("@jos\u00e9 @alice\u3055\u3093", [("alice", None)]),
        ("@alice@localhost:3000 @bob@example.com:8 @bob@example.com: hi", None),
        ("@alice@\u307f\u3093\u306a.example", [("alice", "xn--q9jyb4c.example")]),
        ("@alice@\u2603\u2603.example @alice@xn--\u00e9.example", []),
        ("@@alice", [("alice", None)]),
        ("@alice@bob @alice", [("alice", "bob"), ("alice", None)]),
        # A sentence goes on right after the handle.
        (
            "@alice@example.com\u3055\u3093 @bob@t.\u307f\u3093\u306aabc",
            [("alice", "example.com"), ("bob", "t.xn--q9jyb4c")],
        ),
        ("@\u7528\u6237@weibo.com", []),
    ],
)
def test_mentions(text: str, mentions: list[tuple[str, str | None]] | None) -> None:
    if mentions is None:
        mentions = [("alice", "localhost:3000"), ("bob", "example.com"), ("bob", "example.com")]
    assert [(mention.name, mention.domain) for mention in scan(text).mentions] == mentions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#Trio", ["trio"]),
        ("a #b\n#c\t#d\u3000#e", ["b", "c", "d", "e"]),
        ("\uff03\u97f3\u697d", ["\u97f3\u697d"]),
        ("a#b /#b ##b @#b &#39; &#b color=#fff $#b", []),
        # Signs, brackets and quotation marks may stand right before.
        ('(#b) "#c" \u201e#d\u201c [#e] -#f ,#g .#h !#i \u200b#j \u3002#k', list("bcdefghijk")),
        ("(#a/#b/#c) #d,#e;#f", list("abcdef")),
        ("[1](#a) (a)#b example.com/#c example.com/d#e", []),
        ("https://a:b@example.com/x-#c https://-a.example/-#c", []),
        # An emoji that begins with `#` is none, nor is what makes an emoji of a digit a part of a name.
        ("#\ufe0f\u20e3one #3\ufe0f\u20e3 #a\u200d #b\ufe0f", ["a", "b"]),
        ("#1 #2024 #\u0661 #1a #2024_25", ["1a", "2024_25"]),
        ("#a\u00b7b #a\u30fbb #a\u200cb", ["a\u00b7b", "a\u30fbb", "a\u200cb"]),
        ("#a\u00b7 #\u00b7a", ["a"]),
        ("#a-b #a.b #a's", ["a", "a", "a"]),
        ("#_ #___", []),
        ("#\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("#\uff34rio", ["trio"]),
        ("#\u0130stanbul #I\u0307stanbul #ISTANBUL", ["istanbul"] * 3),
        (
            "#Catal\u00e0 #Catala\u0300 #BL\u00c5HAJ #\u0141\u00f3d\u017a #\u010c\u0107",
            ["catala", "catala", "blahaj", "lodz", "cc"],
        ),
        (
            "#STRASSE #Stra\u00dfe #S\u00f8rensen #\u01feRE #Vi\u1ec7t",
            ["strasse", "strasse", "sorensen", "ore", "viet"],
        ),
        (
            "#\uff53\uff59\uff4e\uff54\uff48 #\uff7d\uff8e\uff9f\uff81\uff8a\uff72",
            ["synth", "\u30b9\u30dd\u30c1\u30cf\u30a4"],
        ),
        ("#col\u00b7lecci\u00f3 #F\u00e4hre #zapathon\u2026 #l\u2019a", ["col\u00b7leccio", "fahre", "zapathon", "l"]),
        ("#\u0e40\u0e1a\u0e2d\u0e23\u0e4c", ["\u0e40\u0e1a\u0e2d\u0e23\u0e4c"]),
        # In other scripts these are letters of their own, or another word.
        (
            "#\u0439\u0451 #\u0391\u03b8\u03ae\u03bd\u03b1 #\u30ac",
            ["\u0439\u0451", "\u03b1\u03b8\u03ae\u03bd\u03b1", "\u30ac"],
        ),
        ("#" + "a" * 256, []),
        ("#" + "\ufdfa" * 200, []),
    ],
)
def test_hashtags(text: str, names: list[str]) -> None:
    assert [hashtag.name for hashtag in scan(text).hashtags] == names


def test_handles_and_tags_are_named_once() -> None:
    found = scan("@Alice @alice@t.example @bob@remote.example #Trio #trio", "text/plain")
    assert found.handles("T.example") == ("alice", "bob@remote.example")
    assert found.tags() == ("trio",)


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("text/markdown", "**@alice** `@bob` [@carol](https://c.example) #a\n\n    @dave\n"),
        (
            "text/html",
            "<b>@alice</b> <code>@bob</code> <a href='https://c.example'>@carol</a> #a<script>@dave</script>",
        ),
    ],
)
def test_code_and_the_text_of_links_mention_no_account(content_type: str, text: str) -> None:
    found = scan(text, content_type)  # pyright: ignore[reportArgumentType] parametrize knows no literals
    assert found.handles("t.example") == ("alice",)
    assert found.tags() == ("a",)


def test_what_stands_before_an_element_counts() -> None:
    assert scan("a<b>#b</b> <i>#c</i><br>#d<p>#e", "text/html").tags() == ("c", "d", "e")
    assert scan("a<b>@b</b>", "text/html") == Scan(())


def test_the_local_domain_is_cut_off_and_nothing_else() -> None:
    text = "Hi @Alice@t.example and @bob@remote.example, mail me@t.example *or* https://t.example/@alice@t.example"
    assert without_local_domain(text, "T.example") == text.replace("@Alice@t.example", "@Alice", 1)


def test_an_unknown_content_type_is_plain_text() -> None:
    assert [content_type(asked) for asked in ("text/markdown", "text/html", "text/bbcode", "", None)] == [
        "text/markdown", "text/html", "text/plain", "text/plain", "text/plain",
    ]  # fmt: skip


def test_tidy_keeps_lines_and_drops_what_cannot_be_stored() -> None:
    assert tidy("\ufeffa\r\nb\rc\n\td\x00\x07\x1b\x9b\ud800") == "a\nb\nc\n\td\ufffd"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_a_line_may_end_with_any_line_end_of_unicode(end: str) -> None:
    assert tidy(f"a{end}b{end}{end}c") == "a\nb\n\nc"


def test_a_domain_is_what_servers_call_it() -> None:
    assert ascii_domain("B\u00dccher.Example") == "xn--bcher-kva.example"
    assert ascii_domain("Example.com") == "example.com"
    assert ascii_domain("xn--\u00fc.example") is None
    assert ascii_domain("a" * 254) is None


@given(st.text())
def test_a_tag_name_is_its_own_tag_name(written: str) -> None:
    name = tag_name(written)
    assert tag_name(name) == name
    assert not any(sign.isspace() or sign in '<>"&#' for sign in name)
    for hashtag in scan(f"#{written}").hashtags:
        assert hashtag.name == tag_name(hashtag.text)
        assert hashtag.name


@given(st.text(alphabet="aA1@#\uff03_.-:/ \n\u00b7\u00e9\u3042()htps=") | st.text(st.characters(codec=None)))
def test_entities_are_in_order_and_where_they_say(text: str) -> None:
    text = tidy(text)
    done = 0
    for entity in scan(text).entities:
        assert done <= entity.start < entity.end <= len(text)
        assert not any(sign.isspace() for sign in text[entity.start : entity.end])
        done = entity.end


HOSTILE = [
    "a", "@", "#", "h", " ", "\n", "\n ", "&", "<", "\ud800", "@a", " @a", "=@a", "@a@", " #a", "#1 ", "#a\u00b7",
    "a\u00b7", "@a@b-", "@a.", "http://", "http://a", "http://a.b/", "http://a.b/ ", "http://a.", "http://a.b/(",
    "http://a.b/)", "http://a.b/.", "http://\u00e9.\u00e9 ", "http://xn--a ", "@a@\u00e9 ", "#\ufdfa ", "\U0001f1e6",
    "\U0001f468\u200d",
    "http://a.b/\u201e", "http://a.b/\u00ab\u00bb", "http://a,", "\u06d4", "http://\u2764.\u2764 ", "http://\u2764.a ",
    "@a@b\u3042",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", "#", "@a@", "http://", "http://a.b/"])
def test_a_hundred_kilobytes_of_anything_take_linear_time(head: str, unit: str) -> None:
    # The slowest takes some 100 ms on one busy core; anything quadratic takes many seconds.
    text = head + unit * (100_000 // len(unit))
    start = time.process_time()
    scan(text)
    render(text, mentions={}, tag_url=str, local_domain="t.example")
    assert time.process_time() - start < 1
