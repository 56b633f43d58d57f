"""The HTML that becomes of a text (contract 1 and 15)."""

# ruff: noqa: RUF001 - punctuation of other scripts is what is tested

import pytest

from troupe.actors.rules.markup import plain_if_html
from troupe.actors.rules.text import (
    ContentType,
    MentionTarget,
    plain,
    render,
    render_field_value,
    render_note,
    sanitise,
    scan,
)

MENTIONS = {
    "alice": MentionTarget("alice", None, "https://t.example/@alice"),
    "bob@remote.example": MentionTarget("bob", "remote.example", "https://remote.example/@bob?a=1&b=2"),
    "mallory@remote.example": MentionTarget("mallory", "remote.example", "javascript:alert(1)"),
}
ALICE = (
    '<span class="h-card" translate="no">'
    '<a href="https://t.example/@alice" class="u-url mention">@<span>alice</span></a></span>'
)
TO_B = '<a href="https://b.example/" target="_blank" rel="nofollow noopener noreferrer">'
LINK_B = (
    '<a href="https://b.example/" target="_blank" rel="nofollow noopener noreferrer" translate="no">'
    '<span class="invisible">https://</span><span>b.example/</span><span class="invisible"></span></a>'
)
LINK_ATTRIBUTES = 'target="_blank" rel="nofollow noopener noreferrer" translate="no"'


def tag_url(name: str) -> str:
    return f"https://t.example/tags/{name}"


def html(text: str, content_type: ContentType = "text/plain") -> str:
    return render(text, mentions=MENTIONS, tag_url=tag_url, local_domain="t.example", content_type=content_type)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("hello", "<p>hello</p>"),
        ("a\nb", "<p>a<br>b</p>"),
        ("a\n\nb\n\n\n \nc", "<p>a</p><p>b</p><p>c</p>"),
        ("\na\r\nb\r\r", "<p>a<br>b</p>"),
        ("<b>&amp; \"quoted\" 'too'", "<p>&lt;b&gt;&amp;amp; \"quoted\" 'too'</p>"),
        (":blobcat:", "<p>:blobcat:</p>"),
        ("a\xa0b", "<p>a&nbsp;b</p>"),
    ],
)
def test_plain_text(text: str, expected: str) -> None:
    assert html(text) == expected


def test_a_short_link_is_shown_without_its_scheme() -> None:
    assert html("https://example.com/a&b") == (
        f'<p><a href="https://example.com/a&amp;b" {LINK_ATTRIBUTES}><span class="invisible">https://</span>'
        '<span>example.com/a&amp;b</span><span class="invisible"></span></a></p>'
    )


def test_thirty_characters_of_a_long_link_are_shown() -> None:
    assert html("https://www.example.com/aaaaaaaaaaaaaaaaaabbb") == (
        f'<p><a href="https://www.example.com/aaaaaaaaaaaaaaaaaabbb" {LINK_ATTRIBUTES}>'
        '<span class="invisible">https://www.</span><span class="ellipsis">example.com/aaaaaaaaaaaaaaaaaa</span>'
        '<span class="invisible">bbb</span></a></p>'
    )


def test_links_of_other_schemes_show_what_they_are() -> None:
    for text, hidden, shown in (
        ("gemini://www.example.com/", "", "gemini://www.example.com/"),
        ("magnet:?xt=urn:btih:c1&dn=a", "", "magnet:?xt=urn:btih:c1&amp;dn=a"),
        ("xmpp:ada@example.com", "xmpp:", "ada@example.com"),
    ):
        link = (
            f'<p><a href="{hidden}{shown}" {LINK_ATTRIBUTES}><span class="invisible">{hidden}</span>'
            f'<span>{shown}</span><span class="invisible"></span></a></p>'
        )
        assert html(text) == link
        assert html(text, "text/markdown") == link


def test_mentions_lead_to_profiles() -> None:
    assert html("@Alice, @alice@t.example") == f"<p>{ALICE}, {ALICE}</p>"
    assert 'href="https://remote.example/@bob?a=1&amp;b=2"' in html("@bob@Remote.example")
    assert "@<span>bob</span>" in html("@bob@remote.example")


def test_who_is_not_known_stays_text() -> None:
    assert html("@nobody @alice@elsewhere.example") == "<p>@nobody @alice@elsewhere.example</p>"


