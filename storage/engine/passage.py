"""Checks that another user can reach a path, by the modes of the folders above it."""

import os
import pwd
import stat
from pathlib import Path


def closed_folder(path: Path, user: pwd.struct_passwd) -> Path | None:
    """Return the first folder above the path that the user may not enter. None if the user may enter all of them."""
    folders = reversed(path.resolve().parents)
    return next((folder for folder in folders if not _may_pass(folder.stat(), user)), None)


def _may_pass(folder: os.stat_result, user: pwd.struct_passwd) -> bool:
    """True if the mode alone lets the user in: PostgreSQL is started without further groups."""
    if folder.st_uid == user.pw_uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    return bool(folder.st_mode & (stat.S_IXGRP if folder.st_gid == user.pw_gid else stat.S_IXOTH))
