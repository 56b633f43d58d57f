"""Media processes: whether the sandbox around them holds on this machine, and whether films can be processed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

import trio

from ...actors.media import process
from ...actors.media.probe import probe
from .findings import Examination, Finding

SUBJECT = "media"
# By the beginning of the missing thing's name.
CURES = {
    "a user of their own": "Start the server as an ordinary user, or let root change users (CAP_SETUID, CAP_CHOWN).",
    "namespaces": (
        "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or user.max_user_namespaces above 0; in a"
        " container, a seccomp profile that allows unshare; in a unit, no RestrictNamespaces."
    ),
    "capabilities": "Let the container or unit allow prctl and capset.",
    "Landlock": "Use a kernel of version 5.13 or newer, with landlock in the list of `lsm=`.",
    "seccomp": "Use a kernel with CONFIG_SECCOMP_FILTER, and allow the system call in the container or unit.",
    "a way to run": "Install FFmpeg anew where every user may run it: apt install ffmpeg.",
}
OTHER = "Read the log of the server soon after its start: confinement.incomplete."


def check_confinement(examination: Examination) -> Iterator[Finding]:
    """Start a media process that confines itself, and report the parts of the confinement that failed."""
    tools = [shutil.which(tool) for tool in ("ffmpeg", "ffprobe")]
    ffmpeg, ffprobe = tools if all(tools) else (None, None)
    missing: list[str] = trio.run(probe, process.run, ffmpeg, ffprobe)
    yield from evaluate(missing)
    if ffmpeg is None:
        yield Finding(SUBJECT, "note", "there is no FFmpeg: video and sound are refused", "apt install ffmpeg")


def evaluate(missing: Sequence[str]) -> Iterator[Finding]:
    """Return a finding for each step that this machine can't do."""
    for step in missing:
        cure = next((cure for begin, cure in CURES.items() if step.startswith(begin)), OTHER)
        yield Finding(SUBJECT, "wrong", f"files of strangers are decoded without {step}", cure)
    if not missing:
        yield Finding(SUBJECT, "good", "the processes that decode files of strangers are confined")