def test_an_account_whose_address_is_no_web_address_stays_text() -> None:
    assert html("@mallory@remote.example") == "<p>@mallory@remote.example</p>"


def test_hashtags_are_shown_as_written_and_lead_to_their_name() -> None:
    assert (
        html("#Trio")
        == '<p><a href="https://t.example/tags/trio" class="mention hashtag" rel="tag">#<span>Trio</span></a></p>'
    )


def test_markdown() -> None:
    source = (
        "# Hi @alice\n\n**b** *i* ~~s~~ `@alice`\nnext <b>raw</b> ![x](https://i.example)\n\n"
        "- one\n- two\n\n> q\n\n```\na\n\nb\n```"
    )
    assert html(source, "text/markdown") == (
        f"<p><strong>Hi {ALICE}</strong></p>"
        "<p><strong>b</strong> <em>i</em> <s>s</s> <code>@alice</code><br>next &lt;b&gt;raw&lt;/b&gt; "
        '<a href="https://i.example" target="_blank" rel="nofollow noopener noreferrer">x</a></p>'
        "<ul><li>one</li><li>two</li></ul><blockquote><p>q</p></blockquote><pre><code>a\n\nb\n</code></pre>"
    )


@pytest.mark.parametrize(
    ("source", "links", "handles", "tags"),
    [
        ("https://git.example.com/src/__init__.py", ["https://git.example.com/src/__init__.py"], (), ()),
        ("https://example.com/_x_/~~y~~/**z**/a.", ["https://example.com/_x_/~~y~~/**z**/a"], (), ()),
        ("http://www.google.de/a_nice_link/_x_/b", ["http://www.google.de/a_nice_link/_x_/b"], (), ()),
        ("@_xhr_ hello @_user_@framasphere.org", [], ("_xhr_", "_user_@framasphere.org"), ()),
        ("#a_b_c #_x_y and #__init__", [], (), ("a_b_c", "_x_y", "__init__")),
        ("- @_xhr_\n- https://example.com/_a_/b", ["https://example.com/_a_/b"], ("_xhr_",), ()),
        ("> **@_xhr_** #_a_b", [], ("_xhr_",), ("_a_b",)),
        ("_ask @alice_ *https://example.com/a* **#b**", ["https://example.com/a"], ("alice",), ("b",)),
        ("`https://example.com/_a_/ @_xhr_ #_a_` #b", [], (), ("b",)),
        ("    @_xhr_ #_a_b", [], (), ()),
        ("[see https://example.com/_a_/b @_xhr_](https://b.example/_c_/)", [], (), ()),
        ("https://example.com/?a=1&copy;=2", ["https://example.com/?a=1&copy;=2"], (), ()),
    ],
)
def test_markdown_leaves_what_the_scanner_finds(
    source: str, links: list[str], handles: tuple[str, ...], tags: tuple[str, ...]
) -> None:
    found = scan(source, "text/markdown")
    assert [link.url for link in found.links] == links
    assert found.handles("t.example") == handles
    assert found.tags() == tags


