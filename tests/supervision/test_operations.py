"""The files for operators: they name what is there, and settings that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from troupe.actors.configuration import Settings
from troupe.supervision.settings.sources import read_settings, unknown_variables

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "supervision" / "operations"
DOCKERFILE = (OPERATIONS / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE = (OPERATIONS / "compose.yaml").read_text("utf-8")
HANDBOOK = "".join(page.read_text("utf-8") for page in (OPERATIONS / "handbook").glob("*.md"))
FILES = sorted(path.name for path in OPERATIONS.iterdir() if path.is_file())


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.+)$", DOCKERFILE, re.MULTILINE)


def test_the_image_gets_all_that_installing_needs() -> None:
    copied = {word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert copied == {
        "requirements.lock", "pyproject.toml", "README.md", "LICENSE", "__init__.py", "py.typed", "actors", "http",
        "storage", "supervision",
    }  # fmt: skip


def test_the_image_runs_as_a_user_of_its_own() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\w+)$", last, re.MULTILINE)
    assert user == "troupe"
    assert re.search(r"useradd --system .* troupe ", last)
    assert last.index("\nUSER ") < last.index("\nENTRYPOINT")


def test_the_image_listens_where_it_is_asked() -> None:
    (port,) = instructions("EXPOSE")
    assert f"TROUPE_PORT={port}" in DOCKERFILE
    (asked,) = re.findall(rf"http://127\.0\.0\.1:{port}(/\S+?)'", DOCKERFILE)
    assert f'@api.get("{asked}"' in (ROOT / "http/api/health.py").read_text("utf-8")
    assert f'"127.0.0.1:{port}:{port}"' in COMPOSE
    assert str(Settings.model_fields["port"].default) == port


def test_what_the_composition_names_is_there() -> None:
    (dockerfile,) = re.findall(r"dockerfile: (\S+)", COMPOSE)
    assert (ROOT / dockerfile).exists()
    for kind in ("secrets", "volumes"):
        (declared,) = re.findall(rf"^{kind}:\n((?:  .+\n?)+)", COMPOSE, re.MULTILINE)
        names = set(re.findall(r"^  ([\w-]+):", declared, re.MULTILINE))
        used = {name for block in re.findall(rf"^    {kind}:\n((?:      .+\n)+)", COMPOSE, re.MULTILINE)
                for name in re.findall(r"- ([\w-]+)", block)}  # fmt: skip
        assert used == names, kind


@pytest.mark.parametrize("name", FILES)
def test_settings_have_their_names(name: str) -> None:
    text = (OPERATIONS / name).read_text("utf-8")
    assert unknown_variables(dict.fromkeys(re.findall(r"\bTROUPE_\w+", text), "")) == []


def test_settings_have_their_names_in_the_handbook() -> None:
    text = re.sub(r"journalctl [^`]+", "", HANDBOOK)  # whose fields begin alike
    assert unknown_variables(dict.fromkeys(re.findall(r"\bTROUPE_[A-Z]\w+", text), "")) == []


def test_the_script_is_one() -> None:
    subprocess.run(["sh", "-n", str(OPERATIONS / "troupe.sh")], check=True)


def test_the_script_reads_secrets_as_systemd_does(tmp_path: Path) -> None:
    """Each line is a name and a text, also one with characters that mean something to a shell.

    `parse_env_file_internal` of systemd drops a backslash in front of a character, but in double quotes only in front
    of those that mean something to a shell there, and never in single quotes. White space around a line is dropped.
    """
    script = tmp_path / "troupe"
    script.write_text((OPERATIONS / "troupe.sh").read_text("utf-8").replace("/etc/troupe/environment", "environment"))
    runuser = tmp_path / "runuser"
    runuser.write_text("#!/bin/sh\nexec env --null\n")
    runuser.chmod(0o700)
    lines = [
        "# a comment", "", "export TROUPE_PORT=1", "OTHER=x", "  TROUPE_SMTP_PASSWORD=a$b;c & d#e`f\\\\g\\h='i\\j\r",
        'TROUPE_TITLE="My \\"$server\\" \\o/" ', "TROUPE_S3_SECRET_KEY=*?= \t", r"TROUPE_S3_ACCESS_KEY='a\b\\c'",
    ]  # fmt: skip
    (tmp_path / "environment").write_bytes("\n".join(lines).encode())
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    told = subprocess.run(["sh", script], env=path, cwd=tmp_path, check=True, capture_output=True).stdout.decode()
    environ = dict(line.split("=", 1) for line in told.split("\0") if line.startswith(("TROUPE_", "OTHER")))
    assert sorted(environ) == [
        "TROUPE_CONFIG", "TROUPE_DATA", "TROUPE_S3_ACCESS_KEY", "TROUPE_S3_SECRET_KEY", "TROUPE_SMTP_PASSWORD",
        "TROUPE_TITLE",
    ]  # fmt: skip
    read = read_settings({}, {name: text for name, text in environ.items() if name != "TROUPE_CONFIG"})
    assert read.title == 'My "$server" \\o/'
    assert read.smtp_password is not None
    assert read.smtp_password.get_secret_value() == "a$b;c & d#e`f\\gh='ij"
    assert read.s3_access_key == r"a\b\\c"
    assert environ["TROUPE_S3_SECRET_KEY"] == "*?="


@pytest.mark.parametrize("name", FILES)
def test_the_handbook_says_what_a_file_is_for(name: str) -> None:
    assert name in HANDBOOK
