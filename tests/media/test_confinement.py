"""A media process under its limits: what it may not do, it can't."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFINED = """
from troupe.actors.media.confinement import MIB, confine
confine(memory=256 * MIB, seconds=1, file_size=1000)
"""


def confined(act: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-I", "-c", CONFINED + act], cwd=cwd, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        ("bytearray(300 * MIB)", b"MemoryError"),
        ("with open('file', 'wb') as file: file.write(bytes(2000))", b"File too large"),
        ("files = [open('/dev/null') for _ in range(100)]", b"Too many open files"),
        ("import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1))", b"not allowed"),
    ],
)
def test_limits_hold(act: str, complaint: bytes, tmp_path: Path) -> None:
    done = confined(act, tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_whoever_computes_for_ever_is_killed(tmp_path: Path) -> None:
    assert confined("while True: pass", tmp_path).returncode < 0


def test_work_within_the_limits_is_done(tmp_path: Path) -> None:
    assert confined("open('file', 'wb').write(bytes(500))", tmp_path).returncode == 0