def test_markdown_around_addresses_and_emoji_stays() -> None:
    assert html(":_x_: *:blob_cat:*", "text/markdown") == "<p>:_x_: <em>:blob_cat:</em></p>"
    assert html("[see https://example.com/_a_/b](https://b.example/_c_/)", "text/markdown") == (
        '<p><a href="https://b.example/_c_/" target="_blank" rel="nofollow noopener noreferrer">'
        "see https://example.com/_a_/b</a></p>"
    )
    assert "<strong><a" in html("**https://example.com/a_b_**", "text/markdown")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("**真，**她 **「強調」**です", "<strong>真，</strong>她 <strong>「強調」</strong>です"),
        ("1. 한국어**(강조)**를", "<ol><li>한국어<strong>(강조)</strong>를</li></ol>"),
        ("中*“文”*中 ~~删除的文字（带括号）。~~这个", "中<em>“文”</em>中 <s>删除的文字（带括号）。</s>这个"),
        ("* **具体：**与其说“一棵树”", "<ul><li><strong>具体：</strong>与其说“一棵树”</li></ul>"),
        ("**Note:**text 2 ** 3 ** 4 真 ** 她", "**Note:**text 2 ** 3 ** 4 真 ** 她"),
        ("snake_case_中_文_中", "snake_case_中_文_中"),
    ],
)
def test_emphasis_needs_no_spaces_in_scripts_without_them(source: str, expected: str) -> None:
    assert html(source, "text/markdown") in (expected, f"<p>{expected}</p>")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[mail](mailto:a@b.example) [text](b.example) [up](/up)",
         "[mail](mailto:a@b.example) [text](b.example) [up](/up)"),
        ("<ada@b.example>", "&lt;ada@b.example&gt;"),
        ("[Update]: done\n\nso[^1]\n\n[^1]: it is", "[Update]: done</p><p>so[^1]</p><p>[^1]: it is"),
        ("[Source]: https://b.example/", f"[Source]: {LINK_B}"),
        ("[Source]: https://b.example/\n\nsee [source] and [it][SOURCE]",
         f"see {TO_B}source</a> and {TO_B}it</a>"),
        ("[](https://b.example/)", f"{TO_B}https://b.example/</a>"),
        ("[![built & well](https://c.example/a.svg)](https://b.example/)", f"{TO_B}built &amp; well</a>"),
        ("[a](https://b.example/) ![p](https://b.example/)", f"{TO_B}a</a> {TO_B}p</a>"),
        ("one\n\n---\n\ntwo\n* * *", "one</p><p>---</p><p>two</p><p>***"),
        ("#", "#"),
        (" -\n-", "-<br>-"),
        ("+\n\n> ", "+<br><br>&gt;"),
        ("&nbsp;", "&amp;nbsp;"),
    ],
)  # fmt: skip
def test_markdown_loses_nothing_that_was_written(source: str, expected: str) -> None:
    assert html(source, "text/markdown") == f"<p>{expected}</p>"


def test_markdown_has_escapes_for_mentions_and_hashtags() -> None:
    source = "\\@alice \\#trio x\\@alice [\\#trio](https://b.example/) `\\#` \\\\#trio *\\#a_b_*"
    assert scan(source, "text/markdown").handles("t.example") == ()
    assert scan(source, "text/markdown").tags() == ("trio",)
    assert plain(html(source, "text/markdown")) == "@alice #trio x@alice #trio \\# \\#trio #a_b_"
    assert "<em><span>#</span>a_b_</em>" in html(source, "text/markdown")


@pytest.mark.parametrize("scheme", ["javascript:", "JaVaScRiPt:", "data:text/html,", "vbscript:", "file:///", "//"])
def test_markdown_leads_nowhere_dangerous(scheme: str) -> None:
    assert "href" not in html(f"[x]({scheme}alert(1)) <{scheme}alert(1)>", "text/markdown")


def test_html() -> None:
    source = "<div><p onclick=x>hi\n @alice</p><h2>two</h2><script>alert(1)</script><img src=x onerror=y></div>"
    assert html(source, "text/html") == f"<p>hi {ALICE}</p><p><strong>two</strong></p>"


