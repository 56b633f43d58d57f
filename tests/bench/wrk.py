"""wrk, a load generator in C, for pages that are asked for again and again."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from .load import Outcome

SCRIPT = Path(__file__).with_name("wrk.lua")
# wrk itself counts in whole seconds. It is told a long time, and is interrupted.
LONG = "600s"
END = 30.0  # seconds that it may take to end


def wrk(port: int, path: str, token: str | None, connections: int, seconds: float) -> Outcome:
    """Ask for a page over this many connections for this long."""
    headers = ["--header", f"Authorization: Bearer {token}"] if token else []
    command = (
        "wrk", "--threads", "1", "--connections", f"{connections}", "--duration", LONG, "--script", str(SCRIPT),
        *headers, f"http://127.0.0.1:{port}{path}",
    )  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=END)
    assert process.returncode == 0, f"wrk ended with {process.returncode}: {said}"
    count, microseconds, p50, p99, failed = map(int, said.splitlines()[-1].split())
    assert count > 0, said
    assert failed == 0, said
    return Outcome(count, microseconds / 1e6, p50 / 1e6, p99 / 1e6)
