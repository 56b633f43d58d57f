"""Files of follows, blocks and the like: how they are written, what they are refused for, and what their lines say."""

import io
import json
import zipfile

import pytest

from troupe.actors.rules.csv_files import UnreadableFile
from troupe.actors.rules.imports import ImportedLine, account_target, is_account, lines_of

HOME = "home.example"
HEADING = "Account address,Show boosts,Notify on new posts,Languages"
TWO = [
    ImportedLine(2, "eve@one.example", {"reblogs": True, "notify": False}),
    ImportedLine(3, "bob@two.example", {"reblogs": False, "notify": True, "languages": ["de", "en"]}),
]


def follows(separator: str = ",", end: str = "\n", languages: str = '"de, en"', first: str = "") -> str:
    rows = [
        HEADING.split(","),
        ["eve@one.example", "true", "false", ""],
        ["bob@two.example", "false", "true", languages],
    ]
    return first + end.join(separator.join(row) for row in rows) + end


def targets(kind: str, file: str | bytes, name: str = "") -> list[str]:
    content = file.encode() if isinstance(file, str) else file
    return [line.target for line in lines_of(kind, content, HOME, name)]


def refusal(kind: str, file: str | bytes, name: str = "") -> str:
    with pytest.raises(UnreadableFile) as raised:
        targets(kind, file, name)
    return str(raised.value)


@pytest.mark.parametrize(
    "file",
    [
        follows().encode(),
        follows(";").encode(),
        follows("\t").encode(),
        follows(", ").encode(),
        follows("; ", first="# my friends; as of today\n\n# work\n").encode(),
        follows().replace("bob@", "#eve@two.example,true\n# at home\nbob@").encode(),
        follows("\t", languages="de en").encode(),
        follows(end="\r\n").encode(),
        follows(end="\r").encode(),
        follows(";", "\r\n").encode("utf-8-sig"),
        follows("\t", "\r\n").encode("utf-16"),
        follows(";").encode("utf-16-le"),
        follows(";").encode("utf-16-be"),
        (follows() + "\x1a").encode(),
        "\n".join(f'"{row.replace(chr(34), chr(34) * 2)}"' for row in follows().splitlines()).encode(),
        follows().replace("Account address", "ACCOUNT ADDRESS ").encode(),
        follows().replace("Account address", "#account_address").encode(),
        follows().replace("eve@one.example", '" @eve@one.example\n"').replace("bob", "acct:bob").encode(),
    ],
)
def test_a_file_is_read_however_a_spreadsheet_has_written_it(file: bytes) -> None:
    lines = lines_of("following", file, HOME)
    assert [(line.target, line.options) for line in lines] == [(line.target, line.options) for line in TWO]


def test_handles_are_read_with_the_marks_that_pages_put_around_them() -> None:
    """Marks of direction are not shown, and are copied with the handle."""
    file = "\u202a@eve@one.example\u202c\n\u2068bob@one.example\u2069,true\nada@one.example\u200e\n"
    found = lines_of("following", file.encode(), HOME)
    assert [line.target for line in found] == ["eve@one.example", "bob@one.example", "ada@one.example"]


def test_the_numbers_of_lines_are_those_of_the_file() -> None:
    lines = lines_of("following", f"sep=;\r\n{follows(';', chr(10) * 2)}".encode(), HOME)
    assert [line.number for line in lines] == [4, 6]


def test_columns_may_stand_in_any_order_among_others() -> None:
    file = "Note;Notify on new posts;Account address;Show boosts\na friend;1;eve@one.example;0\n;;bob@two.example;\n"
    assert lines_of("following", file.encode(), HOME) == [
        ImportedLine(2, "eve@one.example", {"notify": True, "reblogs": False}),
        ImportedLine(3, "bob@two.example", {}),
    ]


def test_what_is_no_switch_leaves_the_follow_as_it_is() -> None:
    lines = lines_of("following", b"eve@one.example,withReplies=true\n", HOME)
    assert [line.options for line in lines] == [{}]
    lines = lines_of("following", b"eve@one.example;VRAI;FAUX\n", HOME)
    assert [line.options for line in lines] == [{"reblogs": True, "notify": False}]


def test_columns_without_a_heading_have_their_places() -> None:
    lines = lines_of("following", b"eve@one.example;false;true;\n", HOME)
    assert lines == [ImportedLine(1, "eve@one.example", {"reblogs": False, "notify": True})]