def test_too_much_markdown_is_plain_text() -> None:
    assert html("*a*" + " " * 10_000, "text/markdown").startswith("<p>*a*")
    assert scan("[@alice](https://a.example)" + " " * 10_000, "text/markdown").handles("t.example") == ("alice",)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ('<a href="https://a.example" rel="me" target="x" title="t" style="s">a</a>',
         '<a href="https://a.example" target="_blank" rel="nofollow noopener noreferrer">a</a>'),
        ('<a href="javascript:alert(1)">a</a><a>b</a><a href="/c">c</a>', "abc"),
        ('<a href="https://a.example" class="mention evil u-url">@<span>a</span></a>',
         '<a href="https://a.example" class="mention u-url">@<span>a</span></a>'),
        ('<a class="hashtag mention" href="https://a.example" rel="tag me">#a</a>',
         '<a href="https://a.example" class="hashtag mention" rel="tag">#a</a>'),
        ('#<a href="https://a.example" class="hashtag mention">a</a>'
         ' @<a href="https://b.example" class="mention">b</a>',
         '<a href="https://a.example" class="hashtag mention" rel="tag">#a</a>'
         ' <a href="https://b.example" class="mention">@b</a>'),
        ('@<span class="h-card"><a href="https://a.example" class="u-url mention">a</a></span>'
         ' #<span><a href="https://b.example" class="mention hashtag">#b</a></span>',
         '<span class="h-card"><a href="https://a.example" class="u-url mention">@a</a></span>'
         ' #<span><a href="https://b.example" class="mention hashtag" rel="tag">#b</a></span>'),
        ('#<a href="https://a.example" class="mention hashtag">a</a>'
         ' @<a href="https://b.example" class="mention u-url">b</a>',
         '<a href="https://a.example" class="mention hashtag" rel="tag">#a</a>'
         ' <a href="https://b.example" class="mention u-url">@b</a>'),
        ('##<a href="https://a.example" class="u-url mention"><span>#</span>a</a> #<a href="https://b.example">b</a>',
         '##<a href="https://a.example" class="u-url mention"><span>#</span>a</a>'
         f' #{TO_B.replace("e/", "e")}b</a>'),
        ('<span class="invisible x" style="a" translate="no">a</span><span class="x">b</span>',
         '<span class="invisible" translate="no">a</span><span>b</span>'),
        ('<span translate="yes">a</span>', "<span>a</span>"),
        ("<h1>a</h1><h6 id=1>b</h6>", "<p><strong>a</strong></p><p><strong>b</strong></p>"),
        ("<script>a</script><style>b</style><!-- c --><iframe src=x></iframe><svg onload=x>d</svg>e", "de"),
        ('<ol start="3" reversed><li value="4">a</li></ol>', '<ol start="3"><li value="4">a</li></ol>'),
        ("<pre>\n\n\na</pre>", "<pre>a</pre>"),
        ("<p><button><p>x", None),
        ("<a href=https://a.example><table><a href=https://b.example>z", None),
        ("<ruby>a<rp>(</rp><rt>b</rt></ruby>", "<ruby>a<rp>(</rp><rt>b</rt></ruby>"),
        ("a &lt;b&gt; &amp;amp; &#60;script&#62;", "a &lt;b&gt; &amp;amp; &lt;script&gt;"),
        ("a < b > c", "a &lt; b &gt; c"),
        ("\ud800\x00a", "\ufffda"),
    ],
)  # fmt: skip
def test_sanitise(given: str, expected: str | None) -> None:
    cleaned = sanitise(given)
    assert expected is None or cleaned == expected
    assert sanitise(cleaned) == cleaned


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("<div>one</div><div>two</div>", "one<br>two"),
        ("<DIV CLASS=x>one</DIV>\n<SECTION>two</SECTION>", "one<br>two"),
        ("<p>one<div>two</div>three</p>", "<p>one<br>two<br>three</p>"),
        ("<div><p>one</p></div><article><p>two</p></article>", "<p>one</p><p>two</p>"),
        ("<div>one<br></div><div>two</div>", "one<br>two"),
        ("<div>one</div><div><br></div><div>two</div>", "one<br><br>two"),
        ("<div>\n<span>Dear John,</span>\n</div>\n<div>\n<span>I hope</span></div>",
         "<span>Dear John,</span>\n<br><span>I hope</span>"),
        ("<div>one</div> <span>two</span><div>three <b>four</b></div>", "one<br><span>two</span><br>three <b>four</b>"),
        ("one<hr>two", "one<br>two"),
        ("<p>one</p><hr><p>two</p>", "<p>one</p><p>two</p>"),
        ("<h2>one</h2><div>two</div><p>three</p>", "<p><strong>one</strong></p>two<p>three</p>"),
        ("<table><caption>Ages</caption><thead><tr><th>Name</th><th>Age</th></tr></thead>"
         "<tbody><tr><td>Ann</td><td>5</td></tr><tr><td>Ben<td>7</table>after",
         "Ages<br>Name Age<br>Ann 5<br>Ben 7<br>after"),
        ("<dl><dt>tea</dt><dd>a drink</dd><dt>cake<dd>a food</dl>", "tea<br>a drink<br>cake<br>a food"),
        ("<figure><img src=x><figcaption>A cat</figcaption></figure>text", "A cat<br>text"),
        ("<details><summary>More</summary>all of it</details>", "More<br>all of it"),
        ("Ada<address>Tea Street</address>", "Ada<br>Tea Street"),
        ("<ul><li><div>a</div><div>b</div></li></ul>", "<ul><li>a<br>b</li></ul>"),
        ("<blockquote><div>a</div><div>b</div></blockquote><div>c</div>", "<blockquote>a<br>b</blockquote>c"),
        ("<pre><div>a</div><div>  b</div></pre>", "<pre>a<br>  b</pre>"),
        ('one<br class="line">two', "one<br>two"),
    ],
)  # fmt: skip
def test_block_elements_that_are_dropped_leave_a_break(given: str, expected: str) -> None:
    cleaned = sanitise(given)
    assert cleaned == expected
    assert sanitise(cleaned) == cleaned


