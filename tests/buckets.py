"""A server that speaks S3, as a process of its own, and buckets in it."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

PATIENCE = 60.0  # seconds until it listens: the machine may be busy
KEYS = {"s3_access_key": "test", "s3_secret_key": "test"}


@contextmanager
def s3_server() -> Generator[str]:
    """Run the server, and return its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        give_up_at = time.monotonic() + PATIENCE
        while not _listens(port):
            assert process.poll() is None, "the S3 server has ended"
            assert time.monotonic() < give_up_at, "the S3 server does not listen"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def new_bucket(endpoint: str) -> dict[str, Any]:
    """Make a bucket, and return the settings of a server that keeps its media there."""
    name = f"troupe-{secrets.token_hex(6)}"
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT"), timeout=PATIENCE):
        return {"media_store": "s3", "s3_endpoint": endpoint, "s3_bucket": name} | KEYS


@cache
def closed_port() -> int:
    """Return a port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