def test_names_of_lists_keep_their_signs_in_every_encoding() -> None:
    file = 'Käse; und "Wein",eve@one.example\n"Tea, ""and"" cake",bob@two.example\n'
    for encoding in ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"):
        lines = lines_of("lists", file.encode(encoding), HOME)
        assert [line.options["title"] for line in lines] == ['Käse; und "Wein"', 'Tea, "and" cake']
        assert [line.target for line in lines] == ["eve@one.example", "bob@two.example"]
    for title in ("[VIP] <3", "<3 friends", "BMW drivers", "RIFFs and music"):
        lines = lines_of("lists", f"{title};eve@one.example\n".encode(), HOME)
        assert [line.options["title"] for line in lines] == [title]


@pytest.mark.parametrize("value", ["true", "TRUE", "1", "yes", "", "WAHR", "?"])
def test_notifications_of_a_muted_account_are_hidden(value: str) -> None:
    lines = lines_of("mutes", f"Account address,Hide notifications\neve@one.example,{value}\n".encode(), HOME)
    assert lines[0].options == {"notifications": True}


@pytest.mark.parametrize("value", ["false", "FALSE", "0", "no", "FALSCH", "ЛОЖЬ"])
def test_notifications_of_a_muted_account_are_shown(value: str) -> None:
    lines = lines_of("mutes", f"Hide notifications;Account address\n{value};eve@one.example\n".encode(), HOME)
    assert lines[0].options == {"notifications": False}


FOLLOWS = follows()
MUTES = "Account address,Hide notifications\neve@one.example,true\n"
LISTS = "Friends,eve@one.example\nTea,@bob@two.example\n"
BOOKMARKS = "https://one.example/users/eve/statuses/1\nhttps://two.example/@bob/2?lang=de#top\n"
DOMAINS = "bad.example\n*.wild.example\n"


@pytest.mark.parametrize(
    ("file", "words", "right"),
    [
        (FOLLOWS, "follows", {"following"}),
        (follows(";"), "follows", {"following"}),
        ("Account address,Show boosts\neve@one.example,true\n", "follows", {"following"}),
        (MUTES, "muted accounts", {"mutes"}),
        (LISTS, "lists", {"lists"}),
        ("List name,Account address\nTea,eve@one.example\n", "lists", {"lists"}),
        (BOOKMARKS, "bookmarks", {"bookmarks"}),
        (f"#uri\n{BOOKMARKS}", "bookmarks", {"bookmarks"}),
        (DOMAINS, "blocked domains", {"domain_blocks"}),
        (f"#domain\n{DOMAINS}", "blocked domains", {"domain_blocks"}),
        ("Domain,Severity\nbad.example,suspend\n", "blocked domains", {"domain_blocks"}),
        ("Account address\neve@one.example\n", "accounts", {"following", "blocks", "mutes"}),
        ("eve@one.example\nbob@two.example\n", "accounts", {"following", "blocks", "mutes"}),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_name(file: str, words: str, right: set[str]) -> None:
    for kind in ("following", "blocks", "mutes", "lists", "bookmarks", "domain_blocks"):
        if kind in right:
            assert targets(kind, file)
        else:
            assert refusal(kind, file).startswith(f"This is a file of {words}, and you chose "), kind


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("following_accounts.csv", "follows"),
        ("following-2026-01-02-03-04-05.csv", "follows"),
        ("friends.csv", "follows"),
        ("followers.csv", "follows"),
        ("blocked_accounts.csv", "blocked accounts"),
        ("blocking-2026-01-02.csv", "blocked accounts"),
        ("muted_accounts.csv", "muted accounts"),
    ],
)
def test_accounts_that_the_name_of_the_file_says_to_be_of_another_kind_are_refused(name: str, words: str) -> None:
    file = "eve@one.example\n"
    refused = [kind for kind in ("following", "blocks", "mutes") if words not in _refusal_or(kind, file, name)]
    assert len(refused) == 1  # the kind that the name says
    assert targets("blocks", file, "my accounts.csv") == ["eve@one.example"]


def _refusal_or(kind: str, file: str, name: str) -> str:
    try:
        targets(kind, file, name)
    except UnreadableFile as error:
        return str(error)
    return ""