def test_lines_stay_apart_where_only_the_text_is_left() -> None:
    assert sanitise("<div>a</div>" * 1_500 + "<td>b</td>" * 2).split() == ["a"] * 1_500 + ["b"] * 2


LETTERS = "<mrow><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>"
LATEX = '<annotation encoding="application/x-tex">x = \\frac{1}{2}</annotation>'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("<p>It is <strike>true</strike> false</p>", "<p>It is <s>true</s> false</p>"),
        ("<kbd>q</kbd> <SAMP>ok</SAMP> <tt>ls</tt>", "<code>q</code> <code>ok</code> <code>ls</code>"),
        ("<menu><li>tea</li></menu>", "<ul><li>tea</li></ul>"),
        ("<p>He said <q>no</q>.</p>", "<p>He said \u201cno\u201d.</p>"),
        ('<ul><li><input type="checkbox" checked="" disabled> done</li><li><input type=CheckBox> to do</li></ul>',
         "<ul><li>\u2611 done</li><li>\u2610 to do</li></ul>"),
        ('<input checked type="radio">a <input type="checkbox" data-checked="1">b', "a \u2610b"),
        ("10<sup>-6</sup> m, CO<sub>2</sub>, a<sup>1</sup>", "10\u207b\u2076 m, CO\u2082, a\xb9"),
        ("the 1<sup>st</sup> <sup>a<b>2</b></sup>", "the 1st a<b>2</b>"),
        ('posts<sup id="r1"><a href="#n1">1</a></sup>, tea<SUP><A HREF="/n">12</A></SUP>', "posts\xb9, tea\xb9\xb2"),
        ('posts<sup><a href="https://a.example/#n1">1</a></sup>',
         'posts<a href="https://a.example/#n1" target="_blank" rel="nofollow noopener noreferrer">\xb9</a>'),
        ("<xmp>a\n b</xmp>", "<pre>a\n b</pre>"),
        ('hi <img class="emoji" alt=":blob_cat:" src="https://a.example/b.png">', "hi :blob_cat:"),
        ("tea <img src=https://a.example/t.png alt=\U0001f375> time", "tea \U0001f375 time"),
        ('<img alt="\U0001f469\u200d\U0001f4bb" src="x">', "\U0001f469\u200d\U0001f4bb"),
        ('<img src="https://a.example/b.png" alt="a cat">', ""),
        ('<img alt=":&lt;script&gt;:" src="x"><img alt=":a:', ""),
        # What stands in place of a frame, or for readers without scripts, and the title of a page.
        ('<p>tea</p><iframe src="https://a.example">a film</iframe>', "<p>tea</p>"),
        ('tea<noscript><p>a <img src="x" alt="cat"></p></noscript><noembed>b</noembed> time', "tea time"),
        ("<html><head><title>Tea</title></head><body><p>Tea &amp; cake</p></body></html>", "<p>Tea &amp; cake</p>"),
        ("<template><p>tea</p></template>cake", "cake"),
    ],
)  # fmt: skip
def test_elements_that_clients_do_not_know_keep_their_meaning(given: str, expected: str) -> None:
    assert sanitise(given) == expected
    assert sanitise(expected) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Spiders<br>in tea", "Spiders\nin tea"),
        ("<p>Food &amp; drink</p>", "Food & drink"),
        ("Why <EM class=x>we</EM> write", "Why we write"),
        ("<script>alert(1)</script><b>tea</b>", "tea"),
        ("Tom &amp; Jerry&#8217;s &#x2615; &nbsp;", "Tom & Jerry\u2019s \u2615 \xa0"),
        # Plain text, whatever signs it has.
        ("I <3 cats & dogs -> <p", "I <3 cats & dogs -> <p"),
        ("how <p> and List<T> work, <T>x</T>", "how <p> and List<T> work, <T>x</T>"),
        ("?a=1&copy=2 &nonsense; &#99999999;", "?a=1&copy=2 &nonsense; &#99999999;"),
        ("", ""),
    ],
)
def test_titles_and_warnings_may_be_html(given: str, expected: str) -> None:
    assert plain_if_html(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (f"<p>so <math><semantics>{LETTERS}{LATEX}</semantics></math>.</p>", "<p>so $x = \\frac{1}{2}$.</p>"),
        (f'<math xmlns="x" display="block"><semantics>{LETTERS}{LATEX}</semantics></math>', "$$x = \\frac{1}{2}$$"),
        (f"<p>a<math display=block><semantics>{LETTERS}{LATEX}</semantics></math>b</p>",
         "<p>a<br>$$x = \\frac{1}{2}$$<br>b</p>"),
        (f"<MATH><semantics>{LETTERS}<annotation-xml><ci>q</ci></annotation-xml></semantics></MATH>", "x=1 2"),
        (f"<math><semantics>{LETTERS}<annotation encoding='text/plain'>half</annotation></semantics></math>", "half"),
        (f"<math>{LETTERS}<annotation>half</annotation>{LATEX}</math>", "$x = \\frac{1}{2}$"),
        (f'<math alttext="a &lt; &quot;b&quot;">{LETTERS}</math>', '$a &lt; "b"$'),
        ('<math><annotation encoding="application/x-tex">a &lt; b &amp; c</annotation></math>', "$a &lt; b &amp; c$"),
        ("<math><mi>a</mi></math> İ <math><mi>b</mi></math>", "a İ b"),
        ("<math><annotation encoding=TeX>&lt;script&gt;</annotation></math>", "$&lt;script&gt;$"),
        # Pictures of formulas, and formulas of KaTeX, which are there twice.
        ('So <img src="https://a.example/?latex=x" alt="a^2 &lt; b" class="latex" />.', "So $a^2 &lt; b$."),
        ("<img class='wp tex' alt='\\alpha'><img class=latex><img class='latex-free' alt='x'>", "$\\alpha$"),
        (f'<span class="katex"><span class="katex-mathml"><math>{LATEX}</math></span><span class="katex-html" '
         'aria-hidden="true"><span class="base"><span>x</span><br>=</span></span></span><p>so <span>it</span> is</p>',
         "<span><span>$x = \\frac{1}{2}$</span></span><p>so <span>it</span> is</p>"),
        ('<span class="katex-html"><span><p>x</p>', ""),
    ],
)  # fmt: skip
def test_formulas_become_latex(given: str, expected: str) -> None:
    cleaned = sanitise(given)
    assert cleaned == expected
    assert sanitise(cleaned) == cleaned


