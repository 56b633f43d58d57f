"""A filter of system calls (seccomp) that allows only the calls of decoding.

A filter is a small program for the kernel, in classic BPF: https://docs.kernel.org/userspace-api/seccomp_filter.html. A
call that it does not name fails with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

# prctl
SET_SECCOMP, FILTER = 22, 2

# BPF: load a word of the call's data, compare it, end with a verdict.
LOAD, JUMP_IF_EQUAL, JUMP_IF_ABOVE, JUMP_IF_ANY_BIT, END = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # where these are in `struct seccomp_data`

ALLOW = 0x7FFF_0000
KILL = 0x8000_0000
REFUSE = 0x0005_0000 | errno.EPERM
UNKNOWN = 0x0005_0000 | errno.ENOSYS

THREAD = 0x0001_0000  # of clone
NAMESPACES = 0x7E02_0080  # of clone: each new namespace
SET_NAME, GET_NAME, NAME_MEMORY = 15, 16, 0x5356_4D41  # of prctl
# Of fcntl: to duplicate, flags and locks. F_SETOWN is not there, which sends signals.
FILE_CONTROLS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
OTHER_CONVENTION = 0x4000_0000  # the numbers of x32, which are the same calls once more, begin here
TERMINAL, CLOSE_ON_EXEC, NO_CLOSE_ON_EXEC = 0x5401, 0x5451, 0x5450  # of ioctl


@dataclass(frozen=True, slots=True)
class Architecture:
    """The identifier of an architecture, and its numbers of system calls."""

    audit: int
    numbers: dict[str, int]


# From the kernel's asm/unistd_64.h and asm-generic/unistd.h. A name that an architecture lacks is not in its table.
NAMES = (
    ("read", 0, 63), ("write", 1, 64), ("readv", 19, 65), ("writev", 20, 66), ("pread64", 17, 67), ("pwrite64", 18, 68),
    ("lseek", 8, 62), ("close", 3, 57), ("close_range", 436, 436), ("fstat", 5, 80), ("newfstatat", 262, 79),
    ("stat", 4, None), ("lstat", 6, None), ("statx", 332, 291), ("statfs", 137, 43), ("fstatfs", 138, 44),
    ("open", 2, None), ("openat", 257, 56), ("access", 21, None), ("faccessat", 269, 48), ("faccessat2", 439, 439),
    ("readlink", 89, None), ("readlinkat", 267, 78), ("getdents64", 217, 61), ("getcwd", 79, 17),
    ("fcntl", 72, 25), ("ioctl", 16, 29), ("dup", 32, 23), ("dup2", 33, None), ("dup3", 292, 24), ("pipe", 22, None),
    ("pipe2", 293, 59), ("eventfd2", 290, 19), ("ftruncate", 77, 46), ("fadvise64", 221, 223), ("umask", 95, 166),
    ("poll", 7, None), ("ppoll", 271, 73), ("select", 23, None), ("pselect6", 270, 72),
    ("brk", 12, 214), ("mmap", 9, 222), ("munmap", 11, 215), ("mprotect", 10, 226), ("mremap", 25, 216),
    ("madvise", 28, 233), ("get_mempolicy", 239, 236), ("membarrier", 324, 283),
    ("rt_sigaction", 13, 134), ("rt_sigprocmask", 14, 135), ("rt_sigreturn", 15, 139), ("sigaltstack", 131, 132),
    ("tgkill", 234, 131), ("restart_syscall", 219, 128),
    ("clone", 56, 220), ("clone3", 435, 435), ("exit", 60, 93), ("exit_group", 231, 94),
    ("futex", 202, 98), ("set_robust_list", 273, 99), ("get_robust_list", 274, 100), ("rseq", 334, 293),
    ("set_tid_address", 218, 96), ("prctl", 157, 167), ("arch_prctl", 158, None), ("prlimit64", 302, 261),
    ("getrlimit", 97, 163), ("getrusage", 98, 165), ("sched_yield", 24, 124), ("sched_getaffinity", 204, 123),
    ("sched_getparam", 143, 121), ("sched_getscheduler", 145, 120), ("sched_get_priority_max", 146, 125),
    ("sched_get_priority_min", 147, 126), ("getcpu", 309, 168),
    ("gettid", 186, 178), ("getpid", 39, 172), ("getppid", 110, 173), ("getuid", 102, 174), ("geteuid", 107, 175),
    ("getgid", 104, 176), ("getegid", 108, 177), ("uname", 63, 160), ("sysinfo", 99, 179), ("getrandom", 318, 278),
    ("nanosleep", 35, 101), ("clock_nanosleep", 230, 115), ("clock_gettime", 228, 113), ("clock_getres", 229, 114),
    ("gettimeofday", 96, 169), ("time", 201, None), ("times", 100, 153),
)  # fmt: skip

# The calls that start other processes, wait for them, and run programs in them.
PROCESSES = (("fork", 57, None), ("vfork", 58, None), ("wait4", 61, 260))
PROGRAMS = (("execve", 59, 221),)

_EVERY = (*NAMES, *PROCESSES, *PROGRAMS)
MACHINE = os.uname().machine
ARCHITECTURES = {
    "x86_64": Architecture(0xC000_003E, {name: number for name, number, _ in _EVERY}),
    "aarch64": Architecture(0xC000_00B7, {name: number for name, _, number in _EVERY if number is not None}),
}


def restrict(*, processes: bool = False, programs: bool = False) -> list[str]:
    """Allow this process and its children only the calls of decoders, and calls that start processes if allowed.

    `no_new_privs` must be set. A second call can only restrict further. Return the restrictions that this machine
    lacks.
    """
    if ctypes.sizeof(ctypes.c_void_p) != 8 or (architecture := ARCHITECTURES.get(MACHINE)) is None:
        return [f"seccomp (no filter for {MACHINE})"]
    program = program_for(architecture, os.getpid(), processes=processes, programs=programs)
    code = ctypes.create_string_buffer(program)
    # struct sock_fprog: the count of instructions, and where they are.
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER), header, ctypes.c_ulong(0), ctypes.c_ulong(0)):
        return [f"seccomp ({os.strerror(ctypes.get_errno())})"]
    return []


def program_for(architecture: Architecture, process: int, *, processes: bool, programs: bool) -> bytes:
    """Return the filter for the kernel.

    `process` is the id of the process that may send itself signals, as abort does.
    """
    special = {
        "clone": _clone(processes),
        "clone3": [_end(UNKNOWN)],  # its flags are in memory, which a filter can't read; libraries then use clone
        "prlimit64": _argument_is(2, [0]),  # to ask for limits, not to change them
        "tgkill": _argument_is(0, [process]),
        "fcntl": _argument_is(1, FILE_CONTROLS),
        "ioctl": _argument_is(1, [TERMINAL, CLOSE_ON_EXEC, NO_CLOSE_ON_EXEC]),
        "prctl": _argument_is(0, [SET_NAME, GET_NAME, NAME_MEMORY, SET_SECCOMP]),  # a second filter restricts further
    }
    refused = (*(() if processes else PROCESSES), *(() if programs else PROGRAMS))
    special |= {name: [_end(REFUSE)] for name, *_ in refused}
    code = [
        _step(LOAD, ARCHITECTURE),
        _step(JUMP_IF_EQUAL, architecture.audit, 1, 0),
        _end(KILL),
        _step(LOAD, NUMBER),
        _step(JUMP_IF_ABOVE, OTHER_CONVENTION, 0, 1),
        _end(KILL),
    ]
    for name, number in architecture.numbers.items():
        block = special.get(name, [_end(ALLOW)])
        code += [_step(JUMP_IF_EQUAL, number, 0, len(block)), *block]
    return b"".join([*code, _end(REFUSE)])


def _clone(processes: bool) -> list[bytes]:
    """Allow threads, and other processes if they are allowed, but no namespaces."""
    return [
        _step(LOAD, ARGUMENTS),
        _step(JUMP_IF_ANY_BIT, NAMESPACES, 0, 1),
        _end(REFUSE),
        _step(JUMP_IF_ANY_BIT, THREAD, 0, 1),
        _end(ALLOW),
        _end(ALLOW if processes else REFUSE),
    ]


def _argument_is(index: int, values: Iterable[int]) -> list[bytes]:
    """Allow the call if the argument, of 64 bits, is among these small numbers."""
    low = ARGUMENTS + 8 * index  # both architectures are little-endian
    checks = [step for value in values for step in (_step(JUMP_IF_EQUAL, value, 0, 1), _end(ALLOW))]
    return [
        _step(LOAD, low + 4),
        _step(JUMP_IF_EQUAL, 0, 1, 0),
        _end(REFUSE),
        _step(LOAD, low),
        *checks,
        _end(REFUSE),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _end(verdict: int) -> bytes:
    return _step(END, verdict)