def _zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("following_accounts.csv", FOLLOWS)
    return file.getvalue()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "an HTML page"),
        (b"\xef\xbb\xbf \n<HTML lang=de>", "an HTML page"),
        (b"<?xml version='1.0'?><opml/>", "an XML file"),
        (json.dumps(["https://one.example/users/eve"]).encode(), "a JSON file"),
        (json.dumps({"type": "OrderedCollection", "orderedItems": []}, indent=2).encode(), "a JSON file"),
        (b'{"id": 1}\n{"id": 2}\n', "a JSON file"),
        (b"[" * 100_000, "a JSON file"),
        (b"<table><tr><td>eve@one.example</td></tr></table>", "an HTML page"),
        (b"<!-- saved -->\n<p>eve", "an HTML page"),
        (b"\0\0\0\x20ftypheic\0", "a picture, a sound or a film"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a picture, a sound or a film"),
        (b"BM\x36\x10\x0e\0\0\0\0\0\x36", "a picture, a sound or a film"),
        (b"{\\rtf1 eve@one.example}", "an RTF document"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture"),
        (_zipped(), "a ZIP archive or a spreadsheet"),
        (b"\x1f\x8b\x08\0", "a compressed archive"),
        (b"%PDF-1.7", "a PDF document"),
    ],
)
def test_a_file_that_is_no_csv_file_is_refused_by_its_name(file: bytes, words: str) -> None:
    for kind in ("following", "blocks", "lists", "bookmarks", "domain_blocks"):
        assert refusal(kind, file) == f"This is {words}, and not a CSV file. Nothing was changed."


@pytest.mark.parametrize(
    ("kind", "file", "words"),
    [
        (
            "following",
            "Kontoadresse;Boosts anzeigen\neve@one.example;true\n",
            'The heading "Kontoadresse" is not known',
        ),
        ("following", "Adresse du compte\neve@one.example\n", 'The heading "Adresse du compte" is not known'),
        ("lists", "Nom de la liste,Adresse\nTea,eve@one.example\n", 'The heading "Nom de la liste" is not known'),
        ("blocks", "Dear Sir,\nthis is no list.\nGoodbye to you\n", "This is not a file of blocked accounts"),
        ("domain_blocks", "one two\nthree four\n", "This is not a file of blocked domains"),
        ("following", 'Account address\nada@a.example\n"eve@one.example\nbob@b.example\n', "Line 3 is no text"),
        (
            "lists",
            'Tea,eve@one.example\n"Cake,eve@one.example\nTea,bob@two.example\n',
            "Line 2 is no text: its quotation",
        ),
        ("following", "\n\n", "The file has no lines."),
        ("following", f"{HEADING}\n,,\n", "The file has no lines."),
        ("following", f"{HEADING}\n,true,\n", "This is not a file of follows"),
        ("following", b"\x81\x8d\x8f", "This is not a CSV file in UTF-8."),
    ],
)
def test_what_is_not_understood_is_refused_as_a_whole(kind: str, file: str | bytes, words: str) -> None:
    assert words in refusal(kind, file)


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("eve@one.example", "eve@one.example"),
        ("@Eve@ONE.example", "eve@one.example"),
        (" acct:eve@one.example ", "eve@one.example"),
        ("https://one.example/@eve", "eve@one.example"),
        ("https://one.example/@eve/", "eve@one.example"),
        ("https://one.example/@eve@two.example", "eve@two.example"),
        ("https://one.example/users/eve", "https://one.example/users/eve"),
        ("eve@Bücher.example", "eve@xn--bcher-kva.example"),
        ("ada@HOME.example", "ada"),
        ("https://home.example/@Ada", "ada"),
        ("@ada", "ada"),
        ("Ada", "ada"),
        ("eve@one.example:8443", "eve@one.example:8443"),
        ("!tea@one.example", "tea@one.example"),
    ],
)
def test_an_account_is_found_in_each_spelling(written: str, target: str) -> None:
    assert account_target(written, HOME) == target
    assert is_account(target)


@pytest.mark.parametrize(
    "written",
    ["<b>", "two words", "!eve", "eve@", "@", "eve@one example", "https://one.example/@eve/123", "bad.example", "a;b"],
)
def test_what_is_no_account(written: str) -> None:
    assert not is_account(account_target(written, HOME))


@pytest.mark.parametrize(
    ("kind", "file", "found"),
    [
        (
            "domain_blocks",
            "# spam\n*.wild.example\n#domain of my aunt\nhttps://url.example/\n",
            ["wild.example", "url.example"],
        ),
        ("domain_blocks", "# spam\n#domain,#severity\nbad.example,suspend\n", ["bad.example"]),
        ("following", "#eve@one.example\n# bob, my friend\nbob@two.example\n", ["bob@two.example"]),
        ("blocks", "# spam\neve@one.example\n# more\n", ["eve@one.example"]),
        ("bookmarks", "# to read\nhttps://one.example/1\n#https://two.example/2\n", ["https://one.example/1"]),
        (
            "lists",
            "# my lists, of 2026-11-01\n#tea,eve@one.example\nTea,bob@two.example\n",
            ["eve@one.example", "bob@two.example"],
        ),
    ],
)
def test_comments_are_left_out(kind: str, file: str, found: list[str]) -> None:
    assert targets(kind, file) == found
