"""A media process under its limits, and what it says where the machine can't confine it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from troupe.actors.media import landlock, seccomp
from troupe.actors.media.jobs import RESULT, Job

CONFINED = """
from pathlib import Path
from troupe.actors.media.confinement import MIB, Files, Limits, confine
files = Files(Path(), Path("source"), (Path("result"),))
confine(Limits(memory=256 * MIB, seconds=1, file_size=1000, tasks=16), files)
"""
OTHER_USER = Path(__file__).with_name("other_user.py")


def confined(act: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    for name in ("source", "result"):
        (cwd / name).write_bytes(b"")
    return subprocess.run([sys.executable, "-I", "-c", CONFINED + act], cwd=cwd, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        ("bytearray(300 * MIB)", b"MemoryError"),
        ("with open('result', 'wb') as file: file.write(bytes(2000))", b"File too large"),
        ("files = [open('source') for _ in range(100)]", b"Too many open files"),
        ("import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1))", b"not allowed"),
    ],
)
def test_limits_hold(act: str, complaint: bytes, tmp_path: Path) -> None:
    done = confined(act, tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_a_process_that_computes_for_ever_is_killed(tmp_path: Path) -> None:
    assert confined("while True: pass", tmp_path).returncode < 0


def test_work_within_the_limits_is_done(tmp_path: Path) -> None:
    assert confined("open('result', 'wb').write(bytes(500))", tmp_path).returncode == 0
    assert (tmp_path / "result").stat().st_size == 500


def test_a_process_that_aborts_dies_of_it(tmp_path: Path) -> None:
    """So that the log says what happened: a library that finds itself in a wrong state aborts."""
    assert confined("import os; os.abort()", tmp_path).returncode == -6


def test_threads_that_run_already_are_not_left_out(tmp_path: Path) -> None:
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", thread + CONFINED], cwd=tmp_path, capture_output=True, check=False
    )
    assert b"several threads" in done.stderr


@pytest.mark.parametrize(
    ("forbidden", "named"),
    [
        ([], []),
        (["without-namespaces"], ["namespaces (Operation not permitted)"]),
        (["without-landlock"], ["Landlock (Operation not permitted)"]),
        (["without-seccomp"], ["seccomp (Operation not permitted)"]),
    ],
)
def test_what_the_machine_lacks_is_named(forbidden: list[str], named: list[str], tmp_path: Path) -> None:
    (tmp_path / "source").touch()
    job = Job("probe", "", str(tmp_path / "source"), str(tmp_path), "probe")
    subprocess.run(
        [sys.executable, OTHER_USER, *forbidden, "--", sys.executable, "-I", "-m", "troupe.actors.media.worker"],
        input=job.to_json().encode(), check=True,
    )  # fmt: skip
    assert json.loads((tmp_path / RESULT).read_text()) == {"missing": named}


def test_a_program_that_cannot_be_run_under_confinement_is_named(tmp_path: Path) -> None:
    script = tmp_path / "ffmpeg"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (tmp_path / "source").touch()
    job = Job("probe", "", str(tmp_path / "source"), str(tmp_path), "probe", str(script), str(script))
    subprocess.run([sys.executable, "-I", "-m", "troupe.actors.media.worker"], input=job.to_json().encode(), check=True)
    (first, _) = json.loads((tmp_path / RESULT).read_text())["missing"]
    assert first.startswith(f"a way to run {script} (")


def test_an_architecture_without_a_filter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "MACHINE", "riscv64")
    assert seccomp.restrict() == ["seccomp (no filter for riscv64)"]


def test_an_older_landlock_is_named_with_what_it_lacks() -> None:
    assert landlock.lacking(7) == []
    assert landlock.lacking(5) == ["Landlock for signals and abstract sockets (its version here is 5)"]
    assert landlock.lacking(1) == [
        "Landlock for truncating files, TCP, signals and abstract sockets (its version here is 1)"
    ]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_filter_asks_for_its_own_architecture_first(machine: str) -> None:
    architecture = seccomp.ARCHITECTURES[machine]
    program = seccomp.program_for(architecture, os.getpid(), processes=True, programs=True)
    assert architecture.audit.to_bytes(4, "little") in program[:16]
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096  # the most that the kernel takes
    assert len(set(architecture.numbers.values())) == len(architecture.numbers)
