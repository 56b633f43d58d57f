"""Permissions: who may read the data folder, the sockets, and the files with secrets."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from ...actors.configuration import ServerSettings
from ...storage.engine.data_folder import FOLDER, FOR_OTHERS
from ..settings.sources import SECRETS, SettingsSources
from .findings import Examination, Finding

SUBJECT = "permissions"
OF_OTHERS = "postgres"  # the files of PostgreSQL, which has a user of its own where root starts it


def check_permissions(examination: Examination) -> Iterator[Finding]:
    """Check the data folder, the files directly in it, the sockets, the log and the files of settings."""
    settings = examination.sources.settings
    wrong = [*_data(settings.data), *_foreign(settings), *_socket(settings.socket), *_log(settings.log_path)]
    for path in sorted(_files_with_secrets(examination.sources)):
        wrong += _secret(path)
    if not wrong:
        yield Finding(SUBJECT, "good", "others may read neither the data folder nor files with secrets")
    yield from wrong


def _data(data: Path) -> Iterator[Finding]:
    if not data.exists():
        yield Finding(SUBJECT, "note", f"there is no data folder {data} yet: the server makes it at its first start")
        return
    owner = data.stat().st_uid
    # Root may do everything, and its PostgreSQL runs as another user, who then owns the folder.
    if os.geteuid() not in (owner, 0):
        yield Finding(
            SUBJECT, "wrong", f"{data} belongs to {_name(owner)}, and this command runs as {_name(os.geteuid())}",
            f"Run as its owner: sudo -u {_name(owner)} troupe doctor.",
        )  # fmt: skip
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            SUBJECT, "wrong", f"{data} can't be written", f"chmod 700 {shlex.quote(str(data))}, as its owner."
        )
        return
    for path in (data, *sorted(data.iterdir())):
        mode = path.lstat().st_mode
        if mode & FOR_OTHERS and not stat.S_ISLNK(mode):
            yield Finding(
                SUBJECT,
                "wrong",
                f"others may use {path} ({stat.filemode(mode)})",
                f"chmod go= {shlex.quote(str(path))}",
            )
    if stat.S_IMODE(data.stat().st_mode) & FOLDER != FOLDER:
        yield Finding(SUBJECT, "wrong", f"its owner may not use all of {data}", f"chmod 700 {shlex.quote(str(data))}")


def _foreign(settings: ServerSettings) -> Iterator[Finding]:
    """Find files that the server may not read, such as texts that root has written beside it."""
    data, socket = settings.data, settings.control_socket
    user = _owner_of(socket if socket.exists() else data) if data.is_dir() and os.access(data, os.X_OK) else 0
    if user == 0 or (not socket.exists() and os.geteuid() == 0):  # the server is root's, or it is not known whose it is
        return
    found = [path for path in data.iterdir() if not path.name.startswith(OF_OTHERS)]
    found += (data / "texts").rglob("*")
    for path in found:
        if (other := _owner_of(path)) != user:
            yield Finding(
                SUBJECT, "wrong", f"{path} belongs to {_name(other)}, and the server to {_name(user)}",
                f"chown -R {_name(user)}: {shlex.quote(str(path))}",
            )  # fmt: skip


def _socket(path: Path | None) -> Iterator[Finding]:
    """The socket that the proxy connects to. The control sockets are in the data folder."""
    if path is not None and path.exists() and path.stat().st_mode & stat.S_IRWXO:
        yield Finding(
            SUBJECT, "wrong", f"every user of this machine may connect to {path}, past the proxy",
            f"chmod 660 {shlex.quote(str(path))}, and put the proxy's user into its group.",
        )  # fmt: skip


def _log(path: Path) -> Iterator[Finding]:
    for file in (path, *sorted(path.parent.glob(f"{path.name}.*"))):
        if file.exists() and file.stat().st_mode & stat.S_IRWXO:
            yield Finding(
                SUBJECT,
                "wrong",
                f"every user of this machine may read the log {file}",
                f"chmod o= {shlex.quote(str(file))}",
            )


def _files_with_secrets(sources: SettingsSources) -> set[Path]:
    """Return the files in which a secret stands: settings files, and files that hold nothing else."""
    return {source.path for name in SECRETS for source in sources.of(name) if source.path is not None}


def _secret(path: Path) -> Iterator[Finding]:
    mode = path.stat().st_mode
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        yield Finding(
            SUBJECT, "wrong", f"{path} holds a secret, and others may use it ({stat.filemode(mode)})",
            f"chmod 640 {shlex.quote(str(path))}, with the server's group, or 600.",
        )  # fmt: skip


def _owner_of(path: Path) -> int:
    return path.lstat().st_uid


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
