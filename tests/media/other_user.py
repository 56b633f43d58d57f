"""Run a command as a user without any right, or where something is forbidden: `other_user.py HOW... -- COMMAND...`

Python may lie where that user can't reach it, such as below /root. In a mount namespace of this process its folders are
then mounted below a folder that is open.
"""

import ctypes
import os
import platform
import struct
import sys
import tempfile
from pathlib import Path

NOBODY = 65534
NEW_MOUNTS, BIND, RECURSIVE, PRIVATE = 0x2_0000, 0x1000, 0x4000, 0x4_0000
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
# The system call that each needs, and the first argument if that decides.
FORBIDDEN = {
    "without-namespaces": ({"x86_64": 272, "aarch64": 97}[platform.machine()], None),
    "without-landlock": (444, None),
    "without-seccomp": ({"x86_64": 157, "aarch64": 167}[platform.machine()], SET_SECCOMP),
}

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source: str, target: Path, flags: int, kind: str | None = None, how: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, str(target), kind)]
    check(libc.mount(*texts, ctypes.c_ulong(flags), how.encode() if how else None))


def open_the_way(*folders: Path) -> None:
    check(libc.unshare(NEW_MOUNTS))
    mount("none", Path("/"), RECURSIVE | PRIVATE)
    opened = {folder: os.open(folder, os.O_PATH) for folder in folders}
    for folder in folders:
        above = (one for one in reversed(folder.parents) if one.exists())  # an earlier mount may hide the rest
        closed = next((one for one in above if not one.stat().st_mode & 0o001), None)
        if closed is not None:
            mount("none", closed, 0, "tmpfs", "mode=755")
    for folder, inside in opened.items():
        if not folder.exists():
            folder.mkdir(parents=True)
            mount(f"/proc/self/fd/{inside}", folder, BIND)
        os.close(inside)


def forbid(number: int, argument: int | None) -> None:
    """As container engines do it: the call fails with EPERM."""
    look = () if argument is None else ((0x20, 0, 0, 16), (0x15, 0, 1, argument))
    steps = (
        (0x20, 0, 0, 0), (0x15, 0, len(look) + 1, number), *look, (0x06, 0, 0, 0x0005_0001), (0x06, 0, 0, 0x7FFF_0000),
    )  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    check(libc.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER), header, 0, 0))


def main() -> None:
    how, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    if "nobody" in how:
        needed = (Path(sys.base_prefix), Path(sys.prefix), Path(command[1]).parent)
        open_the_way(*{folder.resolve() for folder in needed})
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    for name in how:
        if name in FORBIDDEN:
            forbid(*FORBIDDEN[name])
    os.environ["TMPDIR"] = tempfile.gettempdir()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
