"""`troupe help`: the pages of the operator's handbook in the terminal, from the installed package."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from troupe.supervision.commands import handbook, troupe
from troupe.supervision.manual import manual

SOURCE = Path(__file__).parents[2] / "supervision" / "operations" / "handbook"
TROUPE = (sys.executable, "-c", "from troupe.supervision.commands import main; main()")
SUBJECTS = sorted(path.stem for path in SOURCE.glob("*.md") if path.stem != "README")
LINK = re.compile(r"\]\((\w+)\.md\)")
PAGE = """\
# A subject

A paragraph that is longer than the line of a terminal, and goes on
below with `code in it` and a [link](backup.md).

- **First** of two items, which has more words than one line can hold.
- Second

1. One

       $ troupe serve --data /var/lib/troupe --config /etc/troupe/troupe.toml

| name | meaning |
|---|---|
| `a` | The first of the letters, which has some words behind it. |
| [b](log.md) | |

| one | two | three |
|---|---|---|
| a cell with some words | and another cell | The last one, which stands below the others. |
"""
AS_TEXT = """\
A subject
=========

A paragraph that is longer than the line
of a terminal, and goes on below with
`code in it` and a link
(`troupe help backup`).

- First of two items, which has more
  words than one line can hold.
- Second

1. One

       $ troupe serve --data /var/lib/troupe --config /etc/troupe/troupe.toml

name  meaning
----  ----------------------------------
a     The first of the letters, which
      has some words behind it.
b

one  two
    three
a cell with some words  and another cell
    The last one, which stands below the
    others.
"""


def ended(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(troupe, ["help", *words])
    return done.exit_code, done.stdout, done.stderr


def test_the_installed_pages_are_those_of_the_source() -> None:
    assert handbook.subjects() == SUBJECTS
    assert all(handbook.source_of(name) == (SOURCE / f"{name}.md").read_text("utf-8") for name in SUBJECTS)


def test_the_index_lists_each_subject_once() -> None:
    assert sorted(LINK.findall((SOURCE / "README.md").read_text("utf-8"))) == SUBJECTS
    code, listed, _ = ended()
    assert code == 0
    assert {name for name in SUBJECTS if not re.search(rf"^{name}  +\w", listed, re.MULTILINE)} == set()


def test_the_index_names_the_folder_of_the_files() -> None:
    (folder,) = re.findall(r"^The files that the pages name are in (.+)\.$", ended()[1], re.MULTILINE)
    assert (Path(folder) / "nginx.conf").exists()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_page_is_printed_as_text(subject: str) -> None:
    code, text, errors = ended(subject)
    assert (code, errors) == (0, "")
    title = (SOURCE / f"{subject}.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")
    assert text.startswith(f"{title}\n{'=' * len(title)}\n\n")
    prose = [line for line in text.splitlines() if not line.startswith("    ")]
    assert max(map(len, prose)) <= handbook.USUAL
    assert not any("](" in line or line.startswith(("#", "|")) for line in prose)
    links = set(LINK.findall((SOURCE / f"{subject}.md").read_text("utf-8")))
    flowing = " ".join(text.split())
    assert {link for link in links if f"(`troupe help {link}`)" not in flowing} == set()


def test_paragraphs_lists_and_tables_fit_the_width() -> None:
    assert handbook.as_text(PAGE, 40) == AS_TEXT


def test_a_name_may_be_written_as_that_of_the_file() -> None:
    assert ended("Backup.md") == ended("backup")


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("bakcup", "; did you mean backup?"),
        ("serve", ". `troupe serve --help` explains the command."),
        ("haproxy", "; did you mean proxy?"),
        ("grafana", ". These pages name it: health."),
        ("xyzzy", ". `troupe help` lists the subjects."),
        ("../Dockerfile", ". `troupe help` lists the subjects."),
    ],
)
def test_an_unknown_subject_is_refused_with_those_that_are_near(word: str, advice: str) -> None:
    assert ended(word) == (2, "", f"Error: The handbook has no subject {word}{advice}\n")


def test_it_needs_no_settings_and_no_data(tmp_path: Path) -> None:
    done = subprocess.run(
        [*TROUPE, "help", "tls"], cwd=tmp_path, env={"TROUPE_PORT": "none"}, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith("TLS without a proxy\n")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("width", "longest"), [(50, 50), (300, handbook.WIDEST)])
def test_lines_fit_the_terminal_and_stay_readable_on_a_wide_one(width: int, longest: int) -> None:
    ours, theirs = pty.openpty()
    with open(ours, encoding="utf-8") as shown:
        subprocess.run(
            [*TROUPE, "help", "limits"], stdout=theirs, env=os.environ | {"COLUMNS": str(width)}, check=True, timeout=60
        )
        os.close(theirs)
        lines: list[str] = []
        with suppress(OSError):  # the end of a terminal
            lines.extend(shown)
    assert longest - 15 < max(len(line.rstrip()) for line in lines) <= longest


def test_the_manual_lists_the_subjects() -> None:
    section = manual().replace("\\-", "-").partition(".SH HANDBOOK\n")[2].partition(".SH ")[0]
    assert re.findall(r"^\.B (\w+)$", section, re.MULTILINE) == SUBJECTS
