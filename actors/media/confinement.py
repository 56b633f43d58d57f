"""Confinement: the rights that a media process gives up before it reads an untrusted file.

The process takes each step itself, and can undo none of them:

    limits          memory, CPU time, size of files, open files, tasks, no core dumps
    user            root becomes a user who owns no files
    namespaces      no network, no shared memory of other processes
    capabilities    none, and no way to get any
    Landlock        only the job's files, and the files of its programs
    seccomp         only the system calls of decoding

A machine that can't do a step does the others. `confine` returns the missing steps.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from dataclasses import dataclass
from pathlib import Path

from . import landlock, seccomp

MIB = 1024 * 1024

# A number that no distribution gives to a user.
NO_ONE = 65_533

OPEN_FILES = 64
NEW_USER, NEW_NETWORK, NEW_IPC = 0x1000_0000, 0x4000_0000, 0x0800_0000  # clone flags
NO_NEW_PRIVILEGES, DROP_FROM_BOUNDS, AMBIENT, CLEAR_ALL = 38, 24, 47, 4  # of prctl
CAPABILITIES_VERSION = 0x2008_0522
MOST_CAPABILITIES = 64
MOST_TASKS = 1 << 20
ELF_64, INTERPRETER, LONGEST_HEAD = b"\x7fELF\x02", 3, 16 * 1024

# The folders of shared libraries. Their contents are no secret: they are the same on other machines.
LIBRARIES = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store")))
LIBRARY_INDEX = Path("/etc/ld.so.cache")
NULL = Path("/dev/null")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a process: bytes of memory and of each file, seconds of CPU time, and threads at once."""

    memory: int
    seconds: int
    file_size: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a job: the file to read and the files to write, all in one folder, and the programs to run."""

    folder: Path
    source: Path
    results: tuple[Path, ...]
    programs: tuple[Path, ...] = ()


def confine(limits: Limits, files: Files) -> list[str]:
    """Give up all rights but these.

    The current folder must be the job's, because the process may not reach the folders above.

    The caller must have imported and opened everything else: afterwards only `files` can be opened. Return what this
    machine can't do, in words. Raises RuntimeError if there are other threads, which would not be confined.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a process with several threads can't be confined")
    _limit(limits)
    _drop_bounds()
    missing = [*_become_unprivileged(files), *(alone := _leave_namespaces())]
    _limit_tasks(limits.tasks, others=bool(alone))
    missing += _drop_capabilities()
    missing += landlock.restrict(_rules(files))
    missing += seccomp.restrict(processes=bool(files.programs), programs=bool(files.programs))
    return missing


def _limit(limits: Limits) -> None:
    for limit, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def _become_unprivileged(files: Files) -> list[str]:
    """Change from root to a user who owns the job's files and no others.

    An ordinary user can't change to another user.
    """
    if os.geteuid() != 0:
        return []
    try:
        os.chown(files.folder, -1, NO_ONE)
        files.folder.chmod(0o710)  # folders can be entered; nothing can be made or removed there
        for path in (files.source, *files.results):
            os.chown(path, NO_ONE, NO_ONE, follow_symlinks=False)
        os.setgroups([])
        os.setresgid(NO_ONE, NO_ONE, NO_ONE)
        os.setresuid(NO_ONE, NO_ONE, NO_ONE)
    except OSError as error:
        return [f"a user of their own ({error.strerror})"]
    return []


def _leave_namespaces() -> list[str]:
    if _libc.unshare(NEW_USER | NEW_NETWORK | NEW_IPC):
        return [f"namespaces ({os.strerror(ctypes.get_errno())})"]
    return []


def _limit_tasks(tasks: int, *, others: bool) -> None:
    """Limit the tasks.

    The kernel counts the tasks of a user in a namespace; without a namespace of its own there may be `others`.
    """
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    bound = min(
        _tasks_in_use(most) + tasks if others else tasks, most if most != resource.RLIM_INFINITY else MOST_TASKS
    )
    resource.setrlimit(resource.RLIMIT_NPROC, (bound, bound))


def _tasks_in_use(most: int) -> int:
    """Return about how many tasks this user has.

    Some may be in other containers, where only the kernel can count them.
    """
    bound = 64
    while bound < MOST_TASKS:
        resource.setrlimit(resource.RLIMIT_NPROC, (bound, most))
        try:
            child = os.fork()
        except OSError:
            bound *= 2
            continue
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        break
    return bound


def _drop_bounds() -> None:
    """Drop the bounding set, so that no program can regain a capability.

    Only a process with capabilities can and must do it.
    """
    for capability in range(MOST_CAPABILITIES):
        _libc.prctl(DROP_FROM_BOUNDS, capability, 0, 0, 0)


def _drop_capabilities() -> list[str]:
    """Drop all capabilities, also the capabilities that a new namespace gives."""
    _drop_bounds()
    _libc.prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) or _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return [f"capabilities ({os.strerror(ctypes.get_errno())})"]
    return []


def _rules(files: Files) -> dict[Path, int]:
    """Return the rules for Landlock: reading the source, writing the results, and running programs."""
    rules = {files.source: landlock.READ_FILE} | dict.fromkeys(files.results, landlock.READ_AND_WRITE)
    if files.programs:
        rules |= dict.fromkeys(LIBRARIES, landlock.READ)
        rules |= {LIBRARY_INDEX: landlock.READ_FILE, NULL: landlock.READ_FILE | landlock.WRITE_FILE}
        for program in files.programs:
            rules |= dict.fromkeys((program, *_interpreter(program)), landlock.RUN)
    return rules


def _interpreter(program: Path) -> list[Path]:
    """Return the dynamic linker that a program names.

    The kernel runs it in the program's place (ELF, segment PT_INTERP).
    """
    try:
        with program.open("rb") as file:
            head = file.read(LONGEST_HEAD)
    except OSError:  # The process can't reach it, and reports that when it is to run it.
        return []
    if head[:5] != ELF_64:
        return []
    offset, size, count = (*struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54))
    for at in range(offset, min(offset + size * count, LONGEST_HEAD - 56), size):
        kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", head, at)
        if kind == INTERPRETER:
            return [Path(os.fsdecode(head[begin : begin + length].rstrip(b"\0")))]
    return []
