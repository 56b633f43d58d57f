"""Landlock, a kernel feature by which a process gives up its access to files.

See https://docs.kernel.org/userspace-api/landlock.html. After `restrict`, the calling thread and its children can open
no file except the given files, make or delete no files, and use no TCP port. They can't send signals to other
processes, nor connect to their abstract sockets.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

# System calls; their numbers are the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_FOR_VERSION = 1
PATH_BENEATH = 1

# Rights to files. The first version of Landlock knows bits 0 to 12, later versions the next bits.
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
FIRST_FILE_RIGHTS = (1 << 13) - 1
LATER_FILE_RIGHTS = {2: 1 << 13, 3: TRUNCATE, 5: 1 << 15}

TCP, TCP_SINCE = 0b11, 4
ABSTRACT_SOCKETS_AND_SIGNALS, SCOPES_SINCE = 0b11, 6

READ = READ_FILE | READ_FOLDER
READ_AND_WRITE = READ_FILE | WRITE_FILE | TRUNCATE
RUN = READ_FILE | EXECUTE

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


def restrict(rules: Mapping[Path, int]) -> list[str]:
    """Give up all files except these, each with its rights. A folder includes all below it; a missing path is ignored.

    `no_new_privs` must be set. Return the restrictions that this kernel lacks.
    """
    version = _syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_FOR_VERSION)
    if version < 0:
        return [f"Landlock ({os.strerror(ctypes.get_errno())})"]
    handled = FIRST_FILE_RIGHTS | sum(right for since, right in LATER_FILE_RIGHTS.items() if since <= version)
    ruleset = _make_ruleset(version, handled)
    try:
        for path, rights in rules.items():
            _allow(ruleset, path, rights & handled)
        _check(_syscall(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
    return lacking(version)


def lacking(version: int) -> list[str]:
    """Return the restrictions that a version of Landlock lacks, for the log."""
    parts = (
        (3, "truncating files"),
        (TCP_SINCE, "TCP"),
        (SCOPES_SINCE, "signals and abstract sockets"),
    )
    names = [name for since, name in parts if version < since]
    return [f"Landlock for {', '.join(names)} (its version here is {version})"] if names else []


def _make_ruleset(version: int, handled: int) -> int:
    attributes = _Ruleset(handled, TCP, ABSTRACT_SOCKETS_AND_SIGNALS)
    # Older kernels know a shorter structure, and refuse a longer structure if its further bytes are not zero.
    words = 3 if version >= SCOPES_SINCE else 2 if version >= TCP_SINCE else 1
    return _check(_syscall(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(8 * words), 0))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # A path that does not exist, or that this user can't reach, needs no rule.
        return
    try:
        if not path.is_dir():
            rights &= OF_FILES
        _check(_syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(_PathBeneath(rights, parent)), 0))
    finally:
        os.close(parent)


def _syscall(*arguments: object) -> int:
    return _libc.syscall(
        *(ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    )


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
