"""Lists of blocked domains in the forms that servers and people publish."""

import json

import pytest

from troupe.actors.blocklists import UnreadableList, decode, read_list
from troupe.actors.commands.blocked_domains import DomainTerms, ListedBlock

BARE = DomainTerms("suspend", False, False, None, None, False)
MASTODON = "#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate"


def terms(text: str) -> DomainTerms:
    (line,) = read_list(text)
    assert line.domain == "bad.example"
    return line.terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bad.example", BARE),
        ("\ufeffbad.example\r\n", BARE),
        ("# Spam servers; of May, 2026\n#\n\nBAD.example # bots\n", BARE),
        ("*.bad.example\n", BARE),
        ("https://bad.example/\n", BARE),
        ("Domain,Severity\nbad.example,Silence\n", DomainTerms("silence", False, False, None, None, False)),
        ("severity;domain\nlimit;bad.example\n", DomainTerms("silence", False, False, None, None, False)),
        ("domain\tseverity\nbad.example\tnone\n", DomainTerms("noop", False, False, None, None, False)),
        (
            f"{MASTODON}\nbad.example,suspend,TRUE,False,spam,true\n",
            DomainTerms("suspend", True, False, None, "spam", True),
        ),
        (
            'domain,severity,public_comment,private_comment,reject_media,reject_reports,obfuscate\n'
            'bad.example,suspend,"hate, spam","seen by ""kim""\nin May",1,yes,no\n',
            DomainTerms("suspend", True, True, 'seen by "kim"\nin May', "hate, spam", False),
        ),
        (
            '"#domain", "#severity", "Reject Media", "Notes"\n"bad.example", "noop", "t", "ours"\n',
            DomainTerms("noop", True, False, None, None, False),
        ),
        (
            "sep=;\r\n#domain;#severity\r\nbad.example;noop\r\n\x1a",
            DomainTerms("noop", False, False, None, None, False),
        ),
        (
            '"#domain,#severity,#public_comment"\n"bad.example,limit,""hate, spam"""\n',
            DomainTerms("silence", False, False, None, "hate, spam", False),
        ),
        ("# my list\n#domain,#severity\n# the worst\nbad.example,\n", BARE),
        ('[{"domain": "bad.example", "public_comment": "spam"}]',
         DomainTerms("suspend", False, False, None, "spam", False)),
        (
            json.dumps([{"domain": "bad.example", "severity": "silence", "reject_media": True, "obfuscate": None,
                         "private_comment": "ours", "public_comment": None, "id": "7"}], indent=1),
            DomainTerms("silence", True, False, "ours", None, False),
        ),
        ('["bad.example"]', BARE),
        ('{"reject": ["bad.example"], "media_removal": ["bad.example"]}', BARE),
        (
            '{"metadata": {"federation": {"mrf_simple": {"media_removal": ["bad.example"], "accept": []}}}}',
            DomainTerms("noop", True, False, None, None, False),
        ),
        (
            '{"federated_timeline_removal": [{"tuple": ["bad.example", "loud"]}]}',
            DomainTerms("silence", False, False, "loud", None, False),
        ),
    ],
)  # fmt: skip
def test_a_block_is_read(text: str, expected: DomainTerms) -> None:
    assert terms(text) == expected


def test_a_file_may_be_in_utf_16() -> None:
    assert read_list(decode("bad.example".encode("utf-16"))) == [ListedBlock("bad.example", BARE)]
    assert read_list(decode("bad.example".encode("utf-16-le"))) == [ListedBlock("bad.example", BARE)]
    with pytest.raises(UnreadableList, match="is not text in UTF-8"):
        decode(b"b\xfcse.example")


def test_a_file_of_another_kind_is_named() -> None:
    with pytest.raises(UnreadableList, match="The file is a ZIP archive or a spreadsheet, not a list of domains"):
        decode(b"PK\x03\x04\x14\0")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{MASTODON}\n\n# x\na b,suspend\n", "Line 4: 'a b' is not a domain."),
        ('domain,public_comment\na.example,"one\ntwo"\n\nb\n', "Line 5: 'b' is not a domain."),
        ("sep=,\n\nb\n", "Line 3: 'b' is not a domain."),
        (
            'domain,public_comment\na.example,fine\nb.example,"open\nc.example,lost\n',
            "Line 3: its quotation mark is not closed.",
        ),
        ("b*d.example\n", "Line 1: 'b*d.example' is not a domain. Its letters are hidden by stars."),
        ("@spam@big.example\n", "Line 1: '@spam@big.example' is one account or page, not a domain."),
        ("https://big.example/@spam\n", "Line 1: 'https://big.example/@spam' is one account or page, not a domain."),
        ("domain,severity\nbad.example,kill\n", "Line 2: 'kill' is not a severity."),
        ("domain,obfuscate\nbad.example,perhaps\n", "Line 2: 'perhaps' is neither true nor false, in obfuscate."),
        ('[{"domain": "bad.example"}, {"name": "x"}]', "Entry 2: '' is not a domain."),
        ('[{"domain": 7}, ["x"], null]', "Entry 1: '7' is not a domain.\nEntry 2: '[\"x\"]' is not a domain."),
        ('{"domain": "bad.example"}', "The file is JSON, and not a list of domains."),
        ("[", "The file is not JSON: Expecting value"),
        ("[" * 100_000, "The file is not JSON"),
        ("\n <html><body>bad.example", "The file is a web page, not a list of domains."),
        ("x" * 100_000, "Line 1: 'xxx"),
        ('domain\n"' + "x" * 200_000, "The file is not a CSV file: field larger than field limit (131072)."),
    ],
)
def test_a_list_that_can_not_be_used_says_why(text: str, problem: str) -> None:
    with pytest.raises(UnreadableList) as refused:
        read_list(text)
    assert str(refused.value).startswith(problem)
    assert str(refused.value).endswith("No domain was blocked.")


def test_of_many_wrong_lines_some_are_named() -> None:
    with pytest.raises(UnreadableList) as refused:
        read_list("nothing\n" * 30)
    assert str(refused.value).split("\n")[19:] == [
        "Line 20: 'nothing' is not a domain.", "10 more can't be used either.", "No domain was blocked.",
    ]  # fmt: skip