def test_the_line_that_stands_for_a_quote_keeps_its_class() -> None:
    given = '<p class="quote-inline evil">RE: x</p><p class="evil">y</p>'
    assert sanitise(given) == '<p class="quote-inline">RE: x</p><p>y</p>'


def test_too_many_tags_leave_the_text() -> None:
    assert sanitise("<p>a</p>" * 1_500).split() == ["a"] * 1_500
    assert sanitise(f"a<b {'x' * 5_000}>b") == "ab"
    assert len(sanitise("a" * 200_000)) == 131_072


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("<p>a<br>b</p><p>c &amp; d</p>", "a\nb\n\nc & d"),
        ("<ul><li>a</li><li>b</li></ul><p>c</p>", "a\nb\n\nc"),
        ("&lt;b&gt;&nbsp;", "<b>"),
        ("", ""),
    ],
)
def test_plain(given: str, expected: str) -> None:
    assert plain(given) == expected


def test_plain_reads_back_what_was_rendered() -> None:
    text = "Hi @alice #Trio https://www.example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nand\n\n<more>"
    assert plain(html(text)) == text


def test_a_biography_is_rendered_like_a_status() -> None:
    assert (
        render_note("a\n@alice", mentions=MENTIONS, tag_url=tag_url, local_domain="t.example") == f"<p>a<br>{ALICE}</p>"
    )


def test_a_field_is_one_line_and_claims_its_links() -> None:
    value = render_field_value("a\nhttps://a.example", mentions=MENTIONS, tag_url=tag_url, local_domain="t.example")
    assert value == (
        'a <a href="https://a.example" target="_blank" rel="me nofollow noopener noreferrer" translate="no">'
        '<span class="invisible">https://</span><span>a.example</span><span class="invisible"></span></a>'
    )
    assert sanitise(value) == value.replace("me nofollow", "nofollow")
