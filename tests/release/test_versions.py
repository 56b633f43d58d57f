"""Which version may come next."""

import pytest
from packaging.version import Version

from .refusal import ReleaseRefused
from .versions import next_version, version_of, with_version


@pytest.mark.parametrize(
    ("current", "tagged", "text"),
    [
        ("0.1.0", [], "0.1.0"),  # the first one
        ("0.1.0", [], "0.1.0rc1"),
        ("0.1.0", [], "0.2.0"),
        ("0.1.0+dev", ["0.1.0"], "0.1.1"),
        ("0.1.0+dev", ["0.1.0"], "0.2.0"),
        ("0.1.0+dev", ["0.1.0"], "1.0.0"),
        ("0.1.0+dev", ["0.1.0"], "0.2.0rc1"),
        ("0.2.0rc1+dev", ["0.1.0", "0.2.0rc1"], "0.2.0rc2"),
        ("0.2.0rc1+dev", ["0.1.0", "0.2.0rc1"], "0.2.0"),
        ("0.9.0+dev", ["0.9.0", "0.10.0"], "0.10.1"),  # the newest, not the last by its letters
    ],
)
def test_a_version_may_follow(current: str, tagged: list[str], text: str) -> None:
    assert str(next_version(text, current, [*map(Version, tagged)])) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no version"),
        ("soup", "is no version"),
        ("0.3.0-", "is no version"),
        ("v0.3.0", "not the usual spelling of this version. Write it as 0.3.0."),
        ("0.3.0-rc1", "Write it as 0.3.0rc1."),
        ("00.3.0", "Write it as 0.3.0."),
        ("0.3", "is not three numbers"),
        ("0.3.0.1", "is not three numbers"),
        ("0.3.0+dev", "is not three numbers"),
        ("0.3.0.dev1", "is not three numbers"),
        ("0.3.0.post1", "is not three numbers"),
        ("1!0.3.0", "is not three numbers"),
        ("0.3.0a1", "is not three numbers"),  # neither the changelog nor the tags would have it as a version
        ("0.2.0", "0.2.0 is tagged already"),
        ("0.1.0", "0.1.0 is tagged already"),
        ("0.2.0rc1", "0.2.0rc1 is older than 0.2.0"),
        ("0.1.1", "0.1.1 is older than 0.2.0"),
        ("0.4.0", "does not follow. The next version is one of 0.2.1, 0.3.0, 1.0.0, or a candidate of one."),
        ("0.30.0", "does not follow"),
        ("2.0.0", "does not follow"),
        ("0.3.1", "does not follow"),
    ],
)
def test_a_version_that_does_not_follow_is_refused(text: str, said: str) -> None:
    with pytest.raises(ReleaseRefused) as refused:
        next_version(text, "0.2.0+dev", [Version("0.1.0"), Version("0.2.0")])
    assert said in refused.value.message


def test_a_clone_without_tags_knows_that_the_version_of_its_source_was_made() -> None:
    with pytest.raises(ReleaseRefused, match=r"0\.2\.0 is tagged already"):
        next_version("0.2.0", "0.2.0+dev", [])
    assert str(next_version("0.2.1", "0.2.0+dev", [])) == "0.2.1"


def test_the_version_stands_in_one_line() -> None:
    source = '"""Troupe."""\n\n__version__ = "0.1.0"\n'
    assert version_of(with_version(source, "0.2.0+dev")) == "0.2.0+dev"
    for wrong in ("", source + source):
        with pytest.raises(ReleaseRefused, match="versions in place of one"):
            version_of(wrong)
